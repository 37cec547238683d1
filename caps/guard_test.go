package caps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

// bench is a guard on a store that is watched, with a clock that stands still.
type bench struct {
	*caps.Guard
	t     *testing.T
	store *watched
	clock *clock
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// watched writes down the store calls as "<call> <budget>". before may answer one in
// the store's place; after may replace the error of one that was made.
type watched struct {
	caps.Store
	mu            sync.Mutex
	calls         []string
	charges       []caps.Charge
	before, after func(call string) error
	ctxs          []error // of each call, ctx.Err() on arrival
}

func (w *watched) note(ctx context.Context, call string, c caps.Charge) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call+" "+c.Key.Budget)
	w.charges = append(w.charges, c)
	w.ctxs = append(w.ctxs, ctx.Err())
	if w.before != nil {
		return w.before(call + " " + c.Key.Budget)
	}
	return nil
}

func (w *watched) lost(call string, c caps.Charge) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after != nil {
		return w.after(call + " " + c.Key.Budget)
	}
	return nil
}

func (w *watched) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	if err := w.note(ctx, "reserve", c); err != nil {
		return caps.Outcome{}, err
	}
	out, err := w.Store.Reserve(ctx, c, limit)
	if lost := w.lost("reserve", c); lost != nil {
		return caps.Outcome{}, lost
	}
	return out, err
}

func (w *watched) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	if err := w.note(ctx, "settle", c); err != nil {
		return false, err
	}
	ok, err := w.Store.Settle(ctx, c, actual)
	if lost := w.lost("settle", c); lost != nil {
		return false, lost
	}
	return ok, err
}

func (w *watched) Release(ctx context.Context, c caps.Charge) (bool, error) {
	if err := w.note(ctx, "release", c); err != nil {
		return false, err
	}
	ok, err := w.Store.Release(ctx, c)
	if lost := w.lost("release", c); lost != nil {
		return false, lost
	}
	return ok, err
}

func (w *watched) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	if err := w.note(ctx, "usage", caps.Charge{Key: key}); err != nil {
		return caps.Usage{}, err
	}
	return w.Store.Usage(ctx, key)
}

// taken returns the store calls since the last time.
func (w *watched) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *watched) faults(before, after func(call string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before, w.after = before, after
}

// on fails the call that is named and no other.
func on(name string, err error) func(string) error {
	return func(call string) error {
		if call == name {
			return err
		}
		return nil
	}
}

func newBench(t *testing.T, caller, global caps.Cap, change ...func(*caps.Config)) *bench {
	t.Helper()
	c := &clock{now: noon()}
	w := &watched{Store: memory.New(c.Now)}
	config := caps.Config{
		Store:  w,
		Keyer:  mustKeyer(t, secret),
		Caller: caps.Budget{Name: "caller", Cap: caller},
		Now:    c.Now,
	}
	if global != (caps.Cap{}) {
		config.Global = caps.Budget{Name: "global", Cap: global}
	}
	for _, f := range change {
		f(&config)
	}
	guard, err := caps.NewGuard(config)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{guard, t, w, c}
}

func (b *bench) reserve(caller caps.Caller, worst caps.MicroUSD) *caps.Reservation {
	b.t.Helper()
	r, err := b.Reserve(b.t.Context(), caller, worst)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) wantCalls(want ...string) {
	b.t.Helper()
	if got := b.store.taken(); !slices.Equal(got, want) {
		b.t.Errorf("store calls: %v; want %v", got, want)
	}
}

// usage reads the store past the guard.
func (b *bench) usage(budget string, day caps.Day, caller caps.Caller) caps.Usage {
	b.t.Helper()
	key := caps.ItemKey{Budget: budget, Day: day, Caller: caps.Everybody}
	if budget != "global" {
		key.Caller = mustKeyer(b.t, secret).Key(budget, day, caller)
	}
	u, err := b.store.Store.Usage(b.t.Context(), key)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

func (b *bench) wantUsage(caller caps.Caller, own, all caps.Usage) {
	b.t.Helper()
	today := caps.DayOf(b.clock.Now())
	if got := b.usage("caller", today, caller); got != own {
		b.t.Errorf("the caller's budget is %+v; want %+v", got, own)
	}
	if got := b.usage("global", today, caller); got != all {
		b.t.Errorf("the ceiling is %+v; want %+v", got, all)
	}
}

const viewer = "198.51.100.10:46532"

var errStore = errors.New("the store is broken")

func TestGuardReserveAndSettle(t *testing.T) {
	b, caller := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(1000)), mustCaller(t, viewer)
	r := b.reserve(caller, 30)
	b.wantCalls("reserve caller", "reserve global")
	want := caps.Decision{
		Allowed: true, Scope: caps.ScopeCaller, Cap: caps.Calls(10).AndUSD(100),
		Used: caps.Amount{Calls: 1}, Held: 30, Remaining: caps.Amount{Calls: 9, USD: 70},
		ResetAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	}
	if r.Decision != want || r.Worst() != 30 {
		t.Errorf("decision %+v, worst %d; want %+v, 30", r.Decision, r.Worst(), want)
	}
	b.wantUsage(caller, caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}, caps.Usage{Calls: 1, USD: 30, Held: 30})

	if over, err := r.Settle(t.Context(), 12); over != 0 || err != nil {
		t.Errorf("Settle = %d, %v; want no overrun", over, err)
	}
	b.wantCalls("settle caller", "settle global")
	settled := caps.Usage{Calls: 1, USD: 12}
	b.wantUsage(caller, settled, settled)

	if _, err := r.Settle(t.Context(), 12); err != nil {
		t.Errorf("settling again: %v; want nothing to happen", err)
	}
	if err := r.Release(t.Context()); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("releasing what was settled: %v; want ErrNotHeld", err)
	}
	b.wantCalls()
	b.wantUsage(caller, settled, settled)
}

