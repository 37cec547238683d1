package idempotency

import (
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	longest := strings.Repeat("k", 255)
	for _, test := range []struct {
		value, key string
		ok         bool
	}{
		{"stainless-node-retry-0b9c3c43-6ed4-4d7f-8a1e-2f6b1d3c9b11", "stainless-node-retry-0b9c3c43-6ed4-4d7f-8a1e-2f6b1d3c9b11", true},
		{"k", "k", true},
		{"!#$%&'()*+-./:;<=>?@[\\]^_`{|}~", "!#$%&'()*+-./:;<=>?@[\\]^_`{|}~", true},
		{longest, longest, true},
		{`"8e03978e-40d5-43dd-bc93-6894a57f9324"`, "8e03978e-40d5-43dd-bc93-6894a57f9324", true},
		{`"a b, \"c\" \\ ~"`, `a b, "c" \ ~`, true},
		{`"` + longest + `"`, longest, true},
		{`"` + strings.Repeat(`\\`, 255) + `"`, strings.Repeat(`\`, 255), true},

		{"", "", false},
		{`""`, "", false},
		{`"`, "", false},
		{longest + "k", "", false},
		{`"` + longest + `k"`, "", false},
		{"a b", "", false},
		{" a", "", false},
		{"a,b", "", false},
		{"a\tb", "", false},
		{"a\x7f", "", false},
		{"a\x00", "", false},
		{"schlüssel", "", false},
		{"\xff", "", false},
		{`a"b`, "", false},
		{`a"`, "", false},
		{`"a`, "", false},
		{`"a","b"`, "", false},
		{`"a" `, "", false},
		{`"a";p=1`, "", false},
		{`"a\"`, "", false},
		{`"a\`, "", false},
		{`"a\b"`, "", false},
		{"\"a\tb\"", "", false},
		{"\"a\x7f\"", "", false},
		{`"schlüssel"`, "", false},
	} {
		if key, ok := parseKey(test.value); key != test.key || ok != test.ok {
			t.Errorf("parseKey(%q) = %q, %v; want %q, %v", test.value, key, ok, test.key, test.ok)
		}
	}
}

// A key that was read is the same key in either form.
func FuzzParseKey(f *testing.F) {
	f.Add("stainless-node-retry-1")
	f.Add(`"a \"b\" \\"`)
	f.Fuzz(func(t *testing.T, value string) {
		key, ok := parseKey(value)
		if !ok {
			if key != "" {
				t.Fatalf("parseKey(%q) = %q, false", value, key)
			}
			return
		}
		if len(key) < 1 || len(key) > 255 {
			t.Fatalf("parseKey(%q) = %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, ok := parseKey(quoted); again != key || !ok {
			t.Fatalf("parseKey(%q) = %q, %v; want %q", quoted, again, ok, key)
		}
	})
}
