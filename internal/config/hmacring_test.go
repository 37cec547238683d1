package config_test

import (
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// The key of the callers may be a ring of versions; the origin lock's secret may not,
// and may be none of its versions.
func TestRingOfKeys(t *testing.T) {
	second := strings.Repeat("z", 32)
	ring := `{"versions": [{"id": "1", "secret": "` + hmac + `"}, {"id": "2", "from": "2026-12-02", "secret": "` + second + `"}]}`
	read := func(origin, key string) (config.Secrets, error) {
		return config.ReadSecrets(env(map[string]string{"SPENDCAP_ORIGIN_SECRET": origin, "SPENDCAP_HMAC_KEY": key}))
	}
	s, err := read(origin, ring)
	if err != nil || s.HMACKey != ring || s.HMACKeyDrawn {
		t.Errorf("%v, %t", err, s.HMACKeyDrawn)
	}
	for _, c := range []struct{ origin, key, want string }{
		{hmac, ring, "SPENDCAP_ORIGIN_SECRET and SPENDCAP_HMAC_KEY are the same"},
		{second, ring, "SPENDCAP_ORIGIN_SECRET and SPENDCAP_HMAC_KEY are the same"},
		{ring, hmac, "SPENDCAP_ORIGIN_SECRET has characters that a header cannot carry"},
		{origin, `{"versions": []}`, "SPENDCAP_HMAC_KEY: the HMAC secret has 0 versions"},
		{origin, strings.ReplaceAll(ring, second, "short"), `SPENDCAP_HMAC_KEY: version "2": the HMAC secret is missing, blank or shorter`},
		{origin, " " + ring[:len(ring)-1], "SPENDCAP_HMAC_KEY: the HMAC secret begins like a ring and is none"},
	} {
		if s, err := read(c.origin, c.key); !strings.HasPrefix(errorText(err), c.want) || s != (config.Secrets{}) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}
