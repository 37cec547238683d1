package config_test

import (
	"slices"
	"strings"
	"testing"
)

func TestAllowedOrigins(t *testing.T) {
	for _, origin := range []string{
		"https://example.com",
		"https://www.example.com",
		"https://example.com:8443",
		"https://example.com:80",
		"https://xn--bcher-kva.example",
		"https://198.51.100.10",
		"https://[2001:db8::1]",
		"https://[2001:db8::1]:8443",
		"https://localhost:3000",
		"http://localhost:3000",
		"http://127.0.0.1:5173",
		"http://[::1]:5173",
		"http://localhost",
		"http://localhost:443",
		"https://a",
		"https://a--b.example",
		"https://" + strings.Repeat("a", 63) + ".example",
	} {
		c, err := load("demo: {calls: 1}\ncors: {allowed_origins: ['" + origin + "']}")
		if err != nil || !slices.Equal(c.AllowedOrigins, []string{origin}) {
			t.Errorf("%s: %v, %v", origin, c, err)
		}
	}
}

func TestAllowedOriginsRefused(t *testing.T) {
	const (
		form    = "is not an origin: write https://host or https://host:port"
		more    = "has more than an origin has: write https://host or https://host:port, without path, slash at the end or user"
		host    = "is not how a browser writes the host: lower case, and in its xn-- form if it has other letters"
		address = "is not how a browser writes the address"
		plain   = "is not encrypted: write https"
		port    = "has a port that is not between 1 and 65535"
		usual   = "names the default port, which browsers leave out: remove it"
		star    = "has a wildcard: list each origin by itself"
	)
	for origin, want := range map[string]string{
		"*":                           "would let the pages of any site spend your budget: list the origins that may",
		"null":                        "is what every sandboxed page sends: list the origins that may call",
		"":                            form,
		"example.com":                 form,
		"//example.com":               form,
		"ftp://example.com":           form,
		"https:example.com":           form,
		"https":                       form,
		"HTTPS://example.com":         more, // browsers write the scheme in lower case
		"https://example.com/":        more,
		"https://example.com/app":     more,
		"https://example.com?a=b":     more,
		"https://example.com#a":       more,
		"https://user@example.com":    more,
		"https://user:pw@example.com": more,
		"https://*.example.com":       star,
		"https://*":                   star,
		"https://Example.com":         host,
		"https://bücher.example":      host,
		"https://exa_mple.com":        host,
		"https://-example.com":        host,
		"https://example-.com":        host,
		"https://example.com.":        host,
		"https://.example.com":        host,
		"https://exa..mple.com":       host,
		"https://":                    host,
		"https://:8443":               host,
		"https://" + strings.Repeat("a", 64) + ".example": host,
		"https://[2001:DB8::1]":                           address,
		"https://[2001:db8:0:0::1]":                       address,
		"https://[fe80::1%25eth0]":                        more,
		"http://example.com":                              plain,
		"http://198.51.100.10":                            plain,
		"http://localhost.example.com":                    plain,
		"http://[2001:db8::1]:5173":                       plain,
		"https://example.com:":                            "has a colon without a port: remove it",
		"https://example.com:0":                           port,
		"https://example.com:65536":                       port,
		"https://example.com:08443":                       port,
		"https://example.com:443":                         usual,
		"http://localhost:80":                             usual,
		"https://example.com:x":                           form,
		"https://exa mple.com":                            form,
		" https://example.com":                            form,
	} {
		_, err := load("demo: {calls: 1}\ncors: {allowed_origins: ['" + origin + "']}")
		shown := origin
		if len(shown) > 40 {
			shown = shown[:40] + `"...`
		} else {
			shown += `"`
		}
		if got, want := errorText(err), `line 2: cors.allowed_origins[0]: "`+shown+" "+want; got != want {
			t.Errorf("%q\nwant\n%q", got, want)
		}
	}
	for text, want := range map[string]string{
		"cors: {}": "line 2: cors.allowed_origins: missing: list them, such as https://www.example.com, or remove cors",
		"cors: []": "line 2: cors: a list stands where a group of keys has to: allowed_origins",
		"cors: {allowed_origins: https://example.com}":                                `line 2: cors.allowed_origins: the text "https://example.com" stands where a list has to`,
		"cors: {allowed_origins: [1]}":                                                `line 2: cors.allowed_origins[0]: "1" is not read as text: put it in quotes`,
		"cors: {allowed_origins: [[]]}":                                               "line 2: cors.allowed_origins[0]: a list stands where a text has to",
		"cors: {allowed_origins: [~]}":                                                "line 2: cors.allowed_origins[0]: nothing stands where a text has to",
		"cors: {allowed_origins: &a []}":                                              "line 2: cors.allowed_origins: &a is an anchor: remove it, aliases are not followed",
		"cors: {allowed_origins: [!!str https://example.com]}":                        "line 2: cors.allowed_origins[0]: the tag \"!!str\" is not allowed: write the value alone",
		"cors:\n  allowed_origins:\n    - https://a.example\n    - https://a.example": `line 5: cors.allowed_origins[1]: "https://a.example" is listed twice: keep one`,
	} {
		if got := errorText(errorOf(load("demo: {calls: 1}\n" + text))); got != want {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
}
