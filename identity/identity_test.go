package identity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/identity"
)

func subject(sub string) (caps.Caller, error) {
	return identity.Subject("https://issuer.example", sub)
}

func issuer(iss string) (caps.Caller, error) { return identity.Subject(iss, "248289761001") }

type maker = func(string) (caps.Caller, error)

// Spellings of one identity are one caller, and what differs in more stays apart.
func TestSameIdentity(t *testing.T) {
	for _, c := range []struct {
		name string
		of   maker
		same bool
		a, b string
	}{
		{"user: white space around it", identity.User, true, "ann", " \t\u00a0ann\r\n"},
		{"user: composed and decomposed", identity.User, true, "Zo\u00eb", "Zoe\u0308"},
		{"user: wide letters", identity.User, true, "ann", "\uff41\uff4e\uff4e"},
		{"user: narrow katakana", identity.User, true, "\u30ac", "\uff76\uff9e"},
		{"user: case", identity.User, false, "ann", "Ann"},
		{"user: a space inside is no other spelling", identity.User, false, "ann1", "ann-1"},
		{"user: punctuation of ASCII counts", identity.User, false, "auth0|5f7c", "auth0-5f7c"},
		{"username: case", identity.Username, true, "ann", "ANN"},
		{"username: case outside of ASCII", identity.Username, true, "\u0416\u0435\u043d\u044f", "\u0436\u0415\u041d\u042f"},
		{"username: wide capitals", identity.Username, true, "ann", "\uff21\uff2e\uff2e"},
		{"username: Latin and Cyrillic look alike", identity.Username, false, "ann", "\u0430nn"},
		{"subject: case", subject, false, "ann", "Ann"},
		{"subject: composed and decomposed", subject, false, "Zo\u00eb", "Zoe\u0308"},
		{"issuer: a final slash", issuer, false, "https://issuer.example", "https://issuer.example/"},
		{"email: white space around it", identity.Email, true, "ann@example.com", "\n ann@example.com "},
		{"email: case of the domain", identity.Email, true, "ann@example.com", "ann@EXAMPLE.Com"},
		{"email: case of the local part", identity.Email, true, "ann@example.com", "Ann@example.com"},
		{"email: full folding", identity.Email, true, "strasse@example.com", "STRA\u00dfE@example.com"},
		{"email: IDNA", identity.Email, true, "ann@b\u00fccher.example", "ann@xn--bcher-kva.example"},
		{"email: IDNA, decomposed capital", identity.Email, true, "ann@b\u00fccher.example", "ann@BU\u0308CHER.example"},
		{"email: the ideographic full stop", identity.Email, true, "ann@example.com", "ann@example\u3002com"},
		{"email: sharp s is a letter of its own in a domain", identity.Email, false, "ann@stra\u00dfe.example", "ann@strasse.example"},
		{"email: wide letters", identity.Email, true, "ann@example.com", "\uff41nn@\uff45xample.com"},
		{"email: the Kelvin sign", identity.Email, true, "kim@example.com", "\u212aim@example.com"},
		{"email: dots are the provider's business", identity.Email, false, "ann.lee@example.com", "annlee@example.com"},
		{"email: what follows a plus sign too", identity.Email, false, "ann@example.com", "ann+1@example.com"},
		{"email: another domain", identity.Email, false, "ann@example.com", "ann@example.org"},
		{"API key: white space around it", identity.APIKey, true, "sk-0123456789abcdef", " sk-0123456789abcdef\n"},
		{"API key: case", identity.APIKey, false, "sk-0123456789abcdef", "sk-0123456789ABCDEF"},
	} {
		a, err := c.of(c.a)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b, err := c.of(c.b)
		if err != nil || (a == b) != c.same {
			t.Errorf("%s: the same is %t, %v; want %t", c.name, a == b, err, c.same)
		}
	}
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 256)
	label := strings.Repeat("x", 60) + "."
	for _, c := range []struct {
		of          maker
		value, want string
	}{
		{identity.User, "", "the user ID is empty"},
		{identity.User, " \u2003\n", "the user ID is empty"},
		{identity.User, long, "the user ID is longer than 255 bytes"},
		{identity.User, "ann lee", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.User, "ann\x00", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.User, "ann\u200b", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.User, "ann\xff", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.User, "\u05d0ann", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.User, "\u265a", "the user ID has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{identity.Username, "", "the username is empty"},
		{identity.Username, long, "the username is longer than 255 bytes"},
		{identity.Username, "a\u0000b", "the username has a character, or an order of characters, that RFC 8265 forbids in a name"},
		{subject, "", "the claim sub is empty"},
		{subject, long, "the claim sub is longer than 255 bytes"},
		{subject, " ann", "the claim sub has white space around it"},
		{subject, "a\nb", "the claim sub has control characters or is not UTF-8"},
		{subject, "a\xff", "the claim sub has control characters or is not UTF-8"},
		{issuer, "", "the claim iss is empty"},
		{issuer, long + long + "x", "the claim iss is longer than 512 bytes"},
		{identity.Email, "", "the e-mail address is empty"},
		{identity.Email, "ann", "the e-mail address has no @"},
		{identity.Email, "ann\uff20example.com", "the e-mail address has no @"},
		{identity.Email, "@example.com", "the e-mail address has nothing before the @"},
		{identity.Email, "ann@", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@example.com.", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@.example.com", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@example..com", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@[192.0.2.1]", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@exa mple.com", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@exa_mple.com", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@xn--a.example", "the e-mail address has a domain that is none"},
		{identity.Email, "ann@" + strings.Repeat("x", 64) + ".com", "the e-mail address has a domain that is none"},
		{identity.Email, strings.Repeat("x", 65) + "@example.com", "the e-mail address has more than 64 bytes before the @"},
		{identity.Email, "ann@" + label + label + label + label + "example", "the e-mail address is longer than 254 bytes"},
		{identity.Email, ".ann@example.com", "the e-mail address has a dot before the @ that separates nothing"},
		{identity.Email, "ann.@example.com", "the e-mail address has a dot before the @ that separates nothing"},
		{identity.Email, "a..n@example.com", "the e-mail address has a dot before the @ that separates nothing"},
		{identity.Email, `"ann lee"@example.com`, "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "Ann <ann@example.com>", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "a@b@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "a\uff20b@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "a\u200bb@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\ufe0f@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\U000e0100@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "a\u034fnn@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\u3164@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\u115f@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\u180b@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\u17b4@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "a\u00a0b@example.com", "the e-mail address has a character before the @ that belongs into quotes or nowhere"},
		{identity.Email, "ann\xff@example.com", "the e-mail address is not UTF-8"},
		{identity.APIKey, "", "the API key is empty"},
		{identity.APIKey, "sk-0123456789ab", "the API key is shorter than 16 characters"},
		{identity.APIKey, strings.Repeat("x", 513), "the API key is longer than 512 bytes"},
		{identity.APIKey, "sk-0123456789 abcdef", "the API key has characters other than visible ASCII"},
		{identity.APIKey, "sk-0123456789\u00e9bcdef", "the API key has characters other than visible ASCII"},
	} {
		caller, err := c.of(c.value)
		if !errors.Is(err, caps.ErrNoIdentity) || err.Error() != "no usable identity: "+c.want || !caller.IsZero() {
			t.Errorf("%.40q: %v, %v; want %s", c.value, caller, err, c.want)
		}
	}
}

// What is shown says what kind of identity is counted, and no more.
func TestShown(t *testing.T) {
	for kind, c := range map[string]struct {
		of    maker
		value string
	}{
		"user": {identity.User, "ann-lee"}, "username": {identity.Username, "ann-lee"},
		"email": {identity.Email, "ann-lee@example.com"}, "api-key": {identity.APIKey, "ann-lee-0123456789"},
	} {
		caller, err := c.of(c.value)
		if err != nil || caller.String() != kind {
			t.Errorf("%s: shown as %q, %v", kind, caller, err)
		}
		for _, form := range []string{"%v", "%+v", "%#v", "%q", "%x", "%d"} {
			if shown := fmt.Sprintf(form, struct{ caller caps.Caller }{caller}); strings.Contains(shown, "ann") || strings.Contains(shown, fmt.Sprintf("%x", "ann")) {
				t.Errorf("%s of a %s shows it: %s", form, kind, shown)
			}
		}
	}
	caller, err := subject("248289761001")
	if err != nil || caller.String() != "user" {
		t.Errorf("a subject is shown as %q, %v", caller, err)
	}
}

// One string under all functions is as many callers.
func TestKindsAreApart(t *testing.T) {
	const value = "ann0123456789abc@example.com"
	seen := map[caps.Caller]int{}
	for i, of := range []maker{identity.User, identity.Username, subject, issuer, identity.Email, identity.APIKey} {
		caller, err := of(value)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if twin, found := seen[caller]; found {
			t.Errorf("functions %d and %d make the same caller", i, twin)
		}
		seen[caller] = i
	}
}

// Spellings that Unicode has for equivalent are one caller, wherever one of them is.
func TestEquivalentSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z\x{00c0}-\x{017f}\x{1e00}-\x{1eff}]{1,20}`).Draw(t, "name")
		composed, decomposed := norm.NFC.String(name), norm.NFD.String(name)
		for i, of := range []maker{identity.User, identity.Username, func(s string) (caps.Caller, error) { return identity.Email(s + "@example.com") }} {
			a, err1 := of(composed)
			b, err2 := of(decomposed)
			if (err1 == nil) != (err2 == nil) || a != b {
				t.Fatalf("%d: %q is two callers, %v, %v", i, name, err1, err2)
			}
		}
		upper, err1 := identity.Username(strings.ToUpper(strings.ToLower(composed)))
		lower, err2 := identity.Username(strings.ToLower(strings.ToUpper(strings.ToLower(composed))))
		if (err1 == nil) != (err2 == nil) || upper != lower {
			t.Fatalf("username %q: case counts, %v, %v", name, err1, err2)
		}
	})
}

func FuzzIdentities(f *testing.F) {
	for _, value := range []string{"ann", "Ann@Example.com", "\uff41\u0308@b\u00fccher.example", " \u1e9e@x", "\u03a3\u03c2", "sk-0123456789abcdef", "a@xn--bcher-kva.example", "\u0345\u0301@x", "\ufb03@x.y"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i, of := range []maker{identity.User, identity.Username, subject, identity.Email, identity.APIKey} {
			caller, err := of(value)
			if err != nil {
				if !errors.Is(err, caps.ErrNoIdentity) || !caller.IsZero() {
					t.Fatalf("%d: %q = %v, %v", i, value, caller, err)
				}
				if len(value) > 10 && strings.Contains(err.Error(), value) {
					t.Fatalf("%d: the error shows the value: %v", i, err)
				}
				continue
			}
			if caller.IsZero() || !utf8.ValidString(value) {
				t.Fatalf("%d: %q = %v", i, value, caller)
			}
			// The subject alone is taken as it is.
			if again, err := of(" " + value + "\n"); (err != nil || again != caller) && i != 2 {
				t.Fatalf("%d: white space makes %q another caller: %v", i, value, err)
			}
		}
	})
}
