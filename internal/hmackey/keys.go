package hmackey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

const (
	readTimeout = 2 * time.Second
	retryEvery  = 5 * time.Second // after a reading that failed

	// ahead is how long after its check a request may still ask for a key: it looks at
	// the clock again when it reserves.
	ahead = time.Minute
)

// ErrStale is wrapped by the error of [Keys.Check]. Nothing may be counted then: a
// version that this instance has not heard of may serve the day.
var ErrStale = errors.New("the HMAC secret was not read since before a new version may have been added for today")

// Config is what [Keys] are made from.
type Config struct {
	Read func(context.Context) (string, error) // gives the kept form
	Now  func() time.Time                      // nil means time.Now

	// OnProblem is told of each reading that fails while the last one still serves, and of
	// a ring that somebody changed in a way that starts counts again.
	OnProblem func(error)
}

// Keys follow the kept form. They are safe for concurrent use.
type Keys struct {
	c     Config
	keyer *caps.Keyer
	turn  chan struct{} // whoever reads

	mu      sync.Mutex
	read    time.Time // when the last good reading was begun
	tried   time.Time // when the last reading was begun
	failure error     // of the last reading; nil if it succeeded
}

// New reads the kept form once.
func New(ctx context.Context, c Config) (*Keys, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	now := c.Now().Round(0) // a frozen process has a wall clock only
	versions, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	keyer, err := caps.NewKeyring(versions...)
	if err != nil {
		return nil, err
	}
	return &Keys{c: c, keyer: keyer, turn: make(chan struct{}, 1), read: now, tried: now}, nil
}

func read(ctx context.Context, c Config) ([]caps.KeyVersion, error) {
	value, err := c.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("the HMAC secret cannot be read: %w", err)
	}
	return Parse(value)
}

// Keyer makes the caller keys, with the versions that were read last.
func (k *Keys) Keyer() *caps.Keyer { return k.keyer }

// Check is to be called for each request, before anything is counted: it reads the kept
// form again when that is due. The error wraps [ErrStale] if the last good reading is
// from more than [Lead] before the day began, however short the outage that it is for;
// otherwise the versions that are known are all that can serve today.
func (k *Keys) Check(ctx context.Context) error {
	now := k.c.Now().Round(0)
	due, stale := k.state(now)
	if !due {
		return stale
	}
	if stale == nil {
		select {
		case k.turn <- struct{}{}:
		default:
			return nil // somebody else is reading
		}
	} else {
		select {
		case k.turn <- struct{}{}:
		case <-ctx.Done():
			return stale
		}
	}
	defer func() { <-k.turn }()
	if due, _ := k.state(now); due {
		k.refresh(ctx, now)
	}
	_, stale = k.state(now)
	return stale
}

// state tells whether the ring should be read now, and whether the last reading is too
// old for the day.
func (k *Keys) state(now time.Time) (due bool, stale error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// A negative age is a clock that was set back; waiting for it could take any time.
	old := func(since time.Time, age time.Duration) bool {
		d := now.Sub(since)
		return d < 0 || d >= age
	}
	due = old(k.read, ReadEvery) && old(k.tried, retryEvery)
	if k.read.Before(caps.DayOf(now.Add(ahead)).Start().Add(-Lead)) {
		stale = ErrStale
		if k.failure != nil {
			stale = fmt.Errorf("%w: %w", ErrStale, k.failure)
		}
	}
	return due, stale
}

// refresh reads the kept form. Others want the answer too, so it does not end with the
// request that happens to be first.
func (k *Keys) refresh(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	versions, err := read(ctx, k.c)
	if err == nil {
		err = k.replace(versions, caps.DayOf(now))
	}
	if err != nil && k.c.OnProblem != nil {
		k.c.OnProblem(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried, k.failure = now, err
	if err == nil {
		k.read = now
	}
}

// replace takes over what was read. That the key of today is another one is told, since
// only somebody who edits the ring by hand can bring it about.
func (k *Keys) replace(versions []caps.KeyVersion, today caps.Day) error {
	const label = "spendcap: is it the same secret"
	before, err := k.keyer.Derive(label, today)
	if err != nil {
		return err
	}
	if err := k.keyer.Replace(versions...); err != nil {
		return err
	}
	after, err := k.keyer.Derive(label, today)
	if err == nil && !bytes.Equal(before, after) && k.c.OnProblem != nil {
		k.c.OnProblem(errors.New("the HMAC secret that serves today was changed: callers are counted from 0 again; use `spendcap rotate-hmac`, which changes it at midnight"))
	}
	return err
}
