package caps_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

func guardOf(t *testing.T, store caps.Store, caller, global caps.Cap) *caps.Guard {
	t.Helper()
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		t.Fatal(err)
	}
	c := caps.Config{Store: store, Keyer: keyer, Now: noon, Caller: caps.Budget{Name: "caller", Cap: caller}}
	if global != (caps.Cap{}) {
		c.Global = caps.Budget{Name: "global", Cap: global}
	}
	g, err := caps.NewGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func viewerOf(t *testing.T, header string) caps.Caller {
	t.Helper()
	c, err := caps.ViewerCaller(header)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a guard gives back is free at once, also where only calls are capped.
func TestReleasedIsNotRememberedAsFull(t *testing.T) {
	a, b := viewerOf(t, "198.51.100.1:1"), viewerOf(t, "198.51.100.2:1")
	allowed := func(r *caps.Reservation, err error) *caps.Reservation {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ctx := t.Context()

	g := guardOf(t, memory.New(noon), caps.Calls(10), caps.Calls(1))
	first := allowed(g.Reserve(ctx, a, 0))
	if r := allowed(g.Reserve(ctx, b, 0)); r.Allowed || r.Scope != caps.ScopeGlobal {
		t.Errorf("%+v while the ceiling is taken", r.Decision)
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if r := allowed(g.Reserve(ctx, b, 0)); !r.Allowed {
		t.Errorf("%+v after the ceiling came back", r.Decision)
	}

	g = guardOf(t, memory.New(noon), caps.Calls(1), caps.Cap{})
	first = allowed(g.Charge(ctx, a, 0))
	if r := allowed(g.Charge(ctx, a, 0)); r.Allowed {
		t.Errorf("%+v while the call is taken", r.Decision)
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if r := allowed(g.Charge(ctx, a, 0)); !r.Allowed {
		t.Errorf("%+v after the call came back", r.Decision)
	}
}

// crowd is a store that notes how many reserves are in it at a time.
type crowd struct {
	caps.Store
	enough      chan struct{} // closed when the first ones may leave
	once        sync.Once
	inside, max atomic.Int64
}

func (c *crowd) Reserve(ctx context.Context, charge caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	n := c.inside.Add(1)
	defer c.inside.Add(-1)
	for {
		most := c.max.Load()
		if n <= most || c.max.CompareAndSwap(most, n) {
			break
		}
	}
	if n == 64 {
		c.once.Do(func() { close(c.enough) })
	}
	<-c.enough
	return c.Store.Reserve(ctx, charge, limit)
}

// However many callers there are, a process sends no more at a time than a store can
// answer in time.
func TestReservesOfAProcessAreBounded(t *testing.T) {
	store := &crowd{Store: memory.New(noon), enough: make(chan struct{})}
	g := guardOf(t, store, caps.Calls(1), caps.Cap{})
	var admitted atomic.Int64
	var group sync.WaitGroup
	for i := range 200 {
		caller := viewerOf(t, "198.51.100."+string(rune('0'+i%10))+":1")
		if i >= 10 {
			addr := []byte("2001:db8:0:00::1:443")
			addr[11], addr[12] = "0123456789abcdef"[i/16], "0123456789abcdef"[i%16]
			caller = viewerOf(t, string(addr))
		}
		group.Go(func() {
			if r, err := g.Charge(context.Background(), caller, 0); err == nil && r.Allowed {
				admitted.Add(1)
			}
		})
	}
	group.Wait()
	if store.max.Load() != 64 || admitted.Load() != 200 {
		t.Errorf("%d at a time, %d admitted; want 64 and 200", store.max.Load(), admitted.Load())
	}
}
