package ratelimittest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// A clock that was set back admits nothing more, and catches up.
func clockSetBack(e *env) {
	for _, back := range []time.Duration{time.Millisecond, 30 * time.Second, minute, ratelimit.MaxAhead - minute} {
		for _, limit := range []int{1, 5, 300} {
			key, first := e.key(), e.clock.Now()
			for i := range limit {
				e.admit(key, limit, minute, limit-i-1)
			}
			e.clock.Set(first.Add(-back))
			for store := range e.stores {
				out, err := e.take(store, key, limit, minute)
				if err != nil || out.Admission != "" || !out.FreeAt.Equal(first.Add(minute)) {
					e.Fatalf("set back by %v, limit %d: %+v, %v; want it refused", back, limit, out, err)
				}
			}
			e.clock.Set(first.Add(minute - time.Millisecond))
			e.refuse(key, limit, minute, first.Add(minute))
			e.clock.Set(first.Add(minute))
			e.admit(key, limit, minute, limit-1)
		}
	}
}

// A clock that is wrong by more than MaxAhead locks nobody out.
func clockFarAhead(e *env) {
	key, now := e.key(), e.clock.Now()
	e.clock.Set(now.Add(ratelimit.MaxAhead - time.Millisecond))
	e.admit(key, 2, minute, 1)
	e.clock.Set(now.Add(ratelimit.MaxAhead))
	e.admit(key, 2, minute, 0)
	e.clock.Set(now)
	e.admit(key, 2, minute, 0) // in the place of the second
	e.refuse(key, 2, minute, now.Add(minute))
	e.clock.Advance(minute)
	e.admit(key, 2, minute, 0)
}

// However times are rounded, no window has one too many, and whoever comes at FreeAt is
// admitted.
func nothingLeavesEarly(e *env) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{1, 3} {
		key := e.key()
		var admitted []time.Time
		for range 60 {
			e.clock.Advance(time.Duration(r.Int64N(int64(time.Second) * 2 / 3)))
			out, err := e.take(r.IntN(len(e.stores)), key, limit, time.Second)
			if err != nil {
				e.Fatal(err)
			}
			if out.Admission == "" {
				if r.IntN(2) > 0 {
					continue
				}
				e.clock.Set(out.FreeAt)
				if out, err = e.take(0, key, limit, time.Second); err != nil || out.Admission == "" {
					e.Fatalf("at FreeAt: %+v, %v; want it admitted", out, err)
				}
			}
			admitted = append(admitted, e.clock.Now())
		}
		e.neverOver(admitted, limit, time.Second)
	}
}

// neverOver asserts that no window as long as given has more admissions than the limit.
func (e *env) neverOver(admitted []time.Time, limit int, window time.Duration) {
	e.Helper()
	admitted = slices.SortedFunc(slices.Values(admitted), time.Time.Compare)
	for i := limit; i < len(admitted); i++ {
		if d := admitted[i].Sub(admitted[i-limit]); d < window {
			e.Fatalf("%d admissions within %v; want no more than %d in %v", limit+1, d, limit, window)
		}
	}
}
