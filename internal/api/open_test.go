package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// board is what an operator has set, read through a reader that can be broken.
type board struct {
	*control.Operator
	keyer *caps.Keyer
	store controlmemory.Store

	mu    sync.Mutex
	err   error
	reads int
}

func (b *board) Read(ctx context.Context) (control.State, int64, error) {
	b.mu.Lock()
	b.reads++
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return control.State{}, 0, err
	}
	return b.store.Read(ctx)
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// watched puts a handler under an operator.
func watched(t testing.TB, c *api.Config) *board {
	t.Helper()
	b := new(board)
	var err error
	b.Operator, err = control.NewOperator(control.OperatorConfig{Store: &b.store, By: "ann", Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	if b.keyer, err = caps.NewKeyer([]byte(hmacKey)); err != nil {
		t.Fatal(err)
	}
	if c.Control, err = control.NewWatcher(control.WatcherConfig{Reader: b, Keyer: b.keyer, Now: c.Now}); err != nil {
		t.Fatal(err)
	}
	return b
}

func newWatched(t testing.TB, complete func(context.Context, *llm.Request) (*llm.Response, error)) (*paidSystem, *board) {
	t.Helper()
	p := newPaid(t, caps.Calls(10).AndUSD(50_000), caps.USD(5_000_000), complete)
	c := p.Handler.Config
	c.AllowedOrigins = []string{"https://app.example"}
	b := watched(t, &c)
	var err error
	if p.Handler, err = api.New(c); err != nil {
		t.Fatal(err)
	}
	return p, b
}

// pass lets the instance see what the operator has changed.
func (s *system) pass(d time.Duration) { s.clock.Set(s.clock.Now().Add(d)) }

func send(t testing.TB, p *paidSystem, method, path string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	e := event(method, path)
	if method == "POST" {
		e.Body = body
	}
	return p.send(t, e)
}

var usage = &llm.Usage{Input: 5, Output: 3}

func TestStopped(t *testing.T) {
	p, b := newWatched(t, says(usage))
	if res := send(t, p, "POST", "/api/v1/chat/completions"); res.StatusCode != 200 {
		t.Fatal(res.StatusCode, res.Body)
	}
	if _, err := b.Stop(t.Context(), `Back at "noon".`); err != nil {
		t.Fatal(err)
	}
	p.pass(2 * time.Second)
	before := p.store.calls()
	for path, text := range map[string]string{
		"/api/demo/cap":            `{"capped":true,"countedAs":"198.51.100.10","scope":"stopped","retryAfter":60,"message":"Back at \"noon\"."}`,
		"/api/v1/chat/completions": `{"capped":true,"error":{"capped":true,"code":"stopped","message":"Back at \"noon\".","param":null,"retryAfter":60,"scope":"stopped","type":"rate_limit_error"},"retryAfter":60,"scope":"stopped"}`,
		"/api/v1/messages":         `{"capped":true,"error":{"capped":true,"code":"stopped","message":"Back at \"noon\".","param":null,"retryAfter":60,"scope":"stopped","type":"rate_limit_error"},"retryAfter":60,"scope":"stopped","type":"error"}`,
	} {
		res := send(t, p, "POST", path)
		want(t, res, 429, text)
		wantHeaders(t, res, map[string]string{
			"Retry-After": "60", "X-Should-Retry": "false",
			"RateLimit": "", "RateLimit-Policy": "", "X-RateLimit-Limit": "", "X-RateLimit-Remaining": "", "X-RateLimit-Reset": "",
		})
	}
	if got := p.store.calls(); got != before || p.up.calls.Load() != 1 {
		t.Errorf("%d store calls and %d paid calls during the stop; want none", got-before, p.up.calls.Load()-1)
	}

	// A refusal comes before the body is looked at.
	bad := event("POST", "/api/v1/chat/completions")
	bad.Body = "{"
	if res := p.send(t, bad); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"stopped"`) {
		t.Errorf("a bad body: %d %s", res.StatusCode, res.Body)
	}

	// What spends nothing goes on, and says so.
	want(t, send(t, p, "GET", "/api/cap"), 200, `{"countedAs":"198.51.100.10","calls":{"used":1,"cap":10,"remaining":9},`+
		`"spend":{"used":"0.000008","held":"0.000000","cap":"0.050000","remaining":"0.049992","currency":"USD"},`+
		`"resetAt":"2026-12-01T00:00:00Z","stopped":true,"message":"Back at \"noon\"."}`)
	if res := send(t, p, "GET", "/api/v1/models"); res.StatusCode != 200 || !strings.Contains(res.Body, `"id":"m"`) {
		t.Errorf("models: %d %s", res.StatusCode, res.Body)
	}
	e := event("OPTIONS", "/api/v1/chat/completions")
	e.Headers["origin"] = "https://app.example"
	want(t, p.send(t, e), 204, "")
	if res := send(t, p, "POST", "/nowhere"); res.StatusCode != 404 {
		t.Errorf("%d %s", res.StatusCode, res.Body)
	}
	// A script on another site can read why.
	e = event("POST", "/api/demo/cap")
	e.Headers["origin"] = "https://app.example"
	wantHeaders(t, p.send(t, e), map[string]string{"Access-Control-Allow-Origin": "https://app.example"})

	if _, err := b.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.pass(2 * time.Second)
	for _, path := range []string{"/api/demo/cap", "/api/v1/chat/completions", "/api/v1/messages"} {
		if res := send(t, p, "POST", path); res.StatusCode != 200 {
			t.Errorf("%s after resume: %d %s", path, res.StatusCode, res.Body)
		}
	}
	if res := send(t, p, "GET", "/api/cap"); strings.Contains(res.Body, "stopped") {
		t.Errorf("after resume: %s", res.Body)
	}
	log := p.log.String()
	if strings.Contains(log, "198.51.100") {
		t.Errorf("an address in the log: %s", log)
	}
}

func TestStopWithoutAMessage(t *testing.T) {
	p, b := newWatched(t, says(usage))
	if _, err := b.Stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want(t, send(t, p, "POST", "/api/demo/cap"), 429, `{"capped":true,"countedAs":"198.51.100.10","scope":"stopped","retryAfter":60,"message":"Calls are stopped for everybody at the moment. Try again later."}`)
}

func TestBlocked(t *testing.T) {
	p, b := newWatched(t, says(usage)) // 23:00
	caller, err := caps.Mask{}.Caller(netip.MustParseAddr("198.51.100.10"))
	if err != nil {
		t.Fatal(err)
	}
	day := caps.DayOf(p.clock.Now())
	block := control.KeyBlock(caps.ItemKey{Budget: "caller", Day: day, Caller: b.keyer.Key("caller", day, caller)})
	if _, err := b.Block(t.Context(), block); err != nil {
		t.Fatal(err)
	}
	// A key of one budget's items stands for the caller everywhere.
	const refused = `{"capped":true,"countedAs":"198.51.100.10","scope":"blocked","retryAfter":3600,"message":"Your calls are not accepted at the moment. Try again in 1 hour."}`
	res := send(t, p, "POST", "/api/demo/cap")
	want(t, res, 429, refused)
	wantHeaders(t, res, map[string]string{"Retry-After": "3600", "X-Should-Retry": "false", "RateLimit": ""})
	want(t, send(t, p, "GET", "/api/cap"), 429, refused)
	for _, path := range []string{"/api/v1/chat/completions", "/api/v1/messages"} {
		if res := send(t, p, "POST", path); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"blocked"`) {
			t.Errorf("%d %s", res.StatusCode, res.Body)
		}
	}
	if n := p.store.calls(); n != 0 || p.up.calls.Load() != 0 {
		t.Errorf("%d store calls, %d paid calls; want none", n, p.up.calls.Load())
	}
	e := event("POST", "/api/demo/cap")
	e.Headers["cloudfront-viewer-address"] = "198.51.100.11:1"
	if res := p.send(t, e); res.StatusCode != 200 {
		t.Errorf("another caller: %d %s", res.StatusCode, res.Body)
	}
	p.clock.Set(day.End().Add(-time.Nanosecond))
	if res := send(t, p, "POST", "/api/demo/cap"); res.StatusCode != 429 || res.Headers["Retry-After"] != "1" {
		t.Errorf("just before midnight: %d %v", res.StatusCode, res.Headers)
	}
	p.clock.Set(day.End())
	if res := send(t, p, "POST", "/api/demo/cap"); res.StatusCode != 200 {
		t.Errorf("at midnight: %d %s", res.StatusCode, res.Body)
	}

	if _, err := b.Block(t.Context(), control.AddressBlock(b.keyer, caller, day+1)); err != nil {
		t.Fatal(err)
	}
	p.pass(2 * time.Second)
	want(t, send(t, p, "POST", "/api/demo/cap"), 429, `{"capped":true,"countedAs":"198.51.100.10","scope":"blocked","retryAfter":60,"message":"Your calls are not accepted at the moment."}`)
}

