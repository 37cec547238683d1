// Package strictjson reads JSON (RFC 8259) that came from outside, value by value,
// in the order of the text. It is stricter than encoding/json where leniency would
// let a reader and a later reader of the same text disagree about it: names match
// exactly and not by case, a repeated name is an error and not the last one wins, and
// text that is not valid UTF-8 is refused and not repaired. Depth and numbers are
// bounded. It never panics.
package strictjson

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds how deep arrays and objects nest.
const MaxDepth = 64

// Kind says what a value is.
type Kind byte

const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"something that is not JSON", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Code says what sort of [Error] it is.
type Code byte

const (
	Syntax    Code = iota // not JSON, or beyond the bounds of this package
	Duplicate             // a name stands twice in one object
	Type                  // a value of another kind than asked for
	Refused               // what the caller of this package says, by [Errorf]
)

// Error is what is wrong, and where.
type Error struct {
	Code Code
	Path string // such as messages[0].content; empty for the whole text
	Text string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Text
	}
	return e.Path + ": " + e.Text
}

// Errorf returns an error about the value at hand. The path is put before it on its
// way out of the objects and arrays around; other errors pass as they are.
func Errorf(format string, args ...any) error {
	return &Error{Code: Refused, Text: fmt.Sprintf(format, args...)}
}

func within(err error, step string) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	if e.Path != "" && e.Path[0] != '[' {
		step += "."
	}
	e.Path = step + e.Path
	return e
}

// Decoder reads one JSON text. Its methods each consume one value.
type Decoder struct {
	s     string
	pos   int
	depth int
	names []string // of the objects being read, to find repeated ones
}

// New returns a decoder of text, which must be valid UTF-8 (RFC 8259 section 8.1).
func New(text []byte) (*Decoder, error) {
	if !utf8.Valid(text) {
		return nil, &Error{Code: Syntax, Text: "not valid UTF-8"}
	}
	return &Decoder{s: string(text)}, nil
}

func (d *Decoder) syntax(text string) error {
	return &Error{Code: Syntax, Text: fmt.Sprintf("not valid JSON at byte %d: %s", d.pos, text)}
}

