package ratelimit

import (
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/lru"
)

// FrontKeys bounds the windows that a [Limiter] remembers as full. Past it, the one that
// has been idle for longest is forgotten, which costs its next attempt a store call.
const FrontKeys = 10_000

// trusted is for how long a window is known to be full whose newest admission may still
// be given back.
const trusted = 2 * time.Second

// settles is the age from which an admission counts as one to stay: by then, a request
// that another key refused, whose rule has the same budget, has been given back.
func settles(r Rule) time.Duration { return r.budget() + time.Second }

// front is the layer in the process. All it knows is which windows are full, and until
// when, so that it can refuse and nothing else.
type front struct {
	mu   sync.Mutex
	full *lru.Map[string, full]
}

type full struct {
	rule   Rule
	freeAt time.Time // the exact time
	until  time.Time // how long that is trusted; not after freeAt
}

func newFront() *front { return &front{full: lru.New[string, full](FrontKeys)} }

// refuses tells whether the window of a is known to be full at now, and until when.
func (f *front) refuses(a Attempt, now time.Time) (freeAt time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.full.Get(a.window())
	if !ok {
		return time.Time{}, false
	}
	// A clock that was set back by more than MaxAhead makes the window one of admissions
	// that do not count.
	if e.rule != a.Rule || !now.Before(e.until) || e.freeAt.Sub(now) > a.Rule.Window+MaxAhead {
		f.full.Delete(a.window())
		return time.Time{}, false
	}
	return e.freeAt, true
}

// remember notes what the store said to a at now. That a window is full is certain until
// its oldest admission leaves it, except where the newest may still be given back.
func (f *front) remember(a Attempt, out Outcome, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if out.Remaining > 0 {
		return
	}
	until := out.FreeAt
	if sure := out.Newest.Add(settles(a.Rule)); now.Before(sure) {
		for _, t := range []time.Time{sure, now.Add(trusted)} {
			if t.Before(until) {
				until = t
			}
		}
	}
	f.full.Put(a.window(), full{a.Rule, out.FreeAt, until})
}

// forget lets go of a window, because an admission was given back.
func (f *front) forget(a Attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full.Delete(a.window())
}
