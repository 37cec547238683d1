package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// decode reads any value into what encoding/json would make of it.
func decode(d *Decoder) (any, error) {
	switch d.Kind() {
	case Null:
		if d.IsNull() {
			return nil, nil
		}
	case Bool:
		return d.Bool()
	case Number:
		return d.Float()
	case String:
		return d.String()
	case Array:
		a := []any{}
		err := d.Array(func(int) error {
			v, err := decode(d)
			a = append(a, v)
			return err
		})
		return a, err
	case Object:
		o := map[string]any{}
		err := d.Object(func(name string) error {
			v, err := decode(d)
			o[name] = v
			return err
		})
		return o, err
	}
	return nil, d.Skip()
}

func decodeText(text []byte) (any, error) {
	d, err := New(text)
	if err != nil {
		return nil, err
	}
	v, err := decode(d)
	if err == nil {
		err = d.End()
	}
	return v, err
}

func TestDecode(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	for _, text := range []string{
		`null`, `true`, ` false `, `0`, `-0`, `-1.5e+3`, `1E2`, `""`, `"a\"\\\/\b\f\n\r\t"`,
		`"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"é😀"`,
		`[]`, `[ ]`, `[1,[2,{"a":[]}]]`, `{}`, `{ "a" : 1 , "b" : {"a":null} }`, deep,
	} {
		got, err := decodeText([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, want %#v", text, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	many := make([]string, 0, 101)
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"n%d":0`, i))
	}
	for text, want := range map[string]string{
		"":                            "not valid JSON at byte 0: the text ends early",
		"{":                           "not valid JSON at byte 1: a name in quotes has to stand here",
		`{"a"`:                        "not valid JSON at byte 4: a colon is missing",
		`{"a":`:                       "a: not valid JSON at byte 5: the text ends early",
		`{"a":1,}`:                    "not valid JSON at byte 7: a value has to follow the comma",
		`[1,]`:                        "not valid JSON at byte 3: a value has to follow the comma",
		`[1 2]`:                       "not valid JSON at byte 3: a comma or the end is missing",
		`{a:1}`:                       "not valid JSON at byte 1: a name in quotes has to stand here",
		`01`:                          "not valid JSON at byte 1: there is something after the value",
		`1.`:                          "not valid JSON at byte 2: a digit is missing after the point",
		`-`:                           "not valid JSON at byte 1: a digit is missing",
		`1e`:                          "not valid JSON at byte 2: a digit is missing in the exponent",
		`+1`:                          "not valid JSON at byte 0: no value starts here",
		`NaN`:                         "not valid JSON at byte 0: no value starts here",
		`1e999`:                       "the number is too large or too long",
		`nul`:                         "not valid JSON at byte 0: not null",
		`tru`:                         "not valid JSON at byte 0: neither true nor false",
		`"a`:                          "not valid JSON at byte 2: the string does not end",
		"\"a\nb\"":                    "not valid JSON at byte 2: a control character in a string has to be escaped",
		"\"\\n\nb\"":                  "not valid JSON at byte 3: a control character in a string has to be escaped",
		`"\x"`:                        "not valid JSON at byte 2: no such escape",
		`"\u12"`:                      "not valid JSON at byte 2: four hexadecimal digits have to follow \\u",
		`"\n`:                         "not valid JSON at byte 3: the string does not end",
		"\"\xff\"":                    "not valid UTF-8",
		`{"a":1,"a":2}`:               "a: given twice: keep one",
		`{"a":1,"\u0061":2}`:          "a: given twice: keep one",
		`[{"x y":[0,{"b":1,"b":1}]}]`: `[0]."x y"[1].b: given twice: keep one`,
		`{` + strings.Join(many, ",") + `,"n99":1}`:                       "n99: given twice: keep one",
		`{` + strings.Join(many, ",") + `,"n3":1}`:                        "n3: given twice: keep one",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): strings.Repeat("[0]", MaxDepth) + ": nested deeper than 64",
		`{"` + strings.Repeat("k", 65) + `":?}`:                           `"` + strings.Repeat("k", 64) + `"...: not valid JSON at byte 69: no value starts here`,
	} {
		_, err := decodeText([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

func TestNamesDifferByCase(t *testing.T) {
	got, err := decodeText([]byte(`{"max":1,"MAX":2}`))
	if want := (map[string]any{"max": 1.0, "MAX": 2.0}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestKindsAreAsked(t *testing.T) {
	read := map[string]func(*Decoder) error{
		"a boolean": func(d *Decoder) error { _, err := d.Bool(); return err },
		"a number":  func(d *Decoder) error { _, err := d.Int(); return err },
		"a string":  func(d *Decoder) error { _, err := d.String(); return err },
		"an array":  func(d *Decoder) error { return d.Array(func(int) error { return d.Skip() }) },
		"an object": func(d *Decoder) error { return d.Object(func(string) error { return d.Skip() }) },
	}
	values := map[string]string{"a boolean": "true", "a number": "1", "a string": `"x"`, "an array": "[]", "an object": "{}", "null": "null"}
	for want, f := range read {
		for got, text := range values {
			d, _ := New([]byte(text))
			err := f(d)
			if got == want {
				if err != nil {
					t.Errorf("%s: %v", text, err)
				}
				continue
			}
			if e := fmt.Sprintf("has to be %s, not %s", want, got); err == nil || err.Error() != e {
				t.Errorf("%s: %v, want %s", text, err, e)
			}
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-7": -7, "9223372036854775807": 1<<63 - 1} {
		d, _ := New([]byte(text))
		if got, err := d.Int(); err != nil || got != want {
			t.Errorf("%s = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"1.0", "1e3", "9223372036854775808", "-9223372036854775809", "99999999999999999999999"} {
		d, _ := New([]byte(text))
		if got, err := d.Int(); err == nil {
			t.Errorf("%s = %d, want an error", text, got)
		}
	}
}

func TestRaw(t *testing.T) {
	d, _ := New([]byte(` {"a": [ {"b" : 1.50} , "c"] } `))
	var got string
	err := d.Object(func(string) (err error) { got, err = d.Raw(); return err })
	if want := `[ {"b" : 1.50} , "c"]`; err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestErrorsFromInside(t *testing.T) {
	read := func(inside error) error {
		d, _ := New([]byte(`{"a":[0,1]}`))
		return d.Object(func(string) error {
			return d.Array(func(i int) error {
				if i == 1 {
					return inside
				}
				return d.Skip()
			})
		})
	}
	var e *Error
	if err := read(Errorf("no %s", "way")); !errors.As(err, &e) || *e != (Error{Refused, "a[1]", "no way"}) {
		t.Errorf("got %#v", err)
	}
	if other := errors.New("other"); read(other) != other {
		t.Error("an error of another kind was changed")
	}
}

// FuzzDecode holds the decoder to encoding/json: what it accepts means the same there,
// and what it refuses is refused there, or has a repeated name, invalid UTF-8 or goes
// beyond the bounds.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b\u00e9",null,true]}`, `{"a":1,"a":2}`, `[[[[]]]]`, `"\ud83d\ude00"`, `1e5`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeText(text)
		var want any
		lenient := json.Unmarshal(text, &want)
		if err == nil {
			if lenient != nil {
				t.Fatalf("%q accepted, but %v", text, lenient)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q = %#v, want %#v", text, got, want)
			}
			return
		}
		e := err.(*Error)
		bounds := e.Code == Duplicate || strings.Contains(e.Text, "UTF-8") || strings.Contains(e.Text, "nested") || strings.Contains(e.Text, "too large")
		if lenient == nil && !bounds {
			t.Fatalf("%q refused: %v", text, err)
		}
	})
}
