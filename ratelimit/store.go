package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store keeps windows. It is the one thing that all processes share, and the promise of
// this package rests on Take being a single atomic step.
//
// Refused is a value, broken is an error: an [Outcome] is what the window says; an error
// says that the store could not be asked, and the rule decides. A store never answers
// "refused" because it is slow, throttled or in conflict. An error wraps
// [ErrMisconfigured] if no waiting will cure it.
//
// All methods are safe for concurrent use, and return soon after ctx is done. After an
// error an admission may have been recorded, now or later: counted and not admitted,
// which is the safe side. A store retries by itself where that is right, and a retry
// after a lost reply records one admission, not two.
//
// The suite in ratelimit/ratelimittest checks this contract.
type Store interface {
	// Take records an admission at t.Now in the window of t.Key if fewer than t.Limit are
	// in it; otherwise it changes nothing. An admission of the time s is in the window
	// exactly if
	//
	//	t.Now - t.Window < s < t.Now + MaxAhead
	//
	// except that one which was outside at another Take may be forgotten. A store may keep
	// times in whole milliseconds if it rounds so that no admission leaves early.
	//
	// For one window's length after t.Limit was lowered, the window may hold as many as
	// the higher limit let in.
	Take(ctx context.Context, t Take) (Outcome, error)

	// GiveBack removes an admission, because the request was refused for another reason.
	// It reports whether it did: false means that it is not there (any more).
	GiveBack(ctx context.Context, key string, a Admission) (bool, error)
}

// MaxAhead is how far ahead of the clock an admission may lie and count: a clock may be
// set back by as much without admitting too many.
const MaxAhead = time.Hour

// ErrMisconfigured is wrapped by a store's error when nothing but the operator will cure
// it: the table is missing, or access to it is denied.
var ErrMisconfigured = errors.New("misconfigured")

// Take is a request for one admission.
type Take struct {
	Key    string // of the window: 1 to MaxKeyBytes+41 visible ASCII characters
	Limit  int    // 1 to MaxRequests
	Window time.Duration
	Now    time.Time
}

// Check tells whether the take is one that a store has to serve.
func (t Take) Check() error {
	switch {
	case t.Key == "" || len(t.Key) > MaxKeyBytes+41:
		return fmt.Errorf("the key of a window has 1 to %d bytes", MaxKeyBytes+41)
	case t.Limit < 1 || t.Limit > MaxRequests:
		return fmt.Errorf("the limit %d is not between 1 and %d", t.Limit, MaxRequests)
	case t.Window < MinWindow || t.Window > MaxWindow || t.Window%time.Millisecond != 0:
		return fmt.Errorf("the window %v is not between %v and %v in whole milliseconds", t.Window, MinWindow, MaxWindow)
	case t.Now.Year() < 2000 || t.Now.Year() > 2200:
		return fmt.Errorf("the clock says %s", t.Now.Format(time.DateOnly))
	}
	return nil
}

// Admission names one admission in its window, in the words of the store that recorded
// it.
type Admission string

// Outcome is what a window says to a take.
type Outcome struct {
	Admission Admission // empty if the window is full
	Remaining int       // how many more would be admitted now

	// FreeAt is when the oldest admission leaves the window, so that one more is
	// admitted. It is after the take's Now.
	FreeAt time.Time

	// Newest is the time of the latest admission in the window.
	Newest time.Time
}
