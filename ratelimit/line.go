package ratelimit

import (
	"context"
	"sync"
)

// inFlight bounds the store calls of one process about one window. More would only meet
// each other in the store; and of a burst on a full window, those that wait learn from
// those that went. It grows with the limit, so that a burst of as many as are admitted
// has its turn within sixteen store calls' time: who waits for longer than its budget
// would be one for whom the store is down.
func inFlight(limit int) int { return max(4, limit/16) }

// lines lets a few store calls about each window through at a time.
type lines struct {
	mu sync.Mutex
	of map[string]*line
}

type line struct {
	slots chan struct{}
	in    int // those that are in the line or past it; the line goes with the last
}

// enter waits for a turn. It reports false if ctx is done first. Whoever is the first of a
// line decides how many go at a time.
func (l *lines) enter(ctx context.Context, key string, inFlight int) (leave func(), ok bool) {
	l.mu.Lock()
	this := l.of[key]
	if this == nil {
		if l.of == nil {
			l.of = make(map[string]*line)
		}
		this = &line{slots: make(chan struct{}, inFlight)}
		l.of[key] = this
	}
	this.in++
	l.mu.Unlock()

	out := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if this.in--; this.in == 0 {
			delete(l.of, key)
		}
	}
	select {
	case this.slots <- struct{}{}:
		return func() { <-this.slots; out() }, true
	case <-ctx.Done():
		out()
		return nil, false
	}
}
