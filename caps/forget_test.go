package caps_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// crowd is a store in which reserves wait until the crowd may leave.
type crowd struct {
	caps.Store
	leave  chan struct{} // closed when they may
	inside atomic.Int64
}

func (c *crowd) Reserve(ctx context.Context, charge caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	c.inside.Add(1)
	<-c.leave
	return c.Store.Reserve(ctx, charge, limit)
}

// However many callers there are, a process sends no more at a time than a store can
// answer in time.
func TestReservesOfAProcessAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &crowd{Store: memory.New(noon), leave: make(chan struct{})}
		g := guardOf(t, store, caps.Calls(1), caps.Cap{})
		var admitted atomic.Int64
		var group sync.WaitGroup
		for i := range 200 {
			caller := viewerOf(t, fmt.Sprintf("198.51.100.%d:1", i))
			group.Go(func() {
				if r, err := g.Charge(context.Background(), caller, 0); err == nil && r.Allowed {
					admitted.Add(1)
				}
			})
		}
		synctest.Wait() // nobody gets any further
		if n := store.inside.Load(); n != 64 {
			t.Errorf("%d at a time, want 64", n)
		}
		close(store.leave)
		group.Wait()
		if n := admitted.Load(); n != 200 {
			t.Errorf("%d admitted, want 200", n)
		}
	})
}