func TestGuardRelease(t *testing.T) {
	b, caller := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(1000)), mustCaller(t, viewer)
	r := b.reserve(caller, 30)
	if err := r.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantCalls("reserve caller", "reserve global", "release caller", "release global")
	b.wantUsage(caller, caps.Usage{}, caps.Usage{})
	if err := r.Release(t.Context()); err != nil {
		t.Errorf("releasing again: %v; want nothing to happen", err)
	}
	if _, err := r.Settle(t.Context(), 5); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("settling what was released: %v; want ErrNotHeld", err)
	}
	b.wantCalls()
	b.wantUsage(caller, caps.Usage{}, caps.Usage{})
}

func TestGuardOverrunIsBookedInFull(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
	over, err := b.reserve(caller, 30).Settle(t.Context(), 130)
	if over != 100 || err != nil {
		t.Errorf("Settle = %d, %v; want an overrun of 100", over, err)
	}
	booked := caps.Usage{Calls: 1, USD: 130}
	b.wantUsage(caller, booked, booked)
	if r := b.reserve(caller, 1); r.Allowed || r.Remaining.USD != 0 || r.Used.USD != 130 {
		t.Errorf("after it: %+v; want a refusal with nothing left, not less", r.Decision)
	}
}

func TestGuardUnusableCostKeepsTheHold(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
	r := b.reserve(caller, 30)
	b.store.taken()
	for _, cost := range []caps.MicroUSD{-1, caps.MaxMicroUSD + 1} {
		if _, err := r.Settle(t.Context(), cost); !errors.Is(err, caps.ErrAmount) {
			t.Errorf("Settle(%d) = %v; want ErrAmount", cost, err)
		}
	}
	b.wantCalls()
	b.wantUsage(caller, caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}, caps.Usage{Calls: 1, USD: 30, Held: 30})
	if _, err := r.Settle(t.Context(), 5); err != nil {
		t.Errorf("the hold cannot be settled afterwards: %v", err)
	}
}

func TestGuardRefusedOnTheCaller(t *testing.T) {
	b, caller := newBench(t, caps.Calls(1).AndUSD(100), caps.USD(1000)), mustCaller(t, viewer)
	if _, err := b.reserve(caller, 30).Settle(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	b.store.taken()
	b.clock.set(time.Date(2026, 11, 30, 22, 59, 59, 500_000_000, time.UTC))

	r := b.reserve(caller, 30)
	b.wantCalls("reserve caller") // and not the ceiling
	want := caps.Decision{
		Scope: caps.ScopeCaller, Cap: caps.Calls(1).AndUSD(100),
		Used: caps.Amount{Calls: 1, USD: 30}, Remaining: caps.Amount{USD: 70},
		ResetAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), RetryAfter: 3601 * time.Second,
	}
	if r.Decision != want {
		t.Errorf("%+v; want %+v", r.Decision, want)
	}
	left := caps.Usage{Calls: 1, USD: 30}
	b.wantUsage(caller, left, left)
	if _, err := r.Settle(t.Context(), 5); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("settling a refusal: %v; want ErrNotHeld", err)
	}
	if err := r.Release(t.Context()); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("releasing a refusal: %v; want ErrNotHeld", err)
	}

	// A thousand more do not reach the store at all.
	for range 1000 {
		if r := b.reserve(caller, 30); r.Decision != want {
			t.Fatalf("%+v; want %+v", r.Decision, want)
		}
	}
	b.wantCalls()
}

