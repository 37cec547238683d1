package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/api"
)

// While the keys of the callers are not certain nothing is counted and nothing is read,
// and what did not come through the edge does not even make them be looked for.
func TestKeysThatAreNotCertain(t *testing.T) {
	var uncertain error
	asked := 0
	s := newSystem(t, func(c *api.Config) {
		c.KeysInForce = func(context.Context) error {
			asked++
			return uncertain
		}
	})
	if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, res.Body)
	}
	uncertain = errors.New("the ring was not read")
	calls := s.store.calls()
	for _, e := range [][2]string{{"POST", "/api/demo/cap"}, {"GET", "/api/cap"}} {
		want(t, s.send(t, event(e[0], e[1])), 503, `{"error":"store_unavailable"}`)
	}
	if n := s.store.calls() - calls; n != 0 || asked != 3 {
		t.Errorf("%d store calls, the keys were asked for %d times; want none and 3", n, asked)
	}
	if !strings.Contains(s.log.String(), "the ring was not read") {
		t.Errorf("the log says %s", s.log)
	}
	e := event("POST", "/api/demo/cap")
	delete(e.Headers, "x-origin-verify")
	want(t, s.send(t, e), 401, `{"error":"not_via_cloudfront"}`)
	e = event("POST", "/api/demo/cap")
	delete(e.Headers, "cloudfront-viewer-address")
	want(t, s.send(t, e), 401, `{"error":"no_viewer_address"}`)
	if asked != 3 {
		t.Errorf("junk made the keys be asked for")
	}
}
