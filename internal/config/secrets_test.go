package config_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/config"
)

const (
	origin = "0123456789abcdef0123456789abcdef"
	hmac   = "fedcba9876543210fedcba9876543210"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestReadSecrets(t *testing.T) {
	long := strings.Repeat("x", 1024)
	for _, c := range []struct {
		origin, hmac string
	}{
		{origin, hmac},
		{long, hmac},
		{"!" + origin[2:] + "~", hmac},
	} {
		s, err := config.ReadSecrets(env(map[string]string{"SPENDCAP_ORIGIN_SECRET": c.origin, "SPENDCAP_HMAC_KEY": c.hmac}))
		if err != nil || s.Origin != c.origin || s.HMACKey != c.hmac || s.OriginDrawn || s.HMACKeyDrawn {
			t.Errorf("%.40q: %v, %v", c.origin, s.Origin, err)
		}
	}
}

func TestSecretsAreDrawn(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{64}$`)
	seen := map[string]bool{}
	for range 10 {
		s, err := config.ReadSecrets(env(nil))
		if err != nil || !s.OriginDrawn || !s.HMACKeyDrawn {
			t.Fatal(s, err)
		}
		for _, drawn := range []string{s.Origin, s.HMACKey} {
			if !form.MatchString(drawn) || seen[drawn] {
				t.Errorf("%q is not 32 random bytes in hexadecimal", drawn)
			}
			seen[drawn] = true
		}
	}
	s, err := config.ReadSecrets(env(map[string]string{"SPENDCAP_HMAC_KEY": hmac}))
	if err != nil || !s.OriginDrawn || s.HMACKeyDrawn || s.HMACKey != hmac || !form.MatchString(s.Origin) {
		t.Errorf("one of two set: %v, %t, %t", err, s.OriginDrawn, s.HMACKeyDrawn)
	}
}

func TestSecretsRefused(t *testing.T) {
	const remedy = ": draw another with `openssl rand -hex 32`"
	for value, want := range map[string]string{
		"":                        "is set and empty",
		" ":                       "is blank",
		"\t\n ":                   "is blank",
		strings.Repeat(" ", 64):   "is blank",
		"short":                   "is shorter than 32 bytes",
		origin[1:]:                "is shorter than 32 bytes",
		" " + origin:              "has white space around it",
		origin + "\n":             "has white space around it",
		origin + "\u00a0":         "has white space around it",
		origin + " " + hmac:       "has characters that a header cannot carry",
		origin + "\x00" + hmac:    "has characters that a header cannot carry",
		origin + "\r\nX-A: b":     "has characters that a header cannot carry",
		origin + "\x7f" + hmac:    "has characters that a header cannot carry",
		origin + "ü" + hmac:       "has characters that a header cannot carry",
		origin + "\xff" + hmac:    "has characters that a header cannot carry",
		strings.Repeat("x", 1025): "is longer than 1024 bytes",
	} {
		for name, other := range map[string]string{"SPENDCAP_ORIGIN_SECRET": "SPENDCAP_HMAC_KEY", "SPENDCAP_HMAC_KEY": "SPENDCAP_ORIGIN_SECRET"} {
			s, err := config.ReadSecrets(env(map[string]string{name: value, other: strings.Repeat("y", 32)}))
			if got, want := errorText(err), name+" "+want+remedy; got != want || s != (config.Secrets{}) {
				t.Errorf("%.40q: %q; want %q", value, got, want)
			}
		}
	}
	both := env(map[string]string{"SPENDCAP_ORIGIN_SECRET": "", "SPENDCAP_HMAC_KEY": "short"})
	_, err := config.ReadSecrets(both)
	if got, want := errorText(err), "SPENDCAP_ORIGIN_SECRET is set and empty"+remedy+"\nSPENDCAP_HMAC_KEY is shorter than 32 bytes"+remedy; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	same := env(map[string]string{"SPENDCAP_ORIGIN_SECRET": origin, "SPENDCAP_HMAC_KEY": origin})
	_, err = config.ReadSecrets(same)
	if got, want := errorText(err), "SPENDCAP_ORIGIN_SECRET and SPENDCAP_HMAC_KEY are the same"+remedy+" for one of them, or rotating the lock resets the counts"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// However they are printed, the secrets do not show.
func TestSecretsDoNotShow(t *testing.T) {
	s, err := config.ReadSecrets(env(map[string]string{"SPENDCAP_ORIGIN_SECRET": origin, "SPENDCAP_HMAC_KEY": hmac}))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %+v %#v %s", s, s, s, s)
	fmt.Fprintf(&out, "%v %+v", struct{ S config.Secrets }{s}, &s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("start", "secrets", s)
	slog.New(slog.NewTextHandler(&out, nil)).Info("start", "secrets", s)
	if strings.Contains(out.String(), origin) || strings.Contains(out.String(), hmac) {
		t.Errorf("a secret shows: %s", &out)
	}
}
