package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/memory"
)

func TestDecision(t *testing.T) {
	s := newSystem(t)
	rule := perEmail
	for i, want := range []ratelimit.Decision{
		{Allowed: true, Rule: rule, Remaining: 2, ResetAfter: 15 * time.Minute},
		{Allowed: true, Rule: rule, Remaining: 1, ResetAfter: 14 * time.Minute},
		{Allowed: true, Rule: rule, Remaining: 0, ResetAfter: 13 * time.Minute},
		{Rule: rule, ResetAfter: 12 * time.Minute, RetryAfter: 12 * time.Minute},
	} {
		if got := s.check(rule.For("a")); got != want {
			t.Errorf("attempt %d: %+v; want %+v", i, got, want)
		}
		s.clock.Advance(time.Minute)
	}
	if got := s.check(rule.For("b")); !got.Allowed {
		t.Errorf("another key: %+v", got)
	}
	other := rule
	other.Name = "other"
	if got := s.check(other.For("a")); !got.Allowed {
		t.Errorf("another rule: %+v", got)
	}
}

// Limiters in several processes on one store are one limit, to the millisecond.
func TestExactOverInstances(t *testing.T) {
	for _, limit := range []int{1, 4, 300} {
		rule := ratelimit.Rule{Name: "exact", Requests: limit, Window: time.Minute, WhenDown: ratelimit.Refuse}
		rapid.Check(t, func(r *rapid.T) {
			store, clock := &faultyStore{Store: memory.New()}, capstest.NewClock(start)
			var instances []*system
			for range 3 {
				instances = append(instances, newSystemOn(t, store, clock))
			}
			var admitted []time.Time
			attempt := func(r *rapid.T) {
				now := clock.Now()
				for len(admitted) > 0 && !admitted[0].After(now.Add(-rule.Window)) {
					admitted = admitted[1:]
				}
				d := rapid.SampledFrom(instances).Draw(r, "instance").check(rule.For("k"))
				if d.Allowed != (len(admitted) < limit) {
					r.Fatalf("%d of %d in the window: %+v", len(admitted), limit, d)
				}
				if !d.Allowed {
					if want := admitted[0].Add(rule.Window).Sub(now); d.RetryAfter != want {
						r.Fatalf("wait %v; want %v", d.RetryAfter, want)
					}
					return
				}
				admitted = append(admitted, now)
			}
			for range limit * 9 / 10 {
				attempt(r)
			}
			r.Repeat(map[string]func(*rapid.T){
				"attempt": attempt,
				"several": func(r *rapid.T) {
					for range max(2, limit/20) {
						attempt(r)
					}
				},
				"wait": func(r *rapid.T) {
					clock.Advance(time.Duration(rapid.IntRange(1, 40_000).Draw(r, "ms")) * time.Millisecond)
				},
				"hammer until the edge": func(r *rapid.T) {
					if len(admitted) > 0 && admitted[0].Add(rule.Window-time.Millisecond).After(clock.Now()) {
						clock.Set(admitted[0].Add(rule.Window - time.Millisecond))
						attempt(r)
						clock.Advance(time.Millisecond)
						attempt(r)
					}
				},
			})
		})
	}
}

// A clock that is set back locks nobody out for longer than it was set back, and admits
// nothing more by the time that really passes.
func TestClockSetBack(t *testing.T) {
	rule := ratelimit.Rule{Name: "exact", Requests: 2, Window: time.Minute, WhenDown: ratelimit.Refuse}
	for _, back := range []time.Duration{time.Millisecond, time.Minute, ratelimit.MaxAhead - time.Minute} {
		s := newSystem(t)
		s.check(rule.For("k"))
		s.check(rule.For("k"))
		s.clock.Advance(-back)
		if d := s.check(rule.For("k")); d.Allowed || d.RetryAfter != rule.Window+back {
			t.Errorf("set back by %v: %+v", back, d)
		}
		s.clock.Set(start.Add(rule.Window))
		if d := s.check(rule.For("k")); !d.Allowed {
			t.Errorf("set back by %v, later: %+v", back, d)
		}
	}
	// What a broken clock wrote is not believed, neither by the store nor by the process.
	s := newSystem(t)
	s.clock.Set(start.AddDate(1, 0, 0))
	s.check(rule.For("k"))
	s.check(rule.For("k"))
	s.check(rule.For("k"))
	s.clock.Set(start)
	if d := s.check(rule.For("k")); !d.Allowed {
		t.Errorf("after a year ahead: %+v", d)
	}
}