func (d *Decoder) space() {
	for d.pos < len(d.s) {
		switch d.s[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// Kind tells what the next value is, without consuming it.
func (d *Decoder) Kind() Kind {
	d.space()
	if d.pos == len(d.s) {
		return Invalid
	}
	switch c := d.s[d.pos]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || c >= '0' && c <= '9':
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	}
	return Invalid
}

func (d *Decoder) want(k Kind) error {
	got := d.Kind()
	if got == k {
		return nil
	}
	if got == Invalid {
		if d.pos == len(d.s) {
			return d.syntax("the text ends early")
		}
		return d.syntax("no value starts here")
	}
	return &Error{Code: Type, Text: fmt.Sprintf("has to be %s, not %s", k, got)}
}

// End tells whether nothing but white space is left.
func (d *Decoder) End() error {
	d.space()
	if d.pos < len(d.s) {
		return d.syntax("there is something after the value")
	}
	return nil
}

// IsNull consumes the next value if it is null, and tells whether it was.
func (d *Decoder) IsNull() bool {
	if d.Kind() == Null && strings.HasPrefix(d.s[d.pos:], "null") {
		d.pos += len("null")
		return true
	}
	return false
}

// Bool reads true or false.
func (d *Decoder) Bool() (bool, error) {
	if err := d.want(Bool); err != nil {
		return false, err
	}
	for _, word := range [...]string{"true", "false"} {
		if strings.HasPrefix(d.s[d.pos:], word) {
			d.pos += len(word)
			return word == "true", nil
		}
	}
	return false, d.syntax("neither true nor false")
}

func (d *Decoder) number() (string, error) {
	if err := d.want(Number); err != nil {
		return "", err
	}
	start := d.pos
	if d.s[d.pos] == '-' {
		d.pos++
	}
	switch {
	case d.peek() == '0':
		d.pos++
	case !d.digits():
		return "", d.syntax("a digit is missing")
	}
	if d.peek() == '.' {
		d.pos++
		if !d.digits() {
			return "", d.syntax("a digit is missing after the point")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if !d.digits() {
			return "", d.syntax("a digit is missing in the exponent")
		}
	}
	return d.s[start:d.pos], nil
}

// peek returns the next byte, or 0 at the end.
func (d *Decoder) peek() byte {
	if d.pos == len(d.s) {
		return 0
	}
	return d.s[d.pos]
}

func (d *Decoder) digits() bool {
	start := d.pos
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos > start
}

// Int reads a whole number that is written as one: 1.0 and 1e3 are not.
func (d *Decoder) Int() (int64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, &Error{Code: Type, Text: "has to be a whole number of at most 63 bits, written in digits"}
	}
	return n, nil
}

// Count reads a whole number that is not negative.
func (d *Decoder) Count() (int64, error) {
	n, err := d.Int()
	if err == nil && n < 0 {
		err = &Error{Code: Type, Text: "is negative"}
	}
	return n, err
}

// OptionalCount reads what Count does, or null as 0.
func (d *Decoder) OptionalCount() (int64, error) {
	if d.IsNull() {
		return 0, nil
	}
	return d.Count()
}

// Float reads a number that is finite as a float64.
func (d *Decoder) Float() (float64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	const longest = 64
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > longest || math.IsInf(f, 0) {
		return 0, &Error{Code: Type, Text: "the number is too large or too long"}
	}
	return f, nil
}

// String reads a string. Escapes that are no character, such as half a surrogate
// pair, become U+FFFD.
func (d *Decoder) String() (string, error) {
	if err := d.want(String); err != nil {
		return "", err
	}
	d.pos++
	start := d.pos
	for d.pos < len(d.s) {
		switch c := d.s[d.pos]; {
		case c == '"':
			s := d.s[start:d.pos]
			d.pos++
			return s, nil
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			return "", d.syntax("a control character in a string has to be escaped")
		}
		d.pos++
	}
	return "", d.syntax("the string does not end")
}

// escaped reads the rest of a string that started at start and has its first escape
// at hand.
func (d *Decoder) escaped(start int) (string, error) {
	var b strings.Builder
	b.WriteString(d.s[start:d.pos])
	for d.pos < len(d.s) {
		c := d.s[d.pos]
		switch {
		case c == '"':
			d.pos++
			return b.String(), nil
		case c < ' ':
			return "", d.syntax("a control character in a string has to be escaped")
		case c != '\\':
			b.WriteByte(c)
			d.pos++
			continue
		}
		d.pos++
		switch c := d.peek(); c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, ok := d.hex(d.pos + 1)
			if !ok {
				return "", d.syntax("four hexadecimal digits have to follow \\u")
			}
			d.pos += 4
			if utf16.IsSurrogate(r) {
				second, ok := rune(0), false
				if strings.HasPrefix(d.s[d.pos+1:], `\u`) {
					second, ok = d.hex(d.pos + 3)
				}
				if r = utf16.DecodeRune(r, second); ok && r != utf8.RuneError {
					d.pos += 6
				}
			}
			b.WriteRune(r)
		default:
			return "", d.syntax("no such escape")
		}
		d.pos++
	}
	return "", d.syntax("the string does not end")
}

// hex reads four hexadecimal digits at i, without consuming them.
func (d *Decoder) hex(i int) (rune, bool) {
	if i+4 > len(d.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(d.s[i:i+4], 16, 16)
	return rune(n), err == nil
}

func (d *Decoder) open(k Kind) error {
	if err := d.want(k); err != nil {
		return err
	}
	if d.depth++; d.depth > MaxDepth {
		return &Error{Code: Syntax, Text: fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	d.pos++
	d.space()
	return nil
}

// next consumes a comma, or the end of the array or object, and tells whether it was
// the end.
func (d *Decoder) next(end byte) (bool, error) {
	d.space()
	switch c := d.peek(); c {
	case ',':
		d.pos++
		d.space()
		if d.peek() == end {
			return false, d.syntax("a value has to follow the comma")
		}
		return false, nil
	case end:
		d.pos++
		d.depth--
		return true, nil
	}
	return false, d.syntax("a comma or the end is missing")
}

// Array reads an array. f has to consume the element with the index i.
func (d *Decoder) Array(f func(i int) error) error {
	if err := d.open(Array); err != nil {
		return err
	}
	if d.peek() == ']' {
		d.pos++
		d.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := f(i); err != nil {
			return within(err, "["+strconv.Itoa(i)+"]")
		}
		if end, err := d.next(']'); end || err != nil {
			return err
		}
	}
}

// Object reads an object. f has to consume the value of the member with the name.
func (d *Decoder) Object(f func(name string) error) error {
	if err := d.open(Object); err != nil {
		return err
	}
	if d.peek() == '}' {
		d.pos++
		d.depth--
		return nil
	}
	base := len(d.names)
	defer func() { d.names = d.names[:base] }()
	var many map[string]struct{}
	for {
		if d.Kind() != String {
			return d.syntax("a name in quotes has to stand here")
		}
		name, err := d.String()
		if err != nil {
			return err
		}
		if many, err = d.unique(base, name, many); err != nil {
			return err
		}
		d.space()
		if d.peek() != ':' {
			return d.syntax("a colon is missing")
		}
		d.pos++
		if err := f(name); err != nil {
			return within(err, printable(name))
		}
		if end, err := d.next('}'); end || err != nil {
			return err
		}
	}
}

// unique notes a name of the object whose names start at base. Large objects get a
// map, so that a long list of names does not cost its square.
func (d *Decoder) unique(base int, name string, many map[string]struct{}) (map[string]struct{}, error) {
	const few = 16
	seen := d.names[base:]
	twice := false
	if many != nil {
		_, twice = many[name]
	} else {
		for _, other := range seen {
			if other == name {
				twice = true
				break
			}
		}
	}
	if twice {
		return many, &Error{Code: Duplicate, Path: printable(name), Text: "given twice: keep one"}
	}
	if many == nil && len(seen) < few {
		d.names = append(d.names, name)
		return nil, nil
	}
	if many == nil {
		many = make(map[string]struct{}, 4*few)
		for _, other := range seen {
			many[other] = struct{}{}
		}
	}
	many[name] = struct{}{}
	return many, nil
}

// printable makes a name fit for a path.
func printable(name string) string {
	const longest = 64
	plain := name != "" && len(name) <= longest
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		plain = c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	switch {
	case plain:
		return name
	case len(name) > longest:
		return fmt.Sprintf("%.*q...", longest, name)
	}
	return strconv.Quote(name)
}

// Skip reads a value of any kind, with the same strictness, and drops it.
func (d *Decoder) Skip() error {
	switch d.Kind() {
	case Null:
		if !d.IsNull() {
			return d.syntax("not null")
		}
		return nil
	case Bool:
		_, err := d.Bool()
		return err
	case Number:
		_, err := d.number()
		return err
	case String:
		_, err := d.String()
		return err
	case Array:
		return d.Array(func(int) error { return d.Skip() })
	case Object:
		return d.Object(func(string) error { return d.Skip() })
	}
	return d.want(Object)
}

// Raw reads a value of any kind and returns its text.
func (d *Decoder) Raw() (string, error) {
	d.space()
	start := d.pos
	if err := d.Skip(); err != nil {
		return "", err
	}
	return d.s[start:d.pos], nil
}
