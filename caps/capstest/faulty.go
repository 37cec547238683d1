package capstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Fault is what goes wrong with one store call.
type Fault int

const (
	None        Fault = iota
	Throttle          // not applied, and the error says so
	LoseRequest       // not applied, and the error wraps caps.ErrUnknownOutcome
	LoseReply         // applied, and the error wraps caps.ErrUnknownOutcome
	Late              // the same, but applied only before the store's next call, see [Faulty.Flush]
	Delay             // applied and answered late, see [Faulty.Pause]
)

var faultNames = [...]string{"None", "Throttle", "LoseRequest", "LoseReply", "Late", "Delay"}

// String is the fault's name.
func (f Fault) String() string {
	if f < 0 || int(f) >= len(faultNames) {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return faultNames[f]
}

// Call is one call of a store: "Reserve", "Settle", "Release" or "Usage", and the
// budget it was about.
type Call struct {
	Method string
	Key    caps.ItemKey
}

// Plan says what goes wrong with the n-th call of a store, counted from 0. It has to
// be safe for concurrent use if the store is used so.
type Plan func(n int, call Call) Fault

// Script is a plan for the first calls; the others are fine.
func Script(faults ...Fault) Plan {
	return func(n int, _ Call) Fault {
		if n < len(faults) {
			return faults[n]
		}
		return None
	}
}

// At is the plan by which only the n-th call goes wrong.
func At(n int, fault Fault) Plan {
	return func(i int, _ Call) Fault {
		if i == n {
			return fault
		}
		return None
	}
}

// Random is a plan by which a share of the calls, from 0 to 1, goes wrong in one of
// the ways given. The n-th call meets the same fault whenever the seed is the same.
func Random(seed uint64, share float64, faults ...Fault) Plan {
	return func(n int, _ Call) Fault {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		if len(faults) == 0 || r.Float64() >= share {
			return None
		}
		return faults[r.IntN(len(faults))]
	}
}

// ErrThrottled is wrapped by the error of a call that met [Throttle].
var ErrThrottled = errors.New("throttled by the test")

// Faulty is a store to which things happen. Use [NewFaulty].
type Faulty struct {
	// Pause is how long [Delay] takes; if the call's context is done before, the call
	// has been applied and the error wraps caps.ErrUnknownOutcome.
	Pause time.Duration

	store caps.Store
	plan  Plan

	mu    sync.Mutex
	calls []Call
	late  []func()
}

var _ caps.Store = (*Faulty)(nil)

// NewFaulty returns a store that passes calls on to another, except where the plan
// has a fault for them.
func NewFaulty(store caps.Store, plan Plan) *Faulty {
	return &Faulty{Pause: time.Millisecond, store: store, plan: plan}
}

// Calls returns the calls that were made, in order.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Flush applies the writes that are late. A call that is made does so first.
func (f *Faulty) Flush() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, apply := range late {
		apply()
	}
}

// Reserve implements [caps.Store].
func (f *Faulty) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	return do(f, ctx, Call{"Reserve", c.Key}, func(ctx context.Context) (caps.Outcome, error) {
		return f.store.Reserve(ctx, c, limit)
	})
}

// Settle implements [caps.Store].
func (f *Faulty) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	return do(f, ctx, Call{"Settle", c.Key}, func(ctx context.Context) (bool, error) {
		return f.store.Settle(ctx, c, actual)
	})
}

// Release implements [caps.Store].
func (f *Faulty) Release(ctx context.Context, c caps.Charge) (bool, error) {
	return do(f, ctx, Call{"Release", c.Key}, func(ctx context.Context) (bool, error) {
		return f.store.Release(ctx, c)
	})
}

// Usage implements [caps.Store].
func (f *Faulty) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	return do(f, ctx, Call{"Usage", key}, func(ctx context.Context) (caps.Usage, error) {
		return f.store.Usage(ctx, key)
	})
}

func do[T any](f *Faulty, ctx context.Context, call Call, apply func(context.Context) (T, error)) (T, error) {
	var none T
	f.mu.Lock()
	n := len(f.calls)
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	f.Flush()
	fault := f.plan(n, call)
	unknown := fmt.Errorf("%s by the test: %w", fault, caps.ErrUnknownOutcome)
	switch fault {
	case Throttle:
		return none, fmt.Errorf("%s: %w", call.Method, ErrThrottled)
	case LoseRequest:
		return none, unknown
	case LoseReply:
		if _, err := apply(ctx); err != nil {
			return none, err
		}
		return none, unknown
	case Late:
		background := context.WithoutCancel(ctx)
		f.mu.Lock()
		f.late = append(f.late, func() { _, _ = apply(background) })
		f.mu.Unlock()
		return none, unknown
	case Delay:
		value, err := apply(ctx)
		timer := time.NewTimer(f.Pause)
		defer timer.Stop()
		select {
		case <-timer.C:
			return value, err
		case <-ctx.Done():
			return none, errors.Join(ctx.Err(), unknown)
		}
	default:
		return apply(ctx)
	}
}