func TestGuardRefusedOnTheCeiling(t *testing.T) {
	b, caller := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(50)), mustCaller(t, viewer)
	if _, err := b.reserve(mustCaller(t, "203.0.113.9:1"), 50).Settle(t.Context(), 40); err != nil {
		t.Fatal(err)
	}
	b.store.taken()

	r := b.reserve(caller, 11)
	b.wantCalls("reserve caller", "reserve global", "release caller")
	want := caps.Decision{
		Scope: caps.ScopeGlobal, Cap: caps.USD(50),
		Used: caps.Amount{Calls: 1, USD: 40}, Remaining: caps.Amount{USD: 10},
		ResetAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), RetryAfter: 12 * time.Hour,
	}
	if r.Decision != want {
		t.Errorf("%+v; want %+v", r.Decision, want)
	}
	b.wantUsage(caller, caps.Usage{}, caps.Usage{Calls: 1, USD: 40})

	// Remembered for every caller, so a full ceiling costs nobody a write.
	for i := range 100 {
		if r := b.reserve(mustCaller(t, fmt.Sprintf("192.0.2.%d:1", i)), 11); r.Allowed || r.Scope != caps.ScopeGlobal {
			t.Fatalf("%+v; want a refusal on the ceiling", r.Decision)
		}
	}
	b.wantCalls()
	if r := b.reserve(caller, 10); !r.Allowed {
		t.Errorf("what still fits is refused: %+v", r.Decision)
	}
}

// A hold that is open may come back, so the refusal it causes is not remembered.
func TestGuardForgetsWhatAHoldFills(t *testing.T) {
	b, caller := newBench(t, caps.Calls(1), caps.USD(1000)), mustCaller(t, viewer)
	r := b.reserve(caller, 30)
	if b.reserve(caller, 30).Allowed {
		t.Fatal("two calls at cap 1")
	}
	if err := r.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !b.reserve(caller, 30).Allowed {
		t.Error("refused although the hold was released")
	}
}

// inForce is a hook whose answers a test changes, by the budget's name and the day.
type inForce map[string]caps.Cap

func (f inForce) cap(b caps.Budget, day caps.Day) caps.Cap {
	if c, ok := f[b.Name+" "+day.String()]; ok {
		return c
	}
	return b.Cap
}

