package caps_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

// slow is a store whose reserves take a while, or for ever.
type slow struct {
	caps.Store
	takes time.Duration // 0 is for ever

	mu                   sync.Mutex
	calls, at, mostAtOne int
}

func (s *slow) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	s.mu.Lock()
	s.calls++
	s.at++
	s.mostAtOne = max(s.mostAtOne, s.at)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.at--
		s.mu.Unlock()
	}()
	var done <-chan time.Time
	if s.takes > 0 {
		done = time.After(s.takes)
	}
	select {
	case <-done:
		return s.Store.Reserve(ctx, c, limit)
	case <-ctx.Done():
		return caps.Outcome{}, fmt.Errorf("%w: %w", caps.ErrUnknownOutcome, ctx.Err())
	}
}

func slowGuard(t *testing.T, takes time.Duration, limit caps.Cap) (*caps.Guard, *slow) {
	t.Helper()
	s := &slow{Store: memory.New(nil), takes: takes}
	g, err := caps.NewGuard(caps.Config{Store: s, Keyer: mustKeyer(t, secret), Caller: caps.Budget{Name: "caller", Cap: limit}})
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

// A burst on a budget that open holds fill, so that nothing may be remembered: the
// exact number is admitted and the others share a few refusals.
func TestQueueSharesRefusals(t *testing.T) {
	caller := mustCaller(t, viewer)
	synctest.Test(t, func(t *testing.T) {
		g, s := slowGuard(t, 10*time.Millisecond, caps.Calls(10).AndUSD(1000))
		var wg sync.WaitGroup
		var mu sync.Mutex
		admitted := 0
		for range 1000 {
			wg.Go(func() {
				r, err := g.Reserve(t.Context(), caller, 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if r.Allowed {
					admitted++
				} else if r.Held != 10 || r.Used.Calls != 10 {
					t.Errorf("refused by %+v; want the ten open holds", r.Decision)
				}
			})
		}
		wg.Wait()
		if admitted != 10 {
			t.Errorf("%d admitted; want 10", admitted)
		}
		if s.calls > 40 || s.mostAtOne > 8 {
			t.Errorf("%d store calls, %d at once; want 40 and 8 at most", s.calls, s.mostAtOne)
		}
	})
}

// A refusal is shared only with those that were there before it was asked for. The
// holds behind it may be gone for whoever comes later.
func TestQueueAsksForThoseWhoComeLater(t *testing.T) {
	caller := mustCaller(t, viewer)
	synctest.Test(t, func(t *testing.T) {
		g, s := slowGuard(t, 10*time.Millisecond, caps.Calls(2).AndUSD(1000))
		reserve := func() *caps.Reservation {
			r, err := g.Reserve(t.Context(), caller, 1)
			if err != nil {
				t.Error(err)
				return new(caps.Reservation)
			}
			return r
		}
		holds := []*caps.Reservation{reserve(), reserve()}
		var wg sync.WaitGroup
		for range 30 { // eight are sent at 0 ms, eight at 10 ms, the others share what those get
			wg.Go(func() {
				if reserve().Allowed {
					t.Error("admitted beyond the cap")
				}
			})
		}
		time.Sleep(15 * time.Millisecond)
		wg.Go(func() { // waits for its turn until 20 ms and keeps the line open until 30 ms
			if !reserve().Allowed {
				t.Error("refused, although it was sent after all refusals and finds room")
			}
		})
		time.Sleep(6 * time.Millisecond)
		for _, r := range holds {
			if err := r.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if !reserve().Allowed {
			t.Error("refused by what was asked before it came")
		}
		wg.Wait()
		if s.calls != 2+16+2 {
			t.Errorf("%d store calls; want 20", s.calls)
		}
	})
}

// A cheaper call is not refused by a refusal that a dearer one got.
func TestQueueRefusalIsForAmountsThatDoNotFit(t *testing.T) {
	caller := mustCaller(t, viewer)
	synctest.Test(t, func(t *testing.T) {
		g, _ := slowGuard(t, 10*time.Millisecond, caps.USD(100))
		if r, err := g.Reserve(t.Context(), caller, 60); err != nil || !r.Allowed {
			t.Fatal(r, err)
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if r, err := g.Reserve(t.Context(), caller, 50); err != nil || r.Allowed {
					t.Errorf("50 with 40 left: %+v, %v; want a refusal", r, err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			if r, err := g.Reserve(t.Context(), caller, 40); err != nil || !r.Allowed {
				t.Errorf("40 with 40 left: %+v, %v; want it admitted", r, err)
			}
		})
		wg.Wait()
	})
}

// A store that hangs is noticed by all that wait, and what never left the process is
// not of unknown outcome.
func TestQueueGivesUp(t *testing.T) {
	caller, other := mustCaller(t, viewer), mustCaller(t, "203.0.113.9:1")
	synctest.Test(t, func(t *testing.T) {
		g, s := slowGuard(t, 0, caps.Calls(1000))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the store's own deadline
		defer cancel()
		begin := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		unknown := 0
		reserve := func(caller caps.Caller) {
			r, err := g.Reserve(ctx, caller, 1)
			if r != nil || err == nil {
				t.Errorf("%+v, %v; want an error", r, err)
			}
			waited := time.Since(begin)
			if waited != 2*time.Second && waited != 3*time.Second {
				t.Errorf("waited %s", waited)
			}
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, caps.ErrUnknownOutcome) {
				unknown++
			} else if waited != 2*time.Second {
				t.Errorf("%v after %s; want those that never were sent back after 2 s", err, waited)
			}
		}
		for range 100 {
			wg.Go(func() { reserve(caller) })
		}
		wg.Go(func() { reserve(other) })
		wg.Wait()
		if unknown != 9 || s.calls != 9 {
			t.Errorf("%d of unknown outcome, %d sent; want 9: eight of one caller and one of the other", unknown, s.calls)
		}
	})
}
