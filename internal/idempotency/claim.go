package idempotency

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The errors of a claim's end. The answer goes to the viewer all the same.
var (
	// ErrNotKept says that the answer was too large, or the store full. The key is
	// remembered without it: a repeat is told [NotKept] and pays nothing.
	ErrNotKept = errors.New("the answer is not kept")

	// ErrLost says that the lease ended before the call did and the key was claimed
	// again, so that there may be a second paid call.
	ErrLost = errors.New("the claim was lost: its lease ended before the call did")

	// ErrEnded says that the claim was finished or abandoned before.
	ErrEnded = errors.New("the claim has ended")
)

// Claim is the right to make the one paid call of an Idempotency-Key. It ends with
// Finish, with Abandon, or by itself when the lease is over.
type Claim struct {
	keeper  *Keeper
	entries []*entry // what was claimed: one, or two just after a change of the secret's version
	id      ClaimID
	until   time.Time // how long the answer is kept

	mu    sync.Mutex
	ended bool
}

// Finish keeps the answer for repeats. It does not depend on ctx being alive. The
// error is for the log: it wraps [ErrNotKept] or [ErrLost], or the store could not be
// asked. In the last case the claim stands until its lease ends, and a retry after
// that pays again.
func (c *Claim) Finish(ctx context.Context, a Answer) error {
	if err := a.check(); err != nil {
		return err
	}
	if err := c.end(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, e := range c.entries {
		errs = append(errs, c.finish(ctx, e, a))
	}
	return errors.Join(errs...)
}

func (c *Claim) finish(ctx context.Context, e *entry, a Answer) error {
	sealed := e.seal(a)
	if len(sealed) > c.keeper.largest {
		return c.remember(ctx, e, fmt.Errorf("%w: sealed it has %d bytes, at most %d are kept", ErrNotKept, len(sealed), c.keeper.largest))
	}
	err := c.keep(ctx, e, sealed)
	if errors.Is(err, ErrFull) {
		return c.remember(ctx, e, fmt.Errorf("%w: %w", ErrNotKept, err))
	}
	return err
}

// remember keeps the zero Answer in the place of one that is not kept.
func (c *Claim) remember(ctx context.Context, e *entry, why error) error {
	return errors.Join(why, c.keep(ctx, e, e.seal(Answer{})))
}

func (c *Claim) keep(ctx context.Context, e *entry, sealed []byte) error {
	k := c.keeper
	kept, err := k.store.Keep(ctx, e.item, c.id, sealed, c.until)
	switch {
	case err != nil:
		return fmt.Errorf("keeping an answer: %w", err)
	case !kept:
		return ErrLost
	}
	k.recent.add(e.item, Record{c.id, e.fingerprint, c.until, sealed}, wholeMilliseconds(k.now()))
	return nil
}

// Abandon gives the key back, because nothing was paid: the next request with it is
// a fresh one. It does not depend on ctx being alive. After an error the claim stands
// until its lease ends.
func (c *Claim) Abandon(ctx context.Context) error {
	if err := c.end(); err != nil {
		return err
	}
	var errs []error
	for _, e := range c.entries {
		// A claim that is no longer there is as good as given back.
		if _, err := c.keeper.store.Free(context.WithoutCancel(ctx), e.item, c.id); err != nil {
			errs = append(errs, fmt.Errorf("giving an idempotency key back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// end lets the claim end once: whatever came of a write, it may have landed.
func (c *Claim) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return ErrEnded
	}
	c.ended = true
	return nil
}
