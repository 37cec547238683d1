package api_test

import (
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// A page of another site cannot make its visitors spend: what counts is refused before it
// is counted, priced or called.
func TestPagesOfOtherSites(t *testing.T) {
	const refused = `{"error":"cross_origin"}`
	p := newPaid(t, roomy, roomy, says(&llm.Usage{Input: 9, Output: 3}))
	c := p.Handler.Config
	c.AllowedOrigins = []string{"https://app.example"}
	var err error
	if p.Handler, err = api.New(c); err != nil {
		t.Fatal(err)
	}
	demo := newSystem(t)
	for _, test := range []struct {
		site, origin string
		refused      bool
	}{
		{"", "", false},
		{"", "https://evil.example", false}, // no browser of today
		{"same-origin", "https://site.example", false},
		{"none", "", false},
		{"cross-site", "https://evil.example", true},
		{"cross-site", "null", true},
		{"cross-site", "", true},
		{"same-site", "https://blog.site.example", true},
		{"same-origin,cross-site", "https://evil.example", true},
		{"SAME-ORIGIN", "https://evil.example", true},
		{"cross-site", "https://app.example", false},
		{"same-site", "https://app.example", false},
		{"cross-site", "https://app.example.evil.example", true},
	} {
		before, beforeDemo := p.store.calls(), demo.store.calls()
		calls := p.up.calls.Load()
		e := chat(body)
		d := event("POST", "/api/demo/cap")
		for name, value := range map[string]string{"sec-fetch-site": test.site, "origin": test.origin, "content-type": "text/plain"} {
			if value != "" {
				e.Headers[name], d.Headers[name] = value, value
			}
		}
		res := p.send(t, e)
		if test.refused {
			want(t, res, 401, refused)
			if p.store.calls() != before || p.up.calls.Load() != calls {
				t.Errorf("%q from %q: %d store calls, %d paid calls", test.site, test.origin, p.store.calls()-before, p.up.calls.Load()-calls)
			}
		} else if res.StatusCode != 200 {
			t.Errorf("%q from %q: %d %s", test.site, test.origin, res.StatusCode, res.Body)
		}
		if test.origin != "https://app.example" { // which this one does not allow
			res = demo.send(t, d)
			if refused := res.StatusCode == 401; refused != test.refused || refused && demo.store.calls() != beforeDemo {
				t.Errorf("%q from %q: %d %s, %d store calls", test.site, test.origin, res.StatusCode, res.Body, demo.store.calls()-beforeDemo)
			}
		}
	}
	// What spends nothing is open, and so is the question whether one may ask.
	for method, path := range map[string]string{"GET": "/api/cap", "OPTIONS": "/api/demo/cap"} {
		e := event(method, path)
		e.Headers["sec-fetch-site"], e.Headers["origin"] = "cross-site", "https://evil.example"
		if res := demo.send(t, e); res.StatusCode != 200 && res.StatusCode != 204 || res.Headers["Access-Control-Allow-Origin"] != "" {
			t.Errorf("%s %s: %d %v", method, path, res.StatusCode, res.Headers)
		}
	}
}