// It is unknown whether the operator has stopped the calls: nothing is called.
func TestControlCannotBeRead(t *testing.T) {
	p, b := newWatched(t, says(usage))
	b.fail(errBroken)
	want(t, send(t, p, "POST", "/api/demo/cap"), 503, `{"error":"store_unavailable"}`)
	want(t, send(t, p, "GET", "/api/cap"), 503, `{"error":"store_unavailable"}`)
	for _, path := range []string{"/api/v1/chat/completions", "/api/v1/messages"} {
		res := send(t, p, "POST", path)
		if res.StatusCode != 503 || !strings.Contains(res.Body, `"code":"store_unavailable"`) || !strings.Contains(res.Body, `"error":{`) {
			t.Errorf("%s: %d %s", path, res.StatusCode, res.Body)
		}
	}
	if n := p.store.calls(); n != 0 || p.up.calls.Load() != 0 {
		t.Errorf("%d store calls, %d paid calls; want none", n, p.up.calls.Load())
	}
	for path, status := range map[string]int{"/api/v1/models": 200, "/nowhere": 404, "/api/demo/cap": 405} {
		if res := send(t, p, "GET", path); res.StatusCode != status {
			t.Errorf("%s: %d %s; want %d", path, res.StatusCode, res.Body, status)
		}
	}
	b.fail(nil)
	p.pass(time.Second)
	if res := send(t, p, "POST", "/api/demo/cap"); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, res.Body)
	}
}