func TestGuardCapInForce(t *testing.T) {
	set := inForce{}
	b, caller := newBench(t, caps.Calls(1), caps.Calls(100), func(c *caps.Config) { c.InForce = set.cap }), mustCaller(t, viewer)
	if _, err := b.reserve(caller, 1).Settle(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if b.reserve(caller, 1).Allowed {
		t.Fatal("two calls at cap 1")
	}
	b.store.taken()

	set["caller 2026-11-30"] = caps.Calls(2)
	if d, err := b.Guard.Usage(t.Context(), caller); err != nil || !d.Allowed || d.Cap != caps.Calls(2) || d.Remaining.Calls != 1 {
		t.Errorf("raised: %+v, %v; want 1 of 2 left", d, err)
	}
	r := b.reserve(caller, 1)
	if !r.Allowed || r.Cap != caps.Calls(2) {
		t.Errorf("refused although the cap was raised: %+v", r.Decision)
	}
	if _, err := r.Settle(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	set["caller 2026-11-30"] = caps.Calls(1)
	if r := b.reserve(caller, 1); r.Allowed || r.Cap != caps.Calls(1) || r.Remaining != (caps.Amount{}) || r.Used.Calls != 2 {
		t.Errorf("lowered below what is used: %+v; want a refusal with 0 left", r.Decision)
	}

	set["caller 2026-11-30"], set["global 2026-11-30"] = caps.Calls(9), caps.Calls(0)
	if r := b.reserve(caller, 1); r.Allowed || r.Scope != caps.ScopeGlobal || r.Cap != caps.Calls(0) {
		t.Errorf("a ceiling of 0: %+v; want a refusal on it", r.Decision)
	}
	delete(set, "global 2026-11-30")
	if r := b.reserve(caller, 1); !r.Allowed {
		t.Errorf("refused although the ceiling is back: %+v", r.Decision)
	}

	b.store.taken()
	for unusable, want := range map[caps.Cap]string{
		{}:             "the cap in force for budget caller: the cap limits nothing: set calls, usd or both",
		caps.Calls(-1): "the cap in force for budget caller: calls: -1 is not between 0 and 9007199254740991",
	} {
		set["caller 2026-11-30"] = unusable
		if _, err := b.Reserve(t.Context(), caller, 1); text(err) != want {
			t.Errorf("Reserve: %v; want %s", err, want)
		}
		if _, err := b.Guard.Usage(t.Context(), caller); text(err) != want {
			t.Errorf("Usage: %v; want %s", err, want)
		}
	}
	b.wantCalls()
}

// What counts is the day of the reserve, so a cap for one day ends with it to the
// nanosecond.
func TestGuardCapInForceForOneDay(t *testing.T) {
	set := inForce{"caller 2026-11-30": caps.Calls(3), "global 2026-12-01": caps.Calls(0)}
	b, caller := newBench(t, caps.Calls(1), caps.Calls(100), func(c *caps.Config) { c.InForce = set.cap }), mustCaller(t, viewer)
	b.clock.set(time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC))
	if r := b.reserve(caller, 1); !r.Allowed || r.Cap != caps.Calls(3) {
		t.Errorf("a moment before midnight: %+v; want the cap of the day", r.Decision)
	}
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	if r := b.reserve(caller, 1); r.Allowed || r.Scope != caps.ScopeGlobal {
		t.Errorf("at midnight: %+v; want a refusal on the ceiling of the new day", r.Decision)
	}
	if d, err := b.Guard.Usage(t.Context(), caller); err != nil || d.Cap != caps.Calls(1) {
		t.Errorf("at midnight: %+v, %v; want the budget's own cap", d, err)
	}
}

// A cap in dollars that only the hook brings asks for a price all the same.
func TestGuardCapInForceNeedsAPrice(t *testing.T) {
	set := inForce{"caller 2026-11-30": caps.Calls(1).AndUSD(100)}
	b, caller := newBench(t, caps.Calls(1), caps.Cap{}, func(c *caps.Config) { c.InForce = set.cap }), mustCaller(t, viewer)
	if _, err := b.Reserve(t.Context(), caller, 0); !errors.Is(err, caps.ErrAmount) {
		t.Errorf("%v; want ErrAmount", err)
	}
	b.wantCalls()
}

// The memory of another process lets go by itself.
func TestGuardSeesARaisedBudgetWithinFiveSeconds(t *testing.T) {
	b, caller := newBench(t, caps.Calls(1), caps.Cap{}), mustCaller(t, viewer)
	other, err := caps.NewGuard(caps.Config{
		Store: b.store, Keyer: mustKeyer(t, secret), Now: b.clock.Now,
		Caller: caps.Budget{Name: "caller", Cap: caps.Calls(1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := other.Charge(t.Context(), caller, 0)
	if err != nil {
		t.Fatal(err)
	}
	if b.reserve(caller, 1).Allowed {
		t.Fatal("two calls at cap 1")
	}
	if err := r.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.clock.set(noon().Add(5*time.Second - 1))
	if b.reserve(caller, 1).Allowed {
		t.Error("asked the store again too early: a refusal is remembered for five seconds")
	}
	b.clock.set(noon().Add(5 * time.Second))
	if !b.reserve(caller, 1).Allowed {
		t.Error("refused from memory after five seconds")
	}
}

func TestGuardSettlesOnTheDayOfTheReserve(t *testing.T) {
	for _, finish := range []string{"settle", "release"} {
		b, caller := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(1000)), mustCaller(t, viewer)
		b.clock.set(time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC))
		yesterday := caps.DayOf(b.clock.Now())
		r := b.reserve(caller, 30)

		b.clock.set(time.Date(2026, 12, 1, 0, 0, 5, 0, time.UTC))
		today := b.reserve(caller, 7)
		want := caps.Usage{Calls: 1, USD: 12}
		switch finish {
		case "settle":
			if _, err := r.Settle(t.Context(), 12); err != nil {
				t.Fatal(err)
			}
		case "release":
			if err := r.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			want = caps.Usage{}
		}
		if got := b.usage("caller", yesterday, caller); got != want {
			t.Errorf("%s: yesterday's budget is %+v; want %+v", finish, got, want)
		}
		if got := b.usage("global", yesterday, caller); got != want {
			t.Errorf("%s: yesterday's ceiling is %+v; want %+v", finish, got, want)
		}
		b.wantUsage(caller, caps.Usage{Calls: 1, USD: 7, Held: 7, Open: 1}, caps.Usage{Calls: 1, USD: 7, Held: 7})
		if want := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC); today.ResetAt != want {
			t.Errorf("%s: today's call resets at %s; want %s", finish, today.ResetAt, want)
		}
	}
}

func TestGuardNewDayIsEmpty(t *testing.T) {
	b, caller := newBench(t, caps.Calls(1), caps.Calls(1)), mustCaller(t, viewer)
	b.clock.set(time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC))
	if _, err := b.Charge(t.Context(), caller, 0); err != nil {
		t.Fatal(err)
	}
	if r := b.reserve(caller, 1); r.Allowed || r.RetryAfter != time.Second {
		t.Fatalf("%+v; want a refusal for one second", r.Decision)
	}
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	if !b.reserve(caller, 1).Allowed {
		t.Error("refused on a new day")
	}
}

// Whole seconds, rounded up, so that whoever waits as long as told is not too early.
func TestGuardRetryAfter(t *testing.T) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]time.Duration{
		1:                            time.Second,
		time.Second - 1:              time.Second,
		time.Second:                  time.Second,
		time.Second + 1:              2 * time.Second,
		2 * time.Second:              2 * time.Second,
		time.Hour + time.Millisecond: time.Hour + time.Second,
		24 * time.Hour:               24 * time.Hour,
	} {
		b := newBench(t, caps.Calls(0), caps.Cap{})
		b.clock.set(midnight.Add(-before))
		if r := b.reserve(mustCaller(t, viewer), 1); r.RetryAfter != want || r.ResetAt != midnight {
			t.Errorf("%s before midnight: retry after %s, reset at %s; want %s, %s", before, r.RetryAfter, r.ResetAt, want, midnight)
		}
	}
}

