package nethttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/memory"
	"github.com/seed3e88d9a2/spendcap/ratelimit/nethttp"
)

func TestLimit(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	l, err := ratelimit.New(ratelimit.Config{Store: memory.New(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	rule := ratelimit.Rule{Name: "search", Requests: 1, Window: 150 * time.Second, WhenDown: ratelimit.Allow}
	h := nethttp.Limit(l, func(r *http.Request) ([]ratelimit.Attempt, error) {
		key := r.Header.Get("X-Test-Key")
		if key == "unknown" {
			return nil, errors.New("who is that?")
		}
		return []ratelimit.Attempt{rule.For(key)}, nil
	}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("found")) }))

	for _, c := range []struct {
		key    string
		status int
		body   string
		header map[string]string
	}{
		{"a", 200, "found", map[string]string{"RateLimit-Policy": `"search";q=1;w=150`, "RateLimit": `"search";r=0;t=150`, "Retry-After": ""}},
		{"a", 429, `{"error":"rate_limited","message":"Too many requests. Try again in 3 minutes.","retryAfter":150}`, map[string]string{
			"RateLimit-Policy": `"search";q=1;w=150`, "RateLimit": `"search";r=0;t=150`, "Retry-After": "150",
			"Content-Type": "application/json", "Cache-Control": "no-store"}},
		{"unknown", 401, `{"error":"unknown_caller"}`, map[string]string{"Retry-After": "", "Cache-Control": "no-store"}},
		{"", 500, `{"error":"internal_error"}`, map[string]string{"Retry-After": "", "Cache-Control": "no-store"}},
	} {
		r := httptest.NewRequest("GET", "/search", nil)
		r.Header.Set("X-Test-Key", c.key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%q: %d %s; want %d %s", c.key, w.Code, w.Body, c.status, c.body)
		}
		for name, want := range c.header {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%q: %s %q; want %q", c.key, name, got, want)
			}
		}
	}
}