// A check that admits costs one store call. One that refuses costs none, except for one
// as soon as the last admission cannot be given back any more.
func TestStoreCalls(t *testing.T) {
	s := newSystem(t)
	expect := func(what string, takes int) {
		t.Helper()
		if got, gives := s.store.calls(); got != takes || gives != 0 {
			t.Errorf("%s: %d takes and %d give-backs; want %d and none", what, got, gives, takes)
		}
	}
	for range 3 {
		s.check(perEmail.For("a"))
		expect("admitted", 1)
	}
	for range 100 {
		s.clock.Advance(10 * time.Millisecond)
		if d := s.check(perEmail.For("a")); d.Allowed {
			t.Fatal(d)
		}
	}
	expect("hammering", 0)
	s.clock.Advance(2 * time.Second)
	for range 100 {
		s.clock.Advance(time.Second)
		if d := s.check(perEmail.For("a")); d.Allowed {
			t.Fatal(d)
		}
	}
	expect("hammering on", 1)
	s.clock.Set(start.Add(perEmail.Window))
	if d := s.check(perEmail.For("a")); !d.Allowed {
		t.Fatal(d)
	}
	expect("the window has passed", 1)
	if told, want := s.told(), "login-email Admitted, login-email Admitted, login-email Admitted, login-email RefusedByMemory"; !strings.HasPrefix(told, want) {
		t.Errorf("events %.200s", told)
	}

	other := newSystemOn(t, s.store, s.clock) // which knows nothing
	s.check(perEmail.For("a"))
	s.check(perEmail.For("a"))
	expect("admitted", 2)
	for range 10 {
		other.check(perEmail.For("a"))
	}
	expect("refused by the store, and then from memory", 1)
}

// A changed rule does not live by what was remembered under the old one.
func TestChangedRule(t *testing.T) {
	s := newSystem(t)
	rule := perEmail
	for range 4 {
		s.check(rule.For("a"))
	}
	rule.Requests = 4
	if d := s.check(rule.For("a")); !d.Allowed {
		t.Errorf("%+v; want the raised limit", d)
	}
}

// A burst admits exactly the limit, and those who wait learn from those who went.
func TestBurst(t *testing.T) {
	for _, limit := range []int{1, 300} {
		rule := ratelimit.Rule{Name: "burst", Requests: limit, Window: time.Minute, WhenDown: ratelimit.Refuse, Budget: 30 * time.Second}
		store, clock := &faultyStore{Store: memory.New()}, capstest.NewClock(start)
		instances := []*system{newSystemOn(t, store, clock), newSystemOn(t, store, clock)}
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				d, err := instances[i%2].Check(context.Background(), rule.For("k"))
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		if n := int(admitted.Load()); n != limit {
			t.Errorf("%d admitted; want %d", n, limit)
		}
		if takes, _ := store.calls(); takes > limit+2*max(4, limit/16) {
			t.Errorf("%d store calls for %d admissions", takes, limit)
		}
	}
}

// What is refused by one key counts against none.
func TestAllOrNone(t *testing.T) {
	s := newSystem(t)
	attempt := func(email string) ratelimit.Decision {
		return s.check(perEmail.For(email), perAddress.For("office"))
	}
	for _, email := range []string{"a", "a", "b", "b", "c"} { // the address is full now
		if d := attempt(email); !d.Allowed {
			t.Fatal(d)
		}
	}
	s.store.calls()
	s.told()
	other := newSystemOn(t, s.store, s.clock) // which does not know that yet
	d := other.check(perEmail.For("a"), perAddress.For("office"))
	if want := (ratelimit.Decision{Rule: perAddress, ResetAfter: 10 * time.Minute, RetryAfter: 10 * time.Minute}); d != want {
		t.Errorf("%+v; want %+v", d, want)
	}
	if takes, gives := s.store.calls(); takes != 2 || gives != 1 {
		t.Errorf("%d takes, %d give-backs; want 2 and 1", takes, gives)
	}
	if got := other.told(); got != "login-email GivenBack, login-address RefusedByStore" {
		t.Errorf("events %s", got)
	}
	if d := attempt("a"); d.Allowed || s.told() != "login-address RefusedByMemory" {
		t.Errorf("%+v", d)
	}
	if takes, gives := s.store.calls(); takes != 0 || gives != 0 {
		t.Errorf("%d takes, %d give-backs; want none", takes, gives)
	}
	// Of the e-mail's three, one is left, in both processes.
	for _, s := range []*system{other, s} {
		if d := s.check(perEmail.For("a")); d.Allowed != (s == other) {
			t.Errorf("%+v", d)
		}
	}
	// Both refuse: the longer wait is told.
	if d := s.check(perEmail.For("a"), perAddress.For("office")); d.Allowed || d.Rule != perEmail || d.RetryAfter != perEmail.Window {
		t.Errorf("%+v", d)
	}
}