// Whatever fails in a reserve, the call is not admitted, and what may have landed
// stays counted.
func TestGuardStoreFailsInReserve(t *testing.T) {
	unknown := fmt.Errorf("%w: the reply was lost", caps.ErrUnknownOutcome)
	held := caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}
	for _, c := range []struct {
		name          string
		before, after func(string) error
		calls         []string
		own, all      caps.Usage
		want          error
	}{
		{"the caller's budget", on("reserve caller", errStore), nil,
			[]string{"reserve caller"}, caps.Usage{}, caps.Usage{}, errStore},
		{"the reply for the caller's budget is lost", nil, on("reserve caller", unknown),
			[]string{"reserve caller"}, held, caps.Usage{}, caps.ErrUnknownOutcome},
		{"the ceiling", on("reserve global", errStore), nil,
			[]string{"reserve caller", "reserve global", "release caller"}, caps.Usage{}, caps.Usage{}, errStore},
		{"the reply for the ceiling is lost", nil, on("reserve global", unknown),
			[]string{"reserve caller", "reserve global", "release caller"}, caps.Usage{}, caps.Usage{Calls: 1, USD: 30, Held: 30}, caps.ErrUnknownOutcome},
		{"the ceiling, and giving back to the caller", func(call string) error {
			if call == "reserve caller" {
				return nil
			}
			return errStore
		}, nil, []string{"reserve caller", "reserve global", "release caller"}, held, caps.Usage{}, errStore},
	} {
		b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
		b.store.faults(c.before, c.after)
		r, err := b.Reserve(t.Context(), caller, 30)
		if r != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want no reservation and %v", c.name, r, err, c.want)
		}
		if got := b.store.taken(); !slices.Equal(got, c.calls) {
			t.Errorf("%s: store calls %v; want %v", c.name, got, c.calls)
		}
		b.store.faults(nil, nil)
		b.wantUsage(caller, c.own, c.all)
	}
}

// The ceiling is full and the caller cannot be given its hold back: that is a broken
// store, not a refusal.
func TestGuardRestoringFails(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(20)), mustCaller(t, viewer)
	b.store.faults(on("release caller", errStore), nil)
	if r, err := b.Reserve(t.Context(), caller, 30); r != nil || !errors.Is(err, errStore) {
		t.Errorf("%+v, %v; want the store's error", r, err)
	}
	b.wantUsage(caller, caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}, caps.Usage{})
}

// Giving back to the caller does not depend on the request being alive.
func TestGuardRestoresAfterTheRequestIsGone(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
	ctx, cancel := context.WithCancel(t.Context())
	b.store.faults(func(call string) error {
		if call == "reserve global" {
			cancel()
			return ctx.Err()
		}
		return nil
	}, nil)
	if r, err := b.Reserve(ctx, caller, 30); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v; want the context's error", r, err)
	}
	b.wantUsage(caller, caps.Usage{}, caps.Usage{})
}

