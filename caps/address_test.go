package caps_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// withAddress gives a bench a cap on the address.
func withAddress(limit caps.Cap) func(*caps.Config) {
	return func(c *caps.Config) { c.Address = caps.Budget{Name: "address", Cap: limit} }
}

// Two users at one address.
var (
	office = "198.51.100.10:46532"
	anna   = "192.0.2.1:1" // whose key stands for a user here
	ben    = "192.0.2.2:1"
)

func (b *bench) reserveFrom(user, address string, worst caps.MicroUSD) *caps.Reservation {
	b.t.Helper()
	r, err := b.ReserveFrom(b.t.Context(), mustCaller(b.t, user), mustCaller(b.t, address), worst)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// wants asserts what has been used today by the user, at the office, and by all.
func (b *bench) wants(what, user string, own, address, all caps.Usage) {
	b.t.Helper()
	today := caps.DayOf(b.clock.Now())
	if got := b.usage("caller", today, mustCaller(b.t, user)); got != own {
		b.t.Errorf("%s: the user's budget is %+v; want %+v", what, got, own)
	}
	if got := b.usage("address", today, mustCaller(b.t, office)); got != address {
		b.t.Errorf("%s: the address's budget is %+v; want %+v", what, got, address)
	}
	if got := b.usage("global", today, caps.Caller{}); got != all {
		b.t.Errorf("%s: the ceiling is %+v; want %+v", what, got, all)
	}
}

func TestGuardTakesFromTheAddressToo(t *testing.T) {
	b := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(1000), withAddress(caps.Calls(20).AndUSD(300)))
	r := b.reserveFrom(anna, office, 30)
	b.wantCalls("reserve caller", "reserve address", "reserve global")
	if !r.Allowed || r.Scope != caps.ScopeCaller || r.Cap != caps.Calls(10).AndUSD(100) || r.Remaining != (caps.Amount{Calls: 9, USD: 70}) {
		t.Errorf("%+v; want the user's own budget", r.Decision)
	}
	held := caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}
	b.wants("reserved", anna, held, held, caps.Usage{Calls: 1, USD: 30, Held: 30})
	if _, err := r.Settle(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	b.wantCalls("settle caller", "settle address", "settle global")
	settled := caps.Usage{Calls: 1, USD: 12}
	b.wants("settled", anna, settled, settled, settled)
	if _, err := r.Settle(t.Context(), 12); err != nil {
		t.Error(err)
	}
	b.wantCalls()

	r = b.reserveFrom(ben, office, 30)
	b.store.taken()
	if err := r.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantCalls("release caller", "release address", "release global")
	b.wants("released", ben, caps.Usage{}, settled, settled)
}

// Whoever refuses, the budgets before it are exactly as they were.
func TestGuardRefusedOnTheAddress(t *testing.T) {
	b := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(1000), withAddress(caps.Calls(2)))
	for range 2 {
		if _, err := b.reserveFrom(anna, office, 30).Settle(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
	}
	b.store.taken()
	r := b.reserveFrom(ben, office, 30)
	b.wantCalls("reserve caller", "reserve address", "release caller") // and not the ceiling
	want := caps.Decision{
		Scope: caps.ScopeAddress, Cap: caps.Calls(2), Used: caps.Amount{Calls: 2, USD: 40},
		ResetAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), RetryAfter: 12 * time.Hour,
	}
	if r.Decision != want {
		t.Errorf("%+v; want %+v", r.Decision, want)
	}
	booked := caps.Usage{Calls: 2, USD: 40}
	b.wants("refused", ben, caps.Usage{}, booked, booked)
	if err := r.Release(t.Context()); !errors.Is(err, caps.ErrNotHeld) {
		t.Errorf("releasing a refusal: %v; want ErrNotHeld", err)
	}

	// It is remembered for every user at this address, and for no other.
	for i := range 100 {
		if r := b.reserveFrom(fmt.Sprintf("192.0.2.%d:1", 3+i), office, 30); r.Decision != want {
			t.Fatalf("%+v; want %+v", r.Decision, want)
		}
	}
	b.wantCalls()
	if r := b.reserveFrom(ben, "203.0.113.9:1", 30); !r.Allowed {
		t.Errorf("from another address: %+v; want it allowed", r.Decision)
	}
}