// A rule that is First spares the others.
func TestFirst(t *testing.T) {
	s := newSystem(t)
	cheap := ratelimit.Rule{Name: "cheap", Requests: 1, Window: time.Minute, WhenDown: ratelimit.Refuse, First: true}
	if d := s.check(cheap.For("k"), perEmail.For("a"), perAddress.For("office")); !d.Allowed || d.Rule != cheap {
		t.Fatal(d)
	}
	if takes, _ := s.store.calls(); takes != 3 {
		t.Errorf("%d takes; want 3", takes)
	}
	s = newSystemOn(t, s.store, s.clock)
	if d := s.check(cheap.For("k"), perEmail.For("a"), perAddress.For("office")); d.Allowed || d.Rule != cheap {
		t.Fatal(d)
	}
	if takes, gives := s.store.calls(); takes != 1 || gives != 0 {
		t.Errorf("%d takes, %d give-backs; want one take", takes, gives)
	}
	// And what it admitted is given back if a later one refuses.
	for range 2 {
		s.check(perEmail.For("a"))
	}
	s = newSystemOn(t, s.store, s.clock)
	if d := s.check(cheap.For("other"), perEmail.For("a")); d.Allowed || d.Rule != perEmail {
		t.Fatal(d)
	}
	if d := s.check(cheap.For("other")); !d.Allowed {
		t.Errorf("%+v; want the cheap one given back", d)
	}
}

