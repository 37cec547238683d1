package originlock_test

import (
	"strings"
	"testing"
)

func FuzzCheck(f *testing.F) {
	secrets := []string{oldSecret, newSecret, strings.Repeat("x", 32), `{"a":"b,c"}` + oldSecret}
	l := staticLock(f, secrets...)
	for _, secret := range secrets {
		for _, value := range []string{
			secret, secret[1:], secret[:len(secret)-1], secret + "x", secret + "\x00", "\x00" + secret,
			secret + "," + secret, " " + secret, secret + "\n", strings.ToUpper(secret), secret[:32],
		} {
			f.Add(value)
		}
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, value string) {
		want := false
		for _, secret := range secrets {
			want = want || value == secret
		}
		if ok, err := l.Check(t.Context(), value); ok != want || err != nil {
			t.Errorf("Check(%q) = %v, %v; want %v", value, ok, err, want)
		}
	})
}