func TestGuardRefusedOnTheCeilingRestoresUserAndAddress(t *testing.T) {
	b := newBench(t, caps.Calls(10).AndUSD(100), caps.USD(50), withAddress(caps.Calls(20)))
	if _, err := b.reserveFrom(anna, office, 50).Settle(t.Context(), 40); err != nil {
		t.Fatal(err)
	}
	b.store.taken()
	if r := b.reserveFrom(ben, office, 11); r.Allowed || r.Scope != caps.ScopeGlobal {
		t.Errorf("%+v; want a refusal on the ceiling", r.Decision)
	}
	b.wantCalls("reserve caller", "reserve address", "reserve global", "release address", "release caller")
	booked := caps.Usage{Calls: 1, USD: 40}
	b.wants("refused", ben, caps.Usage{}, booked, booked)
}

func TestGuardStoreFailsAtTheAddress(t *testing.T) {
	unknown := fmt.Errorf("%w: the reply was lost", caps.ErrUnknownOutcome)
	held := caps.Usage{Calls: 1, USD: 30, Held: 30, Open: 1}
	three := []string{"reserve caller", "reserve address", "reserve global", "release address", "release caller"}
	for _, c := range []struct {
		name          string
		before, after func(string) error
		calls         []string
		own, address  caps.Usage
		want          error
	}{
		{"the address", on("reserve address", errStore), nil,
			[]string{"reserve caller", "reserve address", "release caller"}, caps.Usage{}, caps.Usage{}, errStore},
		{"the reply for the address is lost", nil, on("reserve address", unknown),
			[]string{"reserve caller", "reserve address", "release caller"}, caps.Usage{}, held, caps.ErrUnknownOutcome},
		{"the ceiling", on("reserve global", errStore), nil, three, caps.Usage{}, caps.Usage{}, errStore},
		{"giving back to the address", func(call string) error {
			if call == "reserve global" || call == "release address" {
				return errStore
			}
			return nil
		}, nil, three, caps.Usage{}, held, errStore},
	} {
		b := newBench(t, caps.USD(100), caps.USD(1000), withAddress(caps.USD(500)))
		b.store.faults(c.before, c.after)
		r, err := b.ReserveFrom(t.Context(), mustCaller(t, anna), mustCaller(t, office), 30)
		if r != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want no reservation and %v", c.name, r, err, c.want)
		}
		if got := b.store.taken(); !slices.Equal(got, c.calls) {
			t.Errorf("%s: store calls %v; want %v", c.name, got, c.calls)
		}
		b.store.faults(nil, nil)
		b.wants(c.name, anna, c.own, c.address, caps.Usage{})
	}
}

// Each way in which finishing can fail, then tried again without faults: applied once in
// each budget.
func TestGuardFinishIsTriedAgainAtTheAddress(t *testing.T) {
	unknown := fmt.Errorf("%w: the reply was lost", caps.ErrUnknownOutcome)
	for _, at := range []string{"settle caller", "settle address", "settle global"} {
		for _, faults := range [][2]func(string) error{{on(at, errStore), nil}, {nil, on(at, unknown)}} {
			b := newBench(t, caps.USD(100), caps.USD(1000), withAddress(caps.USD(500)))
			r := b.reserveFrom(anna, office, 30)
			b.store.faults(faults[0], faults[1])
			if _, err := r.Settle(t.Context(), 12); err == nil {
				t.Errorf("%s: no error", at)
			}
			b.store.faults(nil, nil)
			for range 3 {
				if _, err := r.Settle(t.Context(), 12); err != nil {
					t.Errorf("%s: again: %v", at, err)
				}
			}
			want := caps.Usage{Calls: 1, USD: 12}
			b.wants(at, anna, want, want, want)
		}
	}
}