// A window that was full for a moment, by one who was then refused elsewhere, is not
// remembered as full for long.
func TestGivenBackElsewhere(t *testing.T) {
	s := newSystem(t)
	s.check(perEmail.For("a"))
	s.check(perEmail.For("a"))
	s.clock.Advance(time.Minute)
	blocked := make(chan struct{})
	s.store.take = func(_ context.Context, key string) error {
		if strings.HasPrefix(key, "login-address#") {
			<-blocked
		}
		return nil
	}
	full := perAddress
	full.Requests = 1
	if _, err := s.store.Store.Take(t.Context(), ratelimit.Take{Key: "login-address#x", Limit: 1, Window: full.Window, Now: s.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	done := make(chan ratelimit.Decision)
	go func() {
		d, _ := s.Check(context.Background(), perEmail.For("a"), full.For("x"))
		done <- d
	}()
	other := newSystemOn(t, &faultyStore{Store: s.store.Store}, s.clock)
	for {
		out, err := s.store.Store.Take(t.Context(), ratelimit.Take{Key: "login-email#a", Limit: 3, Window: perEmail.Window, Now: s.clock.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if out.Admission == "" {
			break // the attempt that is going to be refused has the last place
		}
		if _, err := s.store.Store.GiveBack(t.Context(), "login-email#a", out.Admission); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if d := other.check(perEmail.For("a")); d.Allowed {
		t.Fatal(d)
	}
	close(blocked)
	if d := <-done; d.Allowed {
		t.Fatal(d)
	}
	s.clock.Advance(2 * time.Second)
	if d := other.check(perEmail.For("a")); !d.Allowed {
		t.Errorf("%+v; want it admitted two seconds later", d)
	}
}

// The other key may take as long as the rule's budget to refuse.
func TestGivenBackLate(t *testing.T) {
	rule := ratelimit.Rule{Name: "patient", Requests: 1, Window: time.Hour, WhenDown: ratelimit.Refuse, Budget: 10 * time.Second}
	s := newSystem(t)
	out, err := s.store.Store.Take(t.Context(), ratelimit.Take{Key: "patient#a", Limit: 1, Window: time.Hour, Now: s.clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(5 * time.Second)
	if d := s.check(rule.For("a")); d.Allowed {
		t.Fatal(d)
	}
	if _, err := s.store.Store.GiveBack(t.Context(), "patient#a", out.Admission); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * time.Second)
	if d := s.check(rule.For("a")); !d.Allowed {
		t.Errorf("%+v; want it admitted two seconds later", d)
	}
}

// What cannot be checked is an error, is not allowed, and costs nothing. The text does
// not tell the key.
func TestErrors(t *testing.T) {
	s := newSystem(t)
	bad := perEmail
	bad.WhenDown = 0
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx      context.Context
		attempts []ratelimit.Attempt
		want     string
	}{
		"no key":     {t.Context(), nil, "a rate limit was checked without a key"},
		"empty":      {t.Context(), []ratelimit.Attempt{perEmail.For("")}, `rate limit "login-email": a key is 1 to 128 visible ASCII characters: hash what it stands for`},
		"an address": {t.Context(), []ratelimit.Attempt{perAddress.For("x"), perEmail.For("münchen@example.com")}, `rate limit "login-email": a key is 1 to 128 visible ASCII characters: hash what it stands for`},
		"long":       {t.Context(), []ratelimit.Attempt{perEmail.For(strings.Repeat("k", 129))}, `rate limit "login-email": a key is 1 to 128 visible ASCII characters: hash what it stands for`},
		"bad rule":   {t.Context(), []ratelimit.Attempt{bad.For("x")}, `rate limit "login-email": WhenDown has to be Allow or Refuse: say what happens when the store cannot be asked`},
		"gone":       {done, []ratelimit.Attempt{perEmail.For("x")}, "context canceled"},
	} {
		d, err := s.Check(c.ctx, c.attempts...)
		if err == nil || err.Error() != c.want || d != (ratelimit.Decision{}) {
			t.Errorf("%s: %+v, %v; want %s", name, d, err, c.want)
		}
	}
	if takes, gives := s.store.calls(); takes != 0 || gives != 0 {
		t.Errorf("%d takes, %d give-backs", takes, gives)
	}
	// The client goes away in between: nothing stays counted, and the store is not to
	// blame.
	ctx, cancel := context.WithCancel(t.Context())
	first := perEmail
	first.First = true
	s.store.take = forRule(perAddress, func(ctx context.Context, _ string) error { cancel(); return hangs(ctx, "") })
	if d, err := s.Check(ctx, first.For("x"), perAddress.For("y")); !errors.Is(err, context.Canceled) || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	if _, gives := s.store.calls(); gives != 1 || s.log.Len() > 0 {
		t.Errorf("%d give-backs; want one. The log: %s", gives, &s.log)
	}
	if _, err := ratelimit.New(ratelimit.Config{}); err == nil || err.Error() != "ratelimit.Config.Store is missing" {
		t.Error(err)
	}
}

func TestRules(t *testing.T) {
	good := perEmail
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*ratelimit.Rule){
		`rate limit "": a name has lower-case letters, digits and hyphens, a letter first, 40 at most`:        func(r *ratelimit.Rule) { r.Name = "" },
		`rate limit "a#b": a name has lower-case letters, digits and hyphens, a letter first, 40 at most`:     func(r *ratelimit.Rule) { r.Name = "a#b" },
		`rate limit "2026-11": a name has lower-case letters, digits and hyphens, a letter first, 40 at most`: func(r *ratelimit.Rule) { r.Name = "2026-11" },
		`rate limit "login-email": 0 requests are not between 1 and 1000: take a shorter window for more`:     func(r *ratelimit.Rule) { r.Requests = 0 },
		`rate limit "login-email": 1001 requests are not between 1 and 1000: take a shorter window for more`:  func(r *ratelimit.Rule) { r.Requests = 1001 },
		`rate limit "login-email": a window of 999ms is not between 1s and 24h0m0s`:                           func(r *ratelimit.Rule) { r.Window = 999 * time.Millisecond },
		`rate limit "login-email": a window of 24h0m1s is not between 1s and 24h0m0s`:                         func(r *ratelimit.Rule) { r.Window = 24*time.Hour + time.Second },
		`rate limit "login-email": a window of 1.0005s is not a whole number of milliseconds`:                 func(r *ratelimit.Rule) { r.Window = time.Second + 500*time.Microsecond },
		`rate limit "login-email": a budget of 31s is not between 0 and 30s`:                                  func(r *ratelimit.Rule) { r.Budget = 31 * time.Second },
	} {
		r := good
		change(&r)
		if err := r.Check(); fmt.Sprint(err) != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