func TestGuardFinishesAfterTheRequestIsGone(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
	settled, released := b.reserve(caller, 30), b.reserve(caller, 30)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := settled.Settle(ctx, 12); err != nil {
		t.Error(err)
	}
	if err := released.Release(ctx); err != nil {
		t.Error(err)
	}
	if i := slices.IndexFunc(b.store.ctxs, func(err error) bool { return err != nil }); i >= 0 {
		t.Errorf("%s came with a context that is gone", b.store.calls[i])
	}
	left := caps.Usage{Calls: 1, USD: 12}
	b.wantUsage(caller, left, left)
}

// Each way in which finishing can fail, then tried again without faults: applied once
// in each budget, except where only the ceiling's own reply was lost.
func TestGuardFinishIsTriedAgain(t *testing.T) {
	unknown := fmt.Errorf("%w: the reply was lost", caps.ErrUnknownOutcome)
	for _, c := range []struct {
		name          string
		before, after func(string) error
	}{
		{"caller: failed", on("settle caller", errStore), nil},
		{"caller: reply lost", nil, on("settle caller", unknown)},
		{"ceiling: failed", on("settle global", errStore), nil},
		{"ceiling: reply lost", nil, on("settle global", unknown)},
	} {
		b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
		r := b.reserve(caller, 30)
		b.store.faults(c.before, c.after)
		if _, err := r.Settle(t.Context(), 12); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if err := r.Release(t.Context()); !errors.Is(err, caps.ErrNotHeld) {
			t.Errorf("%s: released although the settle may have landed: %v", c.name, err)
		}
		b.store.faults(nil, nil)
		for range 3 {
			if _, err := r.Settle(t.Context(), 12); err != nil {
				t.Errorf("%s: again: %v", c.name, err)
			}
		}
		want := caps.Usage{Calls: 1, USD: 12}
		b.wantUsage(caller, want, want)
	}
}

// A hold that somebody else has removed is not corrected in the ceiling either.
func TestGuardHoldIsGone(t *testing.T) {
	b, caller := newBench(t, caps.USD(100), caps.USD(1000)), mustCaller(t, viewer)
	r := b.reserve(caller, 30)
	if ok, err := b.store.Store.Release(t.Context(), b.store.charges[0]); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b.store.taken()
	if _, err := r.Settle(t.Context(), 12); err != nil {
		t.Error(err)
	}
	b.wantCalls("settle caller")
	b.wantUsage(caller, caps.Usage{}, caps.Usage{Calls: 1, USD: 30, Held: 30})
}

func TestGuardCharge(t *testing.T) {
	b, caller := newBench(t, caps.Calls(2), caps.Cap{}), mustCaller(t, viewer)
	r, err := b.Charge(t.Context(), caller, 0)
	if err != nil || !r.Allowed || r.Remaining.Calls != 1 || r.Held != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	b.wantCalls("reserve caller")
	if _, err := r.Settle(t.Context(), 0); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("settling a final charge: %v; want ErrNotHeld", err)
	}
	b.wantCalls()
	if err := r.Release(t.Context()); err != nil {
		t.Error(err)
	}
	b.wantCalls("release caller")
	if got := b.usage("caller", caps.DayOf(noon()), caller); got != (caps.Usage{}) {
		t.Errorf("after the release: %+v", got)
	}

	priced := newBench(t, caps.USD(100), caps.USD(1000))
	if r, err := priced.Charge(t.Context(), caller, 40); err != nil || !r.Allowed || r.Used != (caps.Amount{Calls: 1, USD: 40}) || r.Held != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	booked := caps.Usage{Calls: 1, USD: 40}
	priced.wantUsage(caller, booked, booked)
}