// Somebody removed one of the two holds. The other one is corrected all the same, since
// it can be told apart; the ceiling is not.
func TestGuardHoldIsGoneAtTheAddress(t *testing.T) {
	held := caps.Usage{Calls: 1, USD: 30, Held: 30}
	for removed, want := range [][2]caps.Usage{{{}, {Calls: 1, USD: 12}}, {{Calls: 1, USD: 12}, {}}} {
		b := newBench(t, caps.USD(100), caps.USD(1000), withAddress(caps.USD(500)))
		r := b.reserveFrom(anna, office, 30)
		if ok, err := b.store.Store.Release(t.Context(), b.store.charges[removed]); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for range 2 {
			if _, err := r.Settle(t.Context(), 12); err != nil {
				t.Error(err)
			}
		}
		b.wants(fmt.Sprint("hold ", removed), anna, want[0], want[1], held)
	}
	// Also if the hold turns out to be gone when a settle is tried again.
	b := newBench(t, caps.USD(100), caps.USD(1000), withAddress(caps.USD(500)))
	r := b.reserveFrom(anna, office, 30)
	b.store.faults(on("settle caller", errStore), nil)
	if _, err := r.Settle(t.Context(), 12); err == nil {
		t.Error("no error")
	}
	b.store.faults(nil, nil)
	if ok, err := b.store.Store.Release(t.Context(), b.store.charges[1]); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := r.Settle(t.Context(), 12); err != nil {
		t.Error(err)
	}
	b.wants("gone meanwhile", anna, caps.Usage{Calls: 1, USD: 12}, caps.Usage{}, held)
}

func TestGuardNeedsTheAddress(t *testing.T) {
	b := newBench(t, caps.Calls(1), caps.Calls(1), withAddress(caps.Calls(1)))
	if _, err := b.Reserve(t.Context(), mustCaller(t, anna), 1); !errors.Is(err, caps.ErrNoViewerAddress) {
		t.Errorf("Reserve without an address: %v", err)
	}
	if _, err := b.ReserveFrom(t.Context(), caps.Caller{}, mustCaller(t, office), 1); !errors.Is(err, caps.ErrNoViewerAddress) {
		t.Errorf("nobody reserves: %v", err)
	}
	b.wantCalls()
	plain := newBench(t, caps.Calls(1), caps.Calls(1))
	if r, err := plain.ReserveFrom(t.Context(), mustCaller(t, anna), caps.Caller{}, 1); err != nil || !r.Allowed {
		t.Errorf("a guard without a cap on the address: %+v, %v", r, err)
	}
	plain.wantCalls("reserve caller", "reserve global")
}

// Guards of two tiers count a user together: who changes the tier keeps what is used.
func TestGuardsOfTwoTiers(t *testing.T) {
	free := newBench(t, caps.Calls(2), caps.Calls(100))
	pro := newBench(t, caps.Calls(5), caps.Calls(100), func(c *caps.Config) { c.Store = free.store })
	user := mustCaller(t, anna)
	for range 2 {
		if r := free.reserve(user, 1); !r.Allowed {
			t.Fatal(r.Decision)
		}
	}
	if r := free.reserve(user, 1); r.Allowed || r.Remaining.Calls != 0 {
		t.Errorf("a third call of the free tier: %+v", r.Decision)
	}
	for i := range 3 {
		if r := pro.reserve(user, 1); !r.Allowed || r.Used.Calls != int64(3+i) {
			t.Errorf("call %d after the upgrade: %+v", i, r.Decision)
		}
	}
	for _, g := range []*bench{pro, free} {
		if r := g.reserve(user, 1); r.Allowed || r.Used.Calls != 5 || r.Remaining.Calls != 0 {
			t.Errorf("after 5 calls: %+v", r.Decision)
		}
	}
}