// during runs f while a reserve of a budget is under way.
type during struct {
	caps.Store
	budget string
	f      func()
}

func (d *during) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	out, err := d.Store.Reserve(ctx, c, limit)
	if c.Key.Budget == d.budget && d.f != nil {
		d.f()
	}
	return out, err
}

// A stop that comes while a call waits for its budgets is obeyed before it is made, and
// what was taken is given back. So is a control item that became unreadable meanwhile.
func TestStoppedBetweenTheGateAndTheCall(t *testing.T) {
	for _, unreadable := range []bool{false, true} {
		for _, c := range []struct{ path, budget string }{{"/api/demo/cap", "demo"}, {"/api/v1/chat/completions", "global"}, {"/api/v1/messages", "caller"}} {
			p, b := newWatched(t, says(usage))
			d := &during{Store: p.real, budget: c.budget}
			p.store.Store = d
			d.f = func() {
				if _, err := b.Stop(t.Context(), ""); err != nil {
					t.Error(err)
				}
				if unreadable {
					b.fail(errBroken)
				}
				p.pass(4 * time.Second)
			}
			// The demo's guard counts in a store of the system that was replaced.
			if c.budget == "demo" {
				guard, err := caps.NewGuard(caps.Config{Store: p.store, Keyer: b.keyer, Caller: caps.Budget{Name: "demo", Cap: caps.Calls(1)}, Now: p.clock.Now})
				if err != nil {
					t.Fatal(err)
				}
				p.Handler.Config.Demo = guard
			}
			status, text := 429, "Calls are stopped"
			if unreadable {
				status, text = 503, "store_unavailable"
			}
			e := event("POST", c.path)
			e.Body, e.Headers["idempotency-key"] = body, "k"
			if res := p.send(t, e); res.StatusCode != status || !strings.Contains(res.Body, text) {
				t.Errorf("%s: %d %s; want %d", c.path, res.StatusCode, res.Body, status)
			}
			if n := p.up.calls.Load(); n != 0 {
				t.Errorf("%s: %d paid calls; want none", c.path, n)
			}
			caller, err := caps.ViewerCaller(viewer)
			if err != nil {
				t.Fatal(err)
			}
			day := caps.DayOf(p.clock.Now())
			for _, key := range []caps.ItemKey{
				{Budget: "demo", Day: day, Caller: b.keyer.Key("demo", day, caller)},
				{Budget: "caller", Day: day, Caller: b.keyer.Key("caller", day, caller)},
				{Budget: "global", Day: day, Caller: caps.Everybody},
			} {
				if u, err := p.real.Usage(t.Context(), key); err != nil || u != (caps.Usage{}) {
					t.Errorf("%s: %s has used %+v, %v; want everything back", c.path, key.Budget, u, err)
				}
			}
			// The key is free again for the repeat after the stop.
			d.f = nil
			b.fail(nil)
			if _, err := b.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.pass(4 * time.Second)
			if res := p.send(t, e); res.StatusCode != 200 {
				t.Errorf("%s after resume: %d %s", c.path, res.StatusCode, res.Body)
			}
		}
	}
}

