package hmackey

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

var (
	one   = strings.Repeat("1", 64)
	two   = strings.Repeat("2", 64)
	three = strings.Repeat("3", 64)
)

func day(s string) caps.Day {
	d, err := caps.ParseDay(s)
	if err != nil {
		panic(err)
	}
	return d
}

func version1(id, from, secret string) caps.KeyVersion {
	v := caps.KeyVersion{ID: id, Secret: []byte(secret)}
	if from != "" {
		v.From = day(from)
	}
	return v
}

func TestParse(t *testing.T) {
	for value, want := range map[string][]caps.KeyVersion{
		one: {version1("1", "", one)},
		`{"versions":[{"id":"1","secret":"` + one + `"}]}`:                                                                                        {version1("1", "", one)},
		`{"versions":[{"id":"1","from":"2026-11-01","secret":"` + one + `"}]}`:                                                                    {version1("1", "2026-11-01", one)},
		"\n {\"versions\": [{\"id\":\"1\",\"secret\":\"" + one + "\"},\n {\"id\":\"b-2\",\"from\":\"2026-12-02\",\"secret\":\"" + two + "\"}]}\n": {version1("1", "", one), version1("b-2", "2026-12-02", two)},
	} {
		got, err := Parse(value)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", value, got, err)
			continue
		}
		written, err := Format(got)
		again, err2 := Parse(written)
		if err != nil || err2 != nil || !reflect.DeepEqual(again, want) || !strings.HasPrefix(written, "{") || strings.ContainsAny(written, " \n") {
			t.Errorf("%s is written as %s, %v, and that is %v, %v", value, written, err, again, err2)
		}
		if k, err := NewKeyer(value); err != nil || k.Version(day("2026-12-02")) != want[len(want)-1].ID {
			t.Errorf("%s makes the keyer %v, %v", value, k, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const short = "the HMAC secret is missing, blank or shorter than 32 bytes: draw one with `openssl rand -hex 32`"
	const noRing = `the HMAC secret begins like a ring and is none: want {"versions":[{"id":"1","from":"YYYY-MM-DD","secret":"..."}]} and nothing else`
	entry := func(id, from, secret string) string {
		return fmt.Sprintf(`{"id":%q,"from":%q,"secret":%q}`, id, from, secret)
	}
	for value, want := range map[string]string{
		"":                           short,
		"short":                      short,
		one + "\n":                   "the HMAC secret has white space around it: store it without",
		"{":                          noRing,
		"{}":                         "the HMAC secret has 0 versions, want 1 to 16",
		"{" + one:                    noRing,
		`{"versions":[]}`:            "the HMAC secret has 0 versions, want 1 to 16",
		`{"versions":{}}`:            noRing,
		`{"versions":[],"x":1}`:      noRing,
		`{"versions":[{"key":"1"}]}`: noRing,
		`{"versions":[` + entry("1", "2026-11-01", one) + `]}{}`:                                                       "something follows the ring of the HMAC secret",
		`{"versions":[` + entry("1", "2026-11-31", one) + `]}`:                                                         `version 1 of the HMAC secret: from: "2026-11-31" is not a date of the form YYYY-MM-DD`,
		`{"versions":[` + entry("1", "", one) + `,` + entry("2", "", two) + `]}`:                                       `version 2 of the HMAC secret: from: "" is not a date of the form YYYY-MM-DD`,
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("2", "2026-11-01", two) + `]}`:                   `version "2" of the HMAC secret is from 2026-11-01, which is not after 2026-11-01, when version "1" begins`,
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("1", "2026-11-02", two) + `]}`:                   `version "1" of the HMAC secret is there twice`,
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("2", "2026-11-02", one) + `]}`:                   "versions \"1\" and \"2\" have the same HMAC secret: draw one with `openssl rand -hex 32`",
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("2", "2026-11-02", "short") + `]}`:               `version "2": ` + short,
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("2", "2026-11-02", " "+two) + `]}`:               "version 2 of the HMAC secret has white space around it: store it without",
		`{"versions":[` + entry("1", "2026-11-01", one) + `,` + entry("", "2026-11-02", two) + `]}`:                    "version 2 of 2 of the HMAC secret: its ID is not 1 to 32 letters, digits and hyphens",
		`{"versions":[` + strings.Repeat(entry("1", "2026-11-01", one)+",", 16) + entry("2", "2026-11-02", two) + `]}`: "the HMAC secret has 17 versions, want 1 to 16",
	} {
		got, err := Parse(value)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", value, got, err, want)
		}
		if keyer, err := NewKeyer(value); keyer != nil || err == nil {
			t.Errorf("%s makes a keyer, %v", value, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(one)
	f.Add(`{"versions":[{"id":"1","secret":"` + one + `"},{"id":"2","from":"2026-12-02","secret":"` + two + `"}]}`)
	f.Add("{\"versions\":[{\"id\":\"1\",\"secret\":\"<&\u2028" + one + "\"}]}")
	f.Fuzz(func(t *testing.T, value string) {
		versions, err := Parse(value)
		if err != nil {
			if len(value) > 31 && strings.Contains(err.Error(), value) {
				t.Fatalf("the error shows the value: %v", err)
			}
			return
		}
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			written, err := Format(versions)
			again, err2 := Parse(written)
			if err != nil || err2 != nil || !reflect.DeepEqual(again, versions) {
				t.Fatalf("%q is written as %q, %v, %v", value, written, err, err2)
			}
		}
	})
}
