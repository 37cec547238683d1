package control

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Promise is within what time of an operator's change every instance obeys it.
const Promise = 5 * time.Second

// How the promise is kept. A read that began at t tells every change that ended before
// t. So whoever admits a call at c, on a state whose read began at t, misses only changes
// that ended after t, that is less than c-t ago. [Watcher.Check] never answers with a
// state that is older than staleAfter, counted from the beginning of its read; what is
// left of the promise is for the way from the answer to what it admits. That way has no
// store call on it: the request path checks again after its reserves.
//
// Another read is made from freshFor on, so a healthy table makes a change known after
// freshFor and one read, and there is time for one read that fails in vain, and one that
// does not, before a state is too old.
const (
	freshFor    = 2 * time.Second
	readTimeout = 1 * time.Second        // of one read with its attempts
	staleAfter  = 4 * time.Second        // a state is not served from this age on
	retryAfter  = 200 * time.Millisecond // at least, from a failed read to the next
)

// WatcherConfig is what a [Watcher] is made from.
type WatcherConfig struct {
	Reader Reader
	Keyer  *caps.Keyer // of the deployment

	OnFailure func(error)      // is told of each read that failed; nil: nobody is
	Now       func() time.Time // nil: time.Now
}

// Watcher follows the state for one instance, with at most one read in two seconds. All
// reads are made while somebody waits for them: an instance that is frozen between two
// requests could not finish others. It is safe for concurrent use.
type Watcher struct {
	c      WatcherConfig
	clock  func() instant
	flight singleflight.Group
	latest atomic.Pointer[snapshot]

	mu       sync.Mutex // guards what follows
	failed   error      // of the last read; nil if it did not fail
	failedAt instant
}

// NewWatcher returns a watcher, or an error that names the setting that is missing. It
// does not read yet.
func NewWatcher(c WatcherConfig) (*Watcher, error) {
	if c.Reader == nil {
		return nil, errors.New("control.WatcherConfig.Reader is missing: nobody could stop the calls")
	}
	if c.Keyer == nil {
		return nil, errors.New("control.WatcherConfig.Keyer is missing")
	}
	if c.OnFailure == nil {
		c.OnFailure = func(error) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Watcher{c: c, clock: clockOf(c.Now)}, nil
}

// Verdict is what the operator says to a call. Both are nil if it may go on. What they
// point to must not be changed.
type Verdict struct {
	Stop  *Stop
	Block *Block // of the caller
}

// Check tells what the operator says to a call of somebody who is known as callers. The
// verdict misses only changes of the last few seconds, and is for now: what may take
// more than a moment before the call is made has to be followed by another Check.
//
// An error means that nobody knows, and the call must not be made.
func (w *Watcher) Check(ctx context.Context, callers ...caps.Caller) (Verdict, error) {
	s, err := w.current(ctx)
	if err != nil {
		return Verdict{}, err
	}
	return Verdict{Stop: s.state.Stop, Block: s.blockOf(w.c.Keyer, w.c.Now(), callers)}, nil
}

// Cap is the cap in force for a budget on a day, for [caps.Config.InForce]. It does not
// read: what it tells is what the last Check was told, and nothing before the first.
func (w *Watcher) Cap(b caps.Budget, day caps.Day) caps.Cap {
	if s := w.latest.Load(); s != nil {
		return s.state.Cap(b, day)
	}
	return caps.Cap{}
}

// current returns a state that may be served.
func (w *Watcher) current(ctx context.Context) (*snapshot, error) {
	if s := w.youngerThan(freshFor); s != nil {
		return s, nil
	}
	var err error
	select {
	case read := <-w.flight.DoChan("", func() (any, error) { return nil, w.read(ctx) }):
		err = read.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if s := w.youngerThan(staleAfter); s != nil {
		return s, nil
	}
	if err == nil {
		err = errors.New("the operator's state was read too slowly")
	}
	return nil, err
}

func (w *Watcher) youngerThan(age time.Duration) *snapshot {
	s := w.latest.Load()
	if s == nil || s.asOf.age(w.clock()) >= age {
		return nil
	}
	return s
}

// read reads the state, unless somebody just did or failed to. It is made by one at a
// time, for all who wait, so it does not end with the context of the one.
func (w *Watcher) read(ctx context.Context) error {
	if w.youngerThan(freshFor) != nil {
		return nil
	}
	began := w.clock()
	if err := w.failedWithin(retryAfter, began); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	state, _, err := w.c.Reader.Read(ctx)
	w.mu.Lock()
	w.failed, w.failedAt = err, w.clock()
	w.mu.Unlock()
	if err != nil {
		w.c.OnFailure(err)
		return err
	}
	w.latest.Store(newSnapshot(state, began))
	return nil
}

func (w *Watcher) failedWithin(d time.Duration, now instant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failedAt.age(now) < d {
		return w.failed
	}
	return nil
}

// instant is a moment on both clocks of a machine. Each is wrong in its own way: the
// wall clock can be set, also back, and the monotonic one may stand still while the
// machine is frozen or suspended.
type instant struct {
	wall time.Time     // without a monotonic reading
	mono time.Duration // since some moment
}

func clockOf(now func() time.Time) func() instant {
	start := now()
	return func() instant {
		t := now()
		return instant{t.Round(0), t.Sub(start)}
	}
}

// age is the longer of what the two clocks say has passed, and without end if one of
// them went back.
func (i instant) age(now instant) time.Duration {
	wall, mono := now.wall.Sub(i.wall), now.mono-i.mono
	if wall < 0 || mono < 0 {
		return math.MaxInt64
	}
	return max(wall, mono)
}