func TestGuardRefusesWhatCannotBeCharged(t *testing.T) {
	caller := mustCaller(t, viewer)
	for _, c := range []struct {
		name           string
		caller, global caps.Cap
		worst          caps.MicroUSD
		final          bool
		fails          bool
	}{
		{"no price, the caller's cap is in dollars", caps.USD(100), caps.Calls(10), 0, false, true},
		{"no price, the ceiling is in dollars", caps.Calls(10), caps.USD(100), 0, false, true},
		{"no price, only calls are capped", caps.Calls(10), caps.Calls(10), 0, false, false},
		{"a call known to be free", caps.USD(100), caps.USD(100), 0, true, false},
		{"negative", caps.Calls(10), caps.Calls(10), -1, false, true},
		{"negative and final", caps.Calls(10), caps.Calls(10), -1, true, true},
		{"too large", caps.Calls(10), caps.Calls(10), caps.MaxMicroUSD + 1, false, true},
	} {
		b := newBench(t, c.caller, c.global)
		reserve := b.Reserve
		if c.final {
			reserve = b.Charge
		}
		r, err := reserve(t.Context(), caller, c.worst)
		if c.fails != errors.Is(err, caps.ErrAmount) || c.fails != (r == nil) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if c.fails {
			b.wantCalls()
		}
	}
	b := newBench(t, caps.Calls(1), caps.Calls(1))
	if _, err := b.Reserve(t.Context(), caps.Caller{}, 1); !errors.Is(err, caps.ErrNoViewerAddress) {
		t.Errorf("nobody reserves: %v", err)
	}
	if _, err := b.Usage(t.Context(), caps.Caller{}); !errors.Is(err, caps.ErrNoViewerAddress) {
		t.Errorf("nobody has a usage: %v", err)
	}
	b.wantCalls()
}

func TestGuardCapZero(t *testing.T) {
	caller := mustCaller(t, viewer)
	for _, c := range []struct {
		caller, global caps.Cap
		scope          caps.Scope
	}{
		{caps.Calls(0), caps.Calls(5), caps.ScopeCaller},
		{caps.USD(0), caps.Calls(5), caps.ScopeCaller},
		{caps.Calls(5), caps.Calls(0), caps.ScopeGlobal},
		{caps.Calls(5), caps.USD(0), caps.ScopeGlobal},
		{caps.USD(29), caps.Calls(5), caps.ScopeCaller},
		{caps.Calls(5), caps.USD(29), caps.ScopeGlobal},
	} {
		b := newBench(t, c.caller, c.global)
		for range 3 {
			if r := b.reserve(caller, 30); r.Allowed || r.Scope != c.scope {
				t.Errorf("%+v, %+v: %+v; want a refusal on the %s", c.caller, c.global, r.Decision, c.scope)
			}
		}
		b.wantUsage(caller, caps.Usage{}, caps.Usage{})
	}
}

