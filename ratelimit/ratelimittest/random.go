package ratelimittest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// model is one window without failures, one take at a time.
type model struct {
	admitted []admitted // in order
}

type admitted struct {
	at time.Time
	as ratelimit.Admission
}

// inside are the admissions in the window that ends now.
func (m *model) inside(now time.Time, window time.Duration) []admitted {
	i := slices.IndexFunc(m.admitted, func(a admitted) bool { return a.at.After(now.Add(-window)) })
	if i < 0 {
		return nil
	}
	return m.admitted[i:]
}

func randomAgainstModel(e *env) {
	rapid.Check(e, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(t, "limit")
		e.against(t, &model{}, e.key(), limit, minute)
	})
}

// A window of 300 that is nearly full already.
func randomAgainstModel300(e *env) {
	const limit = 300
	key := e.key()
	m := &model{}
	for i := range limit - 3 {
		out := e.admit(key, limit, minute, limit-i-1)
		m.admitted = append(m.admitted, admitted{e.clock.Now(), out.Admission})
		e.clock.Advance(minute / limit / 2)
	}
	rapid.Check(e, func(t *rapid.T) { e.against(t, m, key, limit, minute) })
}

// against runs random takes on all stores, as time passes. Every answer has to be the
// model's.
func (e *env) against(t *rapid.T, m *model, key string, limit int, window time.Duration) {
	take := func(t *rapid.T) {
		store := rapid.IntRange(0, len(e.stores)-1).Draw(t, "store")
		now := e.clock.Now()
		inside := m.inside(now, window)
		out, err := e.take(store, key, limit, window)
		if err != nil {
			t.Fatal(err)
		}
		room := len(inside) < limit
		if room {
			m.admitted = append(m.admitted, admitted{now, out.Admission})
			inside = m.inside(now, window)
		}
		want := ratelimit.Outcome{Remaining: limit - len(inside), FreeAt: inside[0].at.Add(window), Newest: inside[len(inside)-1].at}
		if (out.Admission != "") != room || out.Remaining != want.Remaining || !out.FreeAt.Equal(want.FreeAt) || !out.Newest.Equal(want.Newest) {
			t.Fatalf("Take with %d of %d inside = %+v; want admitted: %v, %+v", len(inside), limit, out, room, want)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"take": take,
		"more": take,
		"wait": func(t *rapid.T) {
			e.clock.Advance(time.Duration(rapid.Int64Range(1, int64(window/2/time.Millisecond)).Draw(t, "ms")) * time.Millisecond)
		},
		"wait until the edge": func(t *rapid.T) {
			if inside := m.inside(e.clock.Now(), window); len(inside) > 0 {
				before := time.Duration(rapid.IntRange(0, 1).Draw(t, "before")) * time.Millisecond
				if at := inside[0].at.Add(window - before); at.After(e.clock.Now()) {
					e.clock.Set(at)
				}
			}
		},
		"give back": func(t *rapid.T) {
			inside := m.inside(e.clock.Now(), window)
			if len(inside) == 0 {
				return
			}
			i := rapid.IntRange(0, len(inside)-1).Draw(t, "which")
			store := rapid.IntRange(0, len(e.stores)-1).Draw(t, "store")
			if ok, err := e.stores[store].GiveBack(e.Context(), key, inside[i].as); !ok || err != nil {
				t.Fatalf("GiveBack = %v, %v; want true", ok, err)
			}
			m.admitted = slices.Delete(m.admitted, len(m.admitted)-len(inside)+i, len(m.admitted)-len(inside)+i+1)
		},
	})
}

// randomClock sets the clock back again and again. Measured by the time that really
// passes, no window has one too many; and once the clock has passed everything that was
// recorded, there is room.
func randomClock(e *env) {
	rapid.Check(e, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "limit")
		key, start := e.key(), e.clock.Now()
		passed, back := time.Duration(0), time.Duration(0)
		var admitted []time.Time // by what really passed
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, limit+1).Draw(t, "takes") {
					e.clock.Set(start.Add(passed - back))
					out, err := e.take(rapid.IntRange(0, len(e.stores)-1).Draw(t, "store"), key, limit, minute)
					if err != nil {
						t.Fatal(err)
					}
					if out.Admission != "" {
						admitted = append(admitted, start.Add(passed))
					}
				}
			},
			"wait": func(t *rapid.T) {
				passed += time.Duration(rapid.Int64Range(1, int64(2*minute/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
			},
			"set back": func(t *rapid.T) {
				step := time.Duration(rapid.Int64Range(1, int64(3*minute/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
				if back+step < ratelimit.MaxAhead {
					back += step
				}
			},
			"": func(t *rapid.T) {
				for i := limit; i < len(admitted); i++ {
					if d := admitted[i].Sub(admitted[i-limit]); d < minute {
						t.Fatalf("%d admissions within %v", limit+1, d)
					}
				}
			},
		})
		passed += back + minute
		e.clock.Set(start.Add(passed - back))
		if out, err := e.take(0, key, limit, minute); err != nil || out.Admission == "" {
			t.Fatalf("after a window: %+v, %v; want it admitted", out, err)
		}
	})
}
