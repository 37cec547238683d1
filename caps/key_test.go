package caps_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func mustCaller(tb testing.TB, header string) caps.Caller {
	tb.Helper()
	caller, err := caps.ViewerCaller(header)
	if err != nil {
		tb.Fatal(err)
	}
	return caller
}

func mustKeyer(tb testing.TB, secret []byte) *caps.Keyer {
	tb.Helper()
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return keyer
}

// The definition, written down a second time.
func TestKeyIsTheDocumentedHash(t *testing.T) {
	keyer, day := mustKeyer(t, secret), caps.DayOf(noon())
	for header, prefix := range map[string]string{
		"198.51.100.10:46532":   "198.51.100.10/32",
		"2001:db8::1:443":       "2001:db8::/64",
		"::ffff:198.51.100.7:1": "198.51.100.7/32",
	} {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte("caller\x002026-11-30\x00" + prefix))
		want := hex.EncodeToString(mac.Sum(nil))[:32]
		if got := keyer.Key("caller", day, mustCaller(t, header)); got != want {
			t.Errorf("%s: %s; want %s", header, got, want)
		}
		mac.Reset()
		mac.Write([]byte("block\x00\x00" + prefix))
		want = hex.EncodeToString(mac.Sum(nil))[:32]
		if got := keyer.LastingKey("block", caps.DayOf(noon()), mustCaller(t, header)).Key; got != want {
			t.Errorf("%s without a day: %s; want %s", header, got, want)
		}
	}
}

func TestKeyDependsOnEveryPart(t *testing.T) {
	other := bytes.Clone(secret)
	other[0] ^= 1
	keyer, day := mustKeyer(t, secret), caps.DayOf(noon())
	caller := mustCaller(t, "198.51.100.10:46532")
	keys := map[string]string{
		"itself":         keyer.Key("caller", day, caller),
		"another secret": mustKeyer(t, other).Key("caller", day, caller),
		"the next day":   keyer.Key("caller", day+1, caller),
		"the day before": keyer.Key("caller", day-1, caller),
		"demo":           keyer.Key("demo", day, caller),
		"no purpose":     keyer.Key("", day, caller),
		"1970":           keyer.Key("caller", 0, caller),
		"no day":         keyer.LastingKey("caller", day, caller).Key,
		"lasting demo":   keyer.LastingKey("demo", day, caller).Key,
		"a neighbour":    keyer.Key("caller", day, mustCaller(t, "198.51.100.11:46532")),
		"an IPv6 caller": keyer.Key("caller", day, mustCaller(t, "2001:db8::1:46532")),
	}
	seen := make(map[string]string)
	form := regexp.MustCompile(`^[0-9a-f]{32}$`)
	for name, key := range keys {
		if !form.MatchString(key) {
			t.Errorf("%s: %q is not 32 hexadecimal digits", name, key)
		}
		if twin, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", name, twin)
		}
		seen[key] = name
	}
	if again := keyer.Key("caller", day, mustCaller(t, "198.51.100.10:1")); again != keys["itself"] {
		t.Error("another port is another caller")
	}
}

func TestNewKeyerRefuses(t *testing.T) {
	const want = "the HMAC secret is missing, blank or shorter than 32 bytes: draw one with `openssl rand -hex 32`"
	for _, secret := range []string{"", "short", strings.Repeat("x", 31), strings.Repeat(" ", 64), strings.Repeat("x", 31) + "  ", "\n" + strings.Repeat("x", 31)} {
		if keyer, err := caps.NewKeyer([]byte(secret)); keyer != nil || err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v", secret, keyer, err)
		}
	}
	if _, err := caps.NewKeyer([]byte(strings.Repeat("x", 32))); err != nil {
		t.Errorf("32 bytes: %v", err)
	}
}

// The Keyer has a copy of its own: a caller that wipes its buffer does not change keys.
func TestKeyerCopiesTheSecret(t *testing.T) {
	mine := bytes.Clone(secret)
	keyer, day, caller := mustKeyer(t, mine), caps.DayOf(noon()), mustCaller(t, "198.51.100.10:1")
	before := keyer.Key("caller", day, caller)
	clear(mine)
	if keyer.Key("caller", day, caller) != before {
		t.Error("wiping the caller's buffer changed the key")
	}
}

func BenchmarkKey(b *testing.B) {
	keyer, day, caller := mustKeyer(b, secret), caps.DayOf(noon()), mustCaller(b, "198.51.100.10:1")
	b.ReportAllocs()
	for b.Loop() {
		keyer.Key("caller", day, caller)
	}
}
