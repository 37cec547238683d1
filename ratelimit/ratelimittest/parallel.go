package ratelimittest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Of a burst through all stores exactly the limit is admitted, also where windows are
// partly taken, and again when the window has passed.
func parallel(e *env) {
	for _, c := range []struct{ limit, before, burst int }{{1, 0, 50}, {5, 2, 50}, {40, 0, 40}, {300, 100, 400}} {
		key := e.key()
		for range c.before {
			if _, err := e.take(0, key, c.limit, minute); err != nil {
				e.Fatal(err)
			}
		}
		room := c.limit - c.before
		for range 2 {
			var admitted atomic.Int64
			err := parallelly(c.burst, func(i int) error {
				out, err := e.take(i%len(e.stores), key, c.limit, minute)
				if out.Admission != "" {
					admitted.Add(1)
				}
				return err
			})
			if got := int(admitted.Load()); got != min(room, c.burst) || err != nil {
				e.Fatalf("limit %d: %d of %d were admitted, %v; want %d", c.limit, got, c.burst, err, min(room, c.burst))
			}
			e.clock.Advance(minute)
			room = c.limit
		}
	}
}

// Takes race with the clock and with each other; some were dated a while ago.
func parallelAsTimePasses(e *env) {
	for _, limit := range []int{1, 10} {
		key := e.key()
		var mu sync.Mutex
		var admitted []time.Time
		err := parallelly(200, func(i int) error {
			e.clock.Advance(37 * time.Millisecond)
			now := e.clock.Now()
			out, err := e.stores[i%len(e.stores)].Take(e.Context(), ratelimit.Take{Key: key, Limit: limit, Window: time.Second, Now: now})
			if out.Admission != "" {
				mu.Lock()
				defer mu.Unlock()
				admitted = append(admitted, now)
			}
			return err
		})
		if err != nil || len(admitted) < limit {
			e.Fatalf("%d admitted, %v", len(admitted), err)
		}
		e.neverOver(admitted, limit, time.Second)
	}
}