// A call that runs finishes and is settled.
func TestStopLetsARunningCallFinish(t *testing.T) {
	var p *paidSystem
	var b *board
	p, b = newWatched(t, func(ctx context.Context, r *llm.Request) (*llm.Response, error) {
		if _, err := b.Stop(ctx, ""); err != nil {
			return nil, err
		}
		p.pass(10 * time.Second)
		return says(usage)(ctx, r)
	})
	if res := send(t, p, "POST", "/api/v1/chat/completions"); res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, res.Body)
	}
	u, err := p.real.Usage(t.Context(), caps.ItemKey{Budget: "global", Day: caps.DayOf(p.clock.Now()), Caller: caps.Everybody})
	if want := (caps.Usage{Calls: 1, USD: 8}); err != nil || u != want {
		t.Errorf("%+v, %v; want %+v settled", u, err, want)
	}
	if res := send(t, p, "POST", "/api/v1/chat/completions"); res.StatusCode != 429 {
		t.Errorf("the next: %d %s", res.StatusCode, res.Body)
	}
}

// Junk and what does not spend does not even read what the operator has set, and calls
// read it once in two seconds.
func TestReadsOfTheControl(t *testing.T) {
	p, b := newWatched(t, says(usage))
	for range 10 {
		for _, e := range []events.APIGatewayV2HTTPRequest{event("POST", "/nowhere"), event("GET", "/api/demo/cap"), event("OPTIONS", "/api/demo/cap"), event("GET", "/api/v1/models")} {
			p.send(t, e)
			e.Headers["cloudfront-viewer-address"] = ""
			p.send(t, e)
			e.Headers["x-origin-verify"] = ""
			p.send(t, e)
		}
		p.pass(time.Minute)
	}
	if b.reads != 0 {
		t.Errorf("%d reads for junk; want none", b.reads)
	}
	for range 40 {
		send(t, p, "POST", "/api/demo/cap")
		send(t, p, "GET", "/api/cap")
		send(t, p, "POST", "/api/v1/chat/completions")
		p.pass(100 * time.Millisecond)
	}
	if b.reads != 2 {
		t.Errorf("%d reads in four seconds; want 2", b.reads)
	}
}

func TestErrorsOfTheControlAreLogged(t *testing.T) {
	p, b := newWatched(t, says(usage))
	b.fail(fmt.Errorf("the item cannot be read: %w", errors.New("because")))
	send(t, p, "POST", "/api/demo/cap")
	if log := p.log.String(); !strings.Contains(log, "it is unknown whether the operator has stopped the calls") || !strings.Contains(log, "because") {
		t.Errorf("the log has no reason: %s", log)
	}
}