func TestGuardUsage(t *testing.T) {
	b, caller := newBench(t, caps.Calls(3).AndUSD(100), caps.USD(1000)), mustCaller(t, viewer)
	reset := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	want := caps.Decision{Allowed: true, Scope: caps.ScopeCaller, Cap: caps.Calls(3).AndUSD(100), Remaining: caps.Amount{Calls: 3, USD: 100}, ResetAt: reset}
	check := func(name string) {
		t.Helper()
		b.store.taken()
		if got, err := b.Usage(t.Context(), caller); got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
		b.wantCalls("usage caller")
	}
	check("nothing used")
	r := b.reserve(caller, 60)
	want.Used.Calls, want.Held, want.Remaining = 1, 60, caps.Amount{Calls: 2, USD: 40}
	check("held")
	if _, err := r.Settle(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	want.Allowed, want.Used.USD, want.Held, want.Remaining, want.RetryAfter = false, 100, 0, caps.Amount{Calls: 2}, 12*time.Hour
	check("dollars used up")

	b.store.faults(on("usage caller", errStore), nil)
	if _, err := b.Usage(t.Context(), caller); !errors.Is(err, errStore) {
		t.Errorf("a broken store: %v", err)
	}
}

// Many at once, on both sides of each limit: the exact number is admitted, and no
// hold is lost or doubled.
func TestGuardBurst(t *testing.T) {
	for _, c := range []struct {
		name           string
		caller, global caps.Cap
		callers        int
		want           int
	}{
		{"calls", caps.Calls(10), caps.Calls(1000), 1, 10},
		{"dollars", caps.USD(300), caps.USD(10_000), 1, 10},
		{"the ceiling", caps.Calls(10), caps.USD(755), 50, 25},
	} {
		b := newBench(t, c.caller, c.global)
		var wg sync.WaitGroup
		var mu sync.Mutex
		admitted := 0
		for i := range 500 {
			caller := mustCaller(t, fmt.Sprintf("192.0.2.%d:1", i%c.callers))
			wg.Go(func() {
				r, err := b.Reserve(t.Context(), caller, 30)
				if err != nil {
					t.Error(err)
					return
				}
				if r.Allowed {
					mu.Lock()
					admitted++
					mu.Unlock()
					if _, err := r.Settle(t.Context(), 30); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		all := b.usage("global", caps.DayOf(noon()), caps.Caller{})
		if want := (caps.Usage{Calls: int64(c.want), USD: caps.MicroUSD(30 * c.want)}); admitted != c.want || all != want {
			t.Errorf("%s: %d admitted, ceiling %+v; want %d, %+v", c.name, admitted, all, c.want, want)
		}
	}
}

func TestNewGuardRefuses(t *testing.T) {
	good := caps.Config{
		Store:  memory.New(noon),
		Keyer:  mustKeyer(t, secret),
		Caller: caps.Budget{Name: "caller", Cap: caps.Calls(1)},
		Global: caps.Budget{Name: "global", Cap: caps.Calls(1)},
	}
	for want, spoil := range map[string]func(*caps.Config){
		"":                             func(*caps.Config) {},
		"caps.Config.Store is missing": func(c *caps.Config) { c.Store = nil },
		"caps.Config.Keyer is missing": func(c *caps.Config) { c.Keyer = nil },
		"caps.Config.Caller: the budget has no name":                                                    func(c *caps.Config) { c.Caller.Name = "" },
		"caps.Config.Caller: the budget name \"a#b\" may have letters, digits and hyphens only":         func(c *caps.Config) { c.Caller.Name = "a#b" },
		"caps.Config.Caller: budget caller: the cap limits nothing: set calls, usd or both":             func(c *caps.Config) { c.Caller.Cap = caps.Cap{} },
		"caps.Config.Global: the budget has no name":                                                    func(c *caps.Config) { c.Global.Name = "" },
		"caps.Config.Global: budget global: the cap limits nothing: set calls, usd or both":             func(c *caps.Config) { c.Global.Cap = caps.Cap{} },
		"caps.Config.Global: budget global: calls: -1 is not between 0 and 9007199254740991":            func(c *caps.Config) { c.Global.Cap = caps.Calls(-1) },
		"caps.Config: Caller and Global need different names":                                           func(c *caps.Config) { c.Global.Name = "caller" },
		"caps.Config.Caller: the budget name \"caller key\" may have letters, digits and hyphens only":  func(c *caps.Config) { c.Caller.Name = "caller key" },
		"caps.Config.Caller: the budget name \"caller\\x00\" may have letters, digits and hyphens only": func(c *caps.Config) { c.Caller.Name = "caller\x00" },
		"caps.Config.Caller: the budget name \"größe\" may have letters, digits and hyphens only":       func(c *caps.Config) { c.Caller.Name = "größe" },
		"caps.Config.Global: the budget name \"glob_al\" may have letters, digits and hyphens only":     func(c *caps.Config) { c.Global.Name = "glob_al" },
	} {
		c := good
		spoil(&c)
		g, err := caps.NewGuard(c)
		if text(err) != want || (g == nil) != (want != "") {
			t.Errorf("%v, %q; want %q", g, text(err), want)
		}
	}
	for _, name := range []string{"azAZ09-", "-", "0"} {
		if err := (caps.Budget{Name: name, Cap: caps.Calls(1)}).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range "`{@[/:, #._" { // the neighbours of what is allowed, and separators
		if err := (caps.Budget{Name: "a" + string(r), Cap: caps.Calls(1)}).Check(); err == nil {
			t.Errorf("%q is allowed in a name", r)
		}
	}
	withoutCeiling := good
	withoutCeiling.Global = caps.Budget{}
	if _, err := caps.NewGuard(withoutCeiling); err != nil {
		t.Errorf("without a ceiling: %v", err)
	}
}

// Holds of one caller are told apart by an ID that no other has; the ceiling has none.
func TestGuardDrawsAnIDForEachHold(t *testing.T) {
	b, caller := newBench(t, caps.USD(100_000), caps.USD(100_000)), mustCaller(t, viewer)
	seen := make(map[string]bool)
	for range 1000 {
		b.reserve(caller, 1)
	}
	for _, c := range b.store.charges {
		if c.Key.Budget == "global" {
			if c.ID != "" {
				t.Fatalf("a hold of the ceiling has the ID %q", c.ID)
			}
			continue
		}
		if seen[c.ID] || len(c.ID) != 16 {
			t.Fatalf("the ID %q is drawn twice or not 16 digits long", c.ID)
		}
		seen[c.ID] = true
		if strings.Contains(c.Key.String(), "198.51") {
			t.Fatalf("an address is in the key %s", c.Key)
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d IDs; want 1000", len(seen))
	}
}
