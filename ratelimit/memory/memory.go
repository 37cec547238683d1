// Package memory is the in-process [ratelimit.Store]. Its windows end with the process
// and are not shared with another, so it is for tests, for local runs, and for a service
// that is one process by design; on Lambda every container would have its own.
package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// MaxWindows bounds the windows that are kept. Dropping one would admit above its limit,
// so a store that is full returns an error for a key it does not know yet; windows that
// have run empty are dropped first.
const MaxWindows = 1 << 20

// firstSweep is how many windows there may be before the empty ones are looked for.
const firstSweep = 1024

// fullSweep is how often room is looked for in a store that is full. A flood of new keys
// must not have it look at a million windows for each.
const fullSweep = int64(time.Second)

// Store keeps windows in the memory of the process. Use [New].
type Store struct {
	max int // windows

	mu      sync.Mutex
	windows map[string]*window
	last    uint64 // the latest admission's number
	sweepAt int    // how many windows lead to the next sweep
	swept   int64  // when that was done last
}

var _ ratelimit.Store = (*Store)(nil)

// window has its admissions by time, the oldest first.
type window struct {
	admissions []admission
	emptyAt    int64 // when the last one has left
}

type admission struct {
	at     int64 // nanoseconds since 1970
	number uint64
}

// New returns an empty store.
func New() *Store {
	return &Store{max: MaxWindows, windows: make(map[string]*window), sweepAt: firstSweep}
}

// Take implements [ratelimit.Store].
func (s *Store) Take(ctx context.Context, t ratelimit.Take) (ratelimit.Outcome, error) {
	if err := errors.Join(ctx.Err(), t.Check()); err != nil {
		return ratelimit.Outcome{}, err
	}
	now := t.Now.UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windows[t.Key]
	if w == nil {
		if s.sweepDue(now) {
			s.sweep(now)
		}
		if len(s.windows) >= s.max {
			return ratelimit.Outcome{}, fmt.Errorf("the in-process store is full: it keeps %d windows and forgets none before it is empty", s.max)
		}
		w = new(window)
		s.windows[t.Key] = w
	}
	w.admissions = slices.DeleteFunc(w.admissions, func(a admission) bool {
		return a.at <= now-int64(t.Window) || a.at >= now+int64(ratelimit.MaxAhead)
	})
	var out ratelimit.Outcome
	if len(w.admissions) < t.Limit {
		s.last++
		out.Admission = ratelimit.Admission(strconv.FormatUint(s.last, 36))
		w.add(admission{now, s.last})
		w.emptyAt = max(w.emptyAt, now+int64(t.Window))
	}
	n := len(w.admissions)
	out.Remaining = max(0, t.Limit-n)
	out.FreeAt = time.Unix(0, w.admissions[max(0, n-t.Limit)].at).Add(t.Window)
	out.Newest = time.Unix(0, w.admissions[n-1].at)
	return out, nil
}

// GiveBack implements [ratelimit.Store].
func (s *Store) GiveBack(ctx context.Context, key string, a ratelimit.Admission) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	number, err := strconv.ParseUint(string(a), 36, 64)
	if err != nil {
		return false, errors.New("the admission is not one of this store")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windows[key]
	if w == nil {
		return false, nil
	}
	before := len(w.admissions)
	w.admissions = slices.DeleteFunc(w.admissions, func(a admission) bool { return a.number == number })
	return len(w.admissions) < before, nil
}

// add keeps the order also where the clock was set back.
func (w *window) add(a admission) {
	i := len(w.admissions)
	for i > 0 && w.admissions[i-1].at > a.at {
		i--
	}
	w.admissions = slices.Insert(w.admissions, i, a)
}

// sweepDue tells whether the windows that have run empty are to be looked for before one
// more is added. A negative age is a clock that was set back.
func (s *Store) sweepDue(now int64) bool {
	if len(s.windows) < s.max {
		return len(s.windows) >= s.sweepAt
	}
	age := now - s.swept
	return age < 0 || age >= fullSweep
}

// sweep drops the windows that have run empty. The next one is due when there are twice
// as many as are left, so that sweeping costs as much as adding did.
func (s *Store) sweep(now int64) {
	s.swept = now
	for key, w := range s.windows {
		if w.emptyAt <= now || len(w.admissions) == 0 {
			delete(s.windows, key)
		}
	}
	s.sweepAt = max(firstSweep, 2*len(s.windows))
}
