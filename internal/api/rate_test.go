package api_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	ratesmemory "github.com/seed3e88d9a2/spendcap/ratelimit/memory"
)

// rates counts the calls of the limits' store, and fails them all while err is set.
type rates struct {
	ratelimit.Store
	mu    sync.Mutex
	takes int
	err   error
}

func (s *rates) Take(ctx context.Context, t ratelimit.Take) (ratelimit.Outcome, error) {
	s.mu.Lock()
	s.takes++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return ratelimit.Outcome{}, err
	}
	return s.Store.Take(ctx, t)
}

func (s *rates) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.takes
	s.takes = 0
	return n
}

func rule(name string, requests int, whenDown ratelimit.Policy) ratelimit.Rule {
	return ratelimit.Rule{Name: name, Requests: requests, Window: time.Minute, WhenDown: whenDown}
}

// newRated is a system with limits on bursts.
func newRated(t testing.TB, rules map[string][]ratelimit.Rule, change ...func(*api.Config)) (*paidSystem, *rates) {
	t.Helper()
	p := newPaid(t, roomy, roomy, says(usage))
	store := &rates{Store: ratesmemory.New()}
	limiter, err := ratelimit.New(ratelimit.Config{Store: store, Now: p.clock.Now, Logger: slog.New(slog.NewJSONHandler(p.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	keyer, err := caps.NewKeyer([]byte(hmacKey))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Handler.Config
	c.Rates = &api.Rates{Rules: rules, Limiter: limiter, Keyer: keyer}
	for _, f := range change {
		f(&c)
	}
	if p.Handler, err = api.New(c); err != nil {
		t.Fatal(err)
	}
	return p, store
}

const chatPath, messagesPath = "/api/v1/chat/completions", "/api/v1/messages"

func TestRateLimit(t *testing.T) {
	burst := rule("burst", 3, ratelimit.Refuse)
	p, rates := newRated(t, map[string][]ratelimit.Rule{chatPath: {burst}, messagesPath: {burst}})
	for i, path := range []string{chatPath, messagesPath, chatPath} {
		res := send(t, p, "POST", path)
		if res.StatusCode != 200 {
			t.Fatal(res.StatusCode, res.Body)
		}
		for name, want := range map[string]string{"RateLimit-Policy": `, "burst";q=3;w=60`, "RateLimit": `, "burst";r=` + []string{"2", "1", "0"}[i] + `;t=60`} {
			if got := res.Headers[name]; !strings.HasPrefix(got, `"caller-`) || !strings.HasSuffix(got, want) {
				t.Errorf("%s %q; want what the caps say, and %s", name, got, want)
			}
		}
	}
	if n := rates.calls(); n != 3 {
		t.Errorf("%d store calls of the limit; want 3", n)
	}
	p.clock.Set(p.clock.Now().Add(1500 * time.Millisecond))
	before := p.store.calls()
	for path, text := range map[string]string{
		chatPath:     `{"capped":false,"error":{"capped":false,"code":"rate_limit_exceeded","message":"Too many requests. Try again in 59 seconds.","param":null,"retryAfter":59,"scope":"rate_limit","type":"rate_limit_error"},"retryAfter":59,"scope":"rate_limit"}`,
		messagesPath: `{"capped":false,"error":{"capped":false,"code":"rate_limit_exceeded","message":"Too many requests. Try again in 59 seconds.","param":null,"retryAfter":59,"scope":"rate_limit","type":"rate_limit_error"},"retryAfter":59,"scope":"rate_limit","type":"error"}`,
	} {
		e := event("POST", path)
		e.Body = "not looked at"
		res := p.send(t, e)
		want(t, res, 429, text)
		wantHeaders(t, res, map[string]string{
			"Retry-After": "59", "RateLimit-Policy": `"burst";q=3;w=60`, "RateLimit": `"burst";r=0;t=59`,
			"X-Should-Retry": "", "X-RateLimit-Limit": "",
		})
	}
	if n, m := rates.calls(), p.store.calls()-before; n != 0 || m != 0 || p.up.calls.Load() != 3 {
		t.Errorf("%d and %d store calls and %d paid calls for the refused; want none", n, m, p.up.calls.Load()-3)
	}
	e := event("POST", chatPath)
	e.Body, e.Headers["cloudfront-viewer-address"] = body, "198.51.100.11:1"
	if res := p.send(t, e); res.StatusCode != 200 {
		t.Errorf("another caller: %d %s", res.StatusCode, res.Body)
	}
	p.clock.Set(p.clock.Now().Add(58500 * time.Millisecond))
	if res := send(t, p, "POST", chatPath); res.StatusCode != 200 {
		t.Errorf("when the wait is over: %d %s", res.StatusCode, res.Body)
	}
}

// The endpoints that are nobody else's API refuse in their own form, and a wait that is
// longer than an SDK's patience is not for it.
func TestRateLimitOfOtherEndpoints(t *testing.T) {
	slow := ratelimit.Rule{Name: "slow", Requests: 1, Window: 3*time.Minute - time.Second, WhenDown: ratelimit.Refuse}
	p, _ := newRated(t, map[string][]ratelimit.Rule{"/api/demo/cap": {slow}, "/api/cap": {slow}, "/api/v1/models": {slow}})
	if res := send(t, p, "POST", "/api/demo/cap"); res.StatusCode != 200 {
		t.Fatal(res.StatusCode, res.Body)
	}
	const plain = `{"capped":false,"countedAs":"198.51.100.10","scope":"rate_limit","retryAfter":179,"message":"Too many requests. Try again in 3 minutes."}`
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/api/demo/cap", plain},
		{"GET", "/api/cap", plain},
		{"GET", "/api/v1/models", `{"capped":false,"error":{"capped":false,"code":"rate_limit_exceeded","message":"Too many requests. Try again in 3 minutes.","param":null,"retryAfter":179,"scope":"rate_limit","type":"rate_limit_error"},"retryAfter":179,"scope":"rate_limit"}`},
	} {
		res := send(t, p, c.method, c.path)
		want(t, res, 429, c.want)
		wantHeaders(t, res, map[string]string{"Retry-After": "179", "X-Should-Retry": "false", "RateLimit": `"slow";r=0;t=179`})
	}
	// What has no rule has no limit and no store call.
	if res := send(t, p, "POST", chatPath); res.StatusCode != 200 || strings.Contains(res.Headers["RateLimit"], "slow") {
		t.Errorf("%d %v", res.StatusCode, res.Headers)
	}
}

// With the limits' store down each rule does what it says. A paid call is refused
// whenever the budgets cannot be asked, whatever the rules say.
func TestRateLimitDown(t *testing.T) {
	for _, c := range []struct {
		name       string
		policy     ratelimit.Policy
		rates      bool // broken
		caps       bool // broken
		status     int
		paid       int64
		text, logs string
	}{
		{"allow", ratelimit.Allow, true, false, 200, 1, "hello", "the rate limit's store could not be asked"},
		{"refuse", ratelimit.Refuse, true, false, 503, 0, `"code":"store_unavailable"`, "the rate limit's store could not be asked"},
		{"allow, and no budget", ratelimit.Allow, true, true, 503, 0, `"code":"store_unavailable"`, "the store could not be asked, so the call is refused"},
		{"fine, and no budget", ratelimit.Allow, false, true, 503, 0, `"code":"store_unavailable"`, "the store could not be asked, so the call is refused"},
	} {
		for _, path := range []string{chatPath, messagesPath} {
			p, rates := newRated(t, map[string][]ratelimit.Rule{path: {rule("burst", 3, c.policy)}})
			if c.rates {
				rates.err = errBroken
			}
			if c.caps {
				p.store.fail(errBroken)
			}
			res := send(t, p, "POST", path)
			if res.StatusCode != c.status || !strings.Contains(res.Body, c.text) || p.up.calls.Load() != c.paid {
				t.Errorf("%s, %s: %d %s, %d paid calls; want %d", c.name, path, res.StatusCode, res.Body, p.up.calls.Load(), c.status)
			}
			if log := p.log.String(); !strings.Contains(log, c.logs) || strings.Contains(log, "198.51.100") {
				t.Errorf("%s: the log is %s", c.name, log)
			}
			if wait := res.Headers["Retry-After"]; wait != "" {
				t.Errorf("%s: Retry-After %q, which is for 429", c.name, wait)
			}
		}
	}
	p, rates := newRated(t, map[string][]ratelimit.Rule{"/api/demo/cap": {rule("demo", 3, ratelimit.Refuse)}})
	rates.err = errBroken
	want(t, send(t, p, "POST", "/api/demo/cap"), 503, `{"error":"store_unavailable"}`)
}

// What is refused for nothing does not ask the limits' store, and what the operator
// refuses does not either.
func TestRateLimitComesAfterWhatIsFree(t *testing.T) {
	var b *board
	all := []ratelimit.Rule{rule("all", 1, ratelimit.Refuse)}
	p, rates := newRated(t, map[string][]ratelimit.Rule{"/api/demo/cap": all, "/api/cap": all, chatPath: all, messagesPath: all, "/api/v1/models": all},
		func(c *api.Config) { b = watched(t, c) })
	if _, err := b.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for _, e := range []events.APIGatewayV2HTTPRequest{
		event("POST", "/nowhere"), event("GET", "/api/demo/cap"), event("OPTIONS", chatPath),
		event("POST", "/api/demo/cap"), event("POST", chatPath), event("POST", messagesPath),
	} {
		p.send(t, e)
		e.Headers["cloudfront-viewer-address"] = ""
		p.send(t, e)
		e.Headers["x-origin-verify"] = ""
		p.send(t, e)
	}
	if n := rates.calls(); n != 0 {
		t.Errorf("%d store calls of the limit; want none", n)
	}
}

// A signed-in caller is counted as the user, wherever it is.
func TestRateLimitOfUsers(t *testing.T) {
	p, _ := newRated(t, map[string][]ratelimit.Rule{"/api/cap": {rule("read", 1, ratelimit.Refuse)}}, withAuth(true))
	for i, c := range []struct {
		path, sub, viewer string
		status            int
	}{
		{"/api/cap", "", viewer, 200},
		{"/api/cap", "", viewer, 429},
		{"/api/u/cap", "anna", viewer, 200},
		{"/api/u/cap", "anna", "203.0.113.9:1", 429},
		{"/api/u/cap", "bob", "203.0.113.9:1", 200},
	} {
		e := event("GET", c.path)
		e.Headers["cloudfront-viewer-address"] = c.viewer
		if c.sub != "" {
			e = signedIn(e, map[string]string{"iss": anna["iss"], "sub": c.sub})
		}
		if res := p.send(t, e); (res.StatusCode == 429) != (c.status == 429) {
			t.Errorf("request %d: %d %s; want %d", i, res.StatusCode, res.Body, c.status)
		}
	}
}

func TestRatesOfTheConfig(t *testing.T) {
	p, _ := newRated(t, nil)
	for want, r := range map[string]*api.Rates{
		"api.Config.Rates needs a Limiter and a Keyer": {},
		`api.Config.Rates: /api/cap: rate limit "x": 0 requests are not between 1 and 1000: take a shorter window for more`: {
			Limiter: p.Rates.Limiter, Keyer: p.Rates.Keyer,
			Rules: map[string][]ratelimit.Rule{"/api/cap": {{Name: "x"}}},
		},
	} {
		c := p.Handler.Config
		c.Rates = r
		if _, err := api.New(c); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
