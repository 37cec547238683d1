package caps

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// inFlight bounds the reserves of one process on one item. More would only wait for
	// each other in the store, which writes an item one at a time, until they time out.
	inFlight = 8

	// inFlightAll bounds those of one process on all items together: beyond it, calls to
	// the store time out while they wait for each other, and what timed out stays counted.
	inFlightAll = 64

	// queueFor bounds how long a reserve waits for its turn, so that a store that hangs
	// is noticed by all that wait and not by one after the other.
	queueFor = 2 * time.Second
)

var errQueue = errors.New("too many reserves are waiting: the store is slow")

// queue lets a few reserves of each item through at a time, and lets those that
// waited share a refusal: if a reserve that was sent after they arrived was refused,
// then theirs would have been as well. So a burst on a full budget costs a handful of
// store calls, also while holds are open and nothing may be remembered.
type queue struct {
	all chan struct{} // slots of the process

	mu    sync.Mutex
	lines map[ItemKey]*line
}

type line struct {
	waiting int // those that are in the line or past it; the line goes with the last
	slots   chan struct{}
	clock   int64 // orders arrivals and sends
	refusal struct {
		sent  int64
		usage Usage
	}
}

// reserve is store.Reserve, taken in turn.
func (q *queue) reserve(ctx context.Context, store Store, c Charge, limit Cap) (Outcome, error) {
	l, arrived := q.join(c.Key)
	defer q.leave(c.Key, l)

	waiting, cancel := context.WithTimeoutCause(ctx, queueFor, errQueue)
	defer cancel()
	for _, slots := range []chan struct{}{l.slots, q.all} {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-waiting.Done():
			return Outcome{}, context.Cause(waiting)
		}
	}

	q.mu.Lock()
	l.clock++
	sent := l.clock
	if r := l.refusal; r.sent > arrived && !limit.Admits(r.usage, c.Amount) {
		q.mu.Unlock()
		return Outcome{Usage: r.usage}, nil
	}
	q.mu.Unlock()

	out, err := store.Reserve(ctx, c, limit)
	if err == nil && !out.Allowed {
		q.mu.Lock()
		if sent > l.refusal.sent {
			l.refusal.sent, l.refusal.usage = sent, out.Usage
		}
		q.mu.Unlock()
	}
	return out, err
}

func (q *queue) join(key ItemKey) (l *line, arrived int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l = q.lines[key]
	if l == nil {
		if q.lines == nil {
			q.lines, q.all = make(map[ItemKey]*line), make(chan struct{}, inFlightAll)
		}
		l = &line{slots: make(chan struct{}, inFlight)}
		q.lines[key] = l
	}
	l.waiting++
	l.clock++
	return l, l.clock
}

func (q *queue) leave(key ItemKey, l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		delete(q.lines, key)
	}
}
