package assemble_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	capsmemory "github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	claimsmemory "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// fleet is a deployment on one table, on the clock of a synctest bubble: slow stores, a
// slow upstream, an operator, and instances that are added as it goes.
type fleet struct {
	*control.Operator
	t        *testing.T
	cfg      *config.Config
	counts   caps.Store
	controls controlmemory.Store
	claims   *claimsmemory.Store

	storeTakes, readTakes, callTakes func() time.Duration

	mu         sync.Mutex
	unreadable error
	admitted   []time.Time // demo calls when they are answered, paid calls when they begin
	paid       int
}

const fleetFile = `
caps: {caller: {calls: 5, usd: 1}, global: {calls: 1000000, usd: 1000}}
demo: {calls: 5}
llm:
  provider: demo
  max_input_bytes: 8000
  models: [{name: demo-small, input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 100}]
`

func newFleet(t *testing.T) *fleet {
	t.Helper()
	none := func() time.Duration { return 0 }
	f := &fleet{t: t, counts: capsmemory.New(nil), claims: claimsmemory.New(), storeTakes: none, readTakes: none, callTakes: none}
	var err error
	if f.cfg, err = config.Load(strings.NewReader(fleetFile)); err != nil {
		t.Fatal(err)
	}
	f.Operator, err = control.NewOperator(control.OperatorConfig{Store: &f.controls, By: "ann", Budgets: f.cfg.Budgets()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// instance is a new one, with nothing in its memory.
func (f *fleet) instance() *api.Handler {
	f.t.Helper()
	lock := testLock(f.t, time.Now)
	h, err := assemble.Handler(assemble.Parts{
		Config: f.cfg, Store: slowStore{f.counts, f}, Control: fleetReader{f}, Claims: f.claims, Provider: fleetProvider{f},
		Lock: lock, Keyer: testKeyer(f.t), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

func (f *fleet) note() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.admitted = append(f.admitted, time.Now())
}

// between are the admissions from one moment to before another.
func (f *fleet) between(from, to time.Time) (n int, last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range f.admitted {
		if !at.Before(from) && at.Before(to) {
			n, last = n+1, at
		}
	}
	return n, last
}

// pause waits like a store would: not longer than its caller.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type slowStore struct {
	caps.Store
	f *fleet
}

func (s slowStore) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	out, err := s.Store.Reserve(ctx, c, limit)
	if slow := pause(ctx, s.f.storeTakes()); slow != nil {
		return caps.Outcome{}, errors.Join(caps.ErrUnknownOutcome, slow)
	}
	return out, err
}

type fleetReader struct{ f *fleet }

func (r fleetReader) Read(ctx context.Context) (control.State, int64, error) {
	r.f.mu.Lock()
	broken := r.f.unreadable
	r.f.mu.Unlock()
	s, version, err := r.f.controls.Read(ctx) // what is there when the read begins
	return s, version, errors.Join(pause(ctx, r.f.readTakes()), broken, err)
}

type fleetProvider struct{ f *fleet }

func (fleetProvider) Features() llm.Features { return llm.Features{MaxTemperature: 2} }

func (p fleetProvider) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	p.f.note()
	if err := pause(ctx, p.f.callTakes()); err != nil {
		return nil, err
	}
	p.f.mu.Lock()
	p.f.paid++
	p.f.mu.Unlock()
	return &llm.Response{Parts: []llm.Part{{Text: "hello"}}, Usage: &llm.Usage{Input: 4, Output: 6}}, nil
}

func ask(t *testing.T, h *api.Handler, from, method, path string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	e := events.APIGatewayV2HTTPRequest{RawPath: path, Headers: map[string]string{
		"x-origin-verify": originSecret, "cloudfront-viewer-address": from,
	}}
	e.RequestContext.HTTP.Method = method
	if method == "POST" {
		e.Body = question
	}
	res, err := h.Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// flows sends demo and paid calls to an instance until ctx ends: from ever new callers,
// and from one that has long used up what it has, so that the instance remembers it.
func (f *fleet) flows(ctx context.Context, group *sync.WaitGroup, h *api.Handler) (closed func(time.Time) map[string]int) {
	var mu sync.Mutex
	type seen struct {
		at   time.Time
		what string
	}
	var answers []seen
	for worker := range 6 {
		random := rand.New(rand.NewPCG(uint64(worker), 7))
		group.Go(func() {
			for ctx.Err() == nil {
				from, path := "198.51.100.10:1", "/api/demo/cap"
				if worker > 0 {
					from = fmt.Sprintf("10.%d.%d.%d:1", random.IntN(256), random.IntN(256), random.IntN(256))
				}
				if worker%2 == 1 {
					path = chat
				}
				res := ask(f.t, h, from, "POST", path)
				if path == "/api/demo/cap" && res.StatusCode == 200 {
					f.note()
				}
				var body struct{ Scope, Message string }
				if json.Unmarshal([]byte(res.Body), &body) != nil {
					f.t.Errorf("%d %s", res.StatusCode, res.Body)
				}
				mu.Lock()
				answers = append(answers, seen{time.Now(), fmt.Sprint(res.StatusCode, " ", body.Scope)})
				mu.Unlock()
				time.Sleep(time.Duration(20+random.IntN(80)) * time.Millisecond)
			}
		})
	}
	return func(since time.Time) map[string]int {
		mu.Lock()
		defer mu.Unlock()
		count := make(map[string]int)
		for _, a := range answers {
			if !a.at.Before(since) {
				count[a.what]++
			}
		}
		return count
	}
}

// TestStop is the promise: no call is admitted from five seconds after stop on, on
// instances that run and remember, on new ones, over midnight, whether the stores are
// fast or slow or the operator's item cannot be read any more, until resume.
func TestStop(t *testing.T) {
	between := func(least, most time.Duration) func() time.Duration {
		return func() time.Duration { return least + rand.N(most-least) }
	}
	for _, c := range []struct {
		name        string
		store, read func() time.Duration
		unreadable  bool
	}{
		{"healthy", between(4*time.Millisecond, 20*time.Millisecond), between(4*time.Millisecond, 20*time.Millisecond), false},
		{"slow", between(0, 1900*time.Millisecond), between(0, 900*time.Millisecond), false},
		{"slow reads that often fail", between(0, 1900*time.Millisecond), between(0, 1500*time.Millisecond), false},
		{"unreadable from the stop on", between(4*time.Millisecond, 20*time.Millisecond), between(4*time.Millisecond, 20*time.Millisecond), true},
		{"slow, and unreadable from the stop on", between(0, 1900*time.Millisecond), between(0, 900*time.Millisecond), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.storeTakes, f.readTakes = c.store, c.read
				f.callTakes = between(time.Second, 8*time.Second)
				midnight := caps.DayOf(time.Now()).End()
				time.Sleep(time.Until(midnight.Add(-35*time.Second + rand.N(2*time.Second))))

				ctx, end := context.WithCancel(t.Context())
				var group sync.WaitGroup
				instances := []func(time.Time) map[string]int{f.flows(ctx, &group, f.instance()), f.flows(ctx, &group, f.instance())}
				time.Sleep(15 * time.Second)
				began := time.Now()
				if n, _ := f.between(time.Time{}, began); n < 10 {
					t.Fatalf("%d calls before the stop: the test shows nothing", n)
				}
				if n := instances[0](time.Time{})["429 caller"]; n == 0 {
					t.Error("the instance remembers nothing")
				}

				f.mu.Lock()
				if c.unreadable {
					f.unreadable = errors.New("unreadable on purpose")
				}
				f.mu.Unlock()
				if _, err := f.Stop(t.Context(), "Pause."); err != nil {
					t.Fatal(err)
				}
				stopped := time.Now()
				time.Sleep(10 * time.Second)
				instances = append(instances, f.flows(ctx, &group, f.instance())) // a deployment
				time.Sleep(time.Until(midnight) + 20*time.Second)
				instances = append(instances, f.flows(ctx, &group, f.instance()))
				time.Sleep(5 * time.Second)
				quiet := time.Now()
				if n, last := f.between(stopped.Add(control.Promise), quiet); n > 0 {
					t.Errorf("%d calls were admitted five seconds or more after stop, the last after %s", n, last.Sub(stopped))
				}
				if n, _ := f.between(midnight, quiet); n > 0 {
					t.Errorf("%d calls were admitted on the new day", n)
				}
				for i, answers := range instances {
					got := answers(stopped.Add(15 * time.Second)) // running calls took up to 8 s
					stop, unknown := got["429 stopped"], got["503 "]
					switch {
					case c.unreadable && (unknown == 0 || unknown != sum(got)):
						t.Errorf("instance %d answered %v; want 503 only", i, got)
					case !c.unreadable && (stop == 0 || stop+unknown != sum(got)):
						t.Errorf("instance %d answered %v; want 429 stopped", i, got)
					case c.name == "healthy" && unknown != 0:
						t.Errorf("instance %d answered %v; want 429 stopped only", i, got)
					}
				}

				f.mu.Lock()
				f.unreadable = nil
				f.mu.Unlock()
				if _, err := f.Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
				resumed := time.Now()
				time.Sleep(control.Promise)
				if n, _ := f.between(resumed, time.Now()); n == 0 {
					t.Error("no call was admitted within five seconds of resume")
				}
				end()
				group.Wait()
				time.Sleep(10 * time.Second)
				f.settled(midnight)
			})
		})
	}
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// settled checks that every call that was made, also those that ran when the stop came,
// is booked with what it cost, 10 micro-dollars, and that nothing else is but what slow
// stores left unknown.
func (f *fleet) settled(midnight time.Time) {
	f.t.Helper()
	var all caps.Usage
	for _, day := range []caps.Day{caps.DayOf(midnight) - 1, caps.DayOf(midnight)} {
		u, err := f.counts.Usage(f.t.Context(), caps.ItemKey{Budget: "global", Day: day, Caller: caps.Everybody})
		if err != nil {
			f.t.Fatal(err)
		}
		all.USD, all.Held = all.USD+u.USD, all.Held+u.Held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := caps.MicroUSD(10 * f.paid); all.Settled() != want || all.Held != 0 {
		f.t.Errorf("%d calls were made, %s settled and %s held; want %s and nothing", f.paid, all.Settled(), all.Held, want)
	}
}

// A limit for today ends with the day, also for a call that came before midnight and
// was counted after it.
func TestLimitsOverMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		midnight := caps.DayOf(time.Now()).End()
		time.Sleep(time.Until(midnight.Add(-time.Minute)))
		h := f.instance()
		demo := func(status int, part string) {
			t.Helper()
			if res := ask(t, h, "198.51.100.10:1", "POST", "/api/demo/cap"); res.StatusCode != status || !strings.Contains(res.Body, part) {
				t.Errorf("%d %s; want %d with %s", res.StatusCode, res.Body, status, part)
			}
		}
		limit := func(today bool, c caps.Cap) {
			t.Helper()
			if _, err := f.Limit(t.Context(), "demo", today, c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(control.Promise)
		}
		for range 4 {
			demo(200, `"cap":5`)
		}
		demo(200, `"remaining":0`)
		demo(429, `"scope":"caller"`)
		limit(true, caps.Calls(7)) // raised: what is remembered as full lets go
		demo(200, `"count":6,"cap":7,"remaining":1`)
		limit(false, caps.Calls(3)) // until further notice; today's is before it
		demo(200, `"count":7,"cap":7,"remaining":0`)
		limit(true, caps.Calls(2)) // lowered below what is used
		demo(429, `"count":7,"cap":2,"remaining":0`)

		f.readTakes = func() time.Duration { return 200 * time.Millisecond }
		time.Sleep(time.Until(midnight.Add(-100 * time.Millisecond)))
		demo(200, `"count":1,"cap":3,"remaining":2`)
		if got := time.Since(midnight); got != 100*time.Millisecond {
			t.Errorf("it was answered %s after midnight", got)
		}
		f.readTakes = func() time.Duration { return 0 }
		if _, err := f.Unlimit(t.Context(), "demo", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(control.Promise)
		demo(200, `"count":2,"cap":5,"remaining":3`)
	})
}

// The caller sees the limits in force on what it pays for, and a ceiling of 0 closes.
func TestLimitsOfPaidCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		h := f.instance()
		if res := ask(t, h, "198.51.100.10:1", "POST", chat); res.StatusCode != 200 {
			t.Fatal(res.StatusCode, res.Body)
		}
		if _, err := f.Limit(t.Context(), "caller", false, caps.USD(5)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(control.Promise)
		const own = `"calls":{"used":1,"cap":5,"remaining":4},"spend":{"used":"0.000010","held":"0.000000","cap":"0.000005","remaining":"0.000000","currency":"USD"}`
		if res := ask(t, h, "198.51.100.10:1", "GET", "/api/cap"); res.StatusCode != 200 || !strings.Contains(res.Body, own) {
			t.Errorf("%d %s; want %s", res.StatusCode, res.Body, own)
		}
		res := ask(t, h, "198.51.100.10:1", "POST", chat)
		if res.StatusCode != 429 || !strings.Contains(res.Headers["RateLimit"], `"caller-usd";r=0`) || !strings.Contains(res.Headers["RateLimit-Policy"], `"caller-usd";qu="micro-usd";q=5;`) {
			t.Errorf("%d %v", res.StatusCode, res.Headers)
		}
		if _, err := f.Unlimit(t.Context(), "caller", false); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Limit(t.Context(), "global", true, caps.Calls(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(control.Promise)
		if res := ask(t, h, "203.0.113.9:1", "POST", chat); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"global"`) {
			t.Errorf("at a ceiling of 0: %d %s", res.StatusCode, res.Body)
		}
		if _, err := f.Limit(t.Context(), "global", true, caps.Calls(9)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(control.Promise)
		if res := ask(t, h, "203.0.113.9:1", "POST", chat); res.StatusCode != 200 {
			t.Errorf("at a ceiling that was raised: %d %s", res.StatusCode, res.Body)
		}
	})
}
