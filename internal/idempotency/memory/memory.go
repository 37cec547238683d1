// Package memory is the in-process [idempotency.Store], for local runs and tests. What
// it keeps ends with the process and is not shared with another.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
)

// Bounds of what is kept at once. Beyond MaxAnswers and MaxBytes only small answers
// are kept, which say that there was one; beyond MaxItems, at about 300 bytes each,
// a key that is not known yet is refused with an error. Nothing is dropped before its
// time: that would be a second paid call.
const (
	MaxAnswers = 10_000
	MaxBytes   = 64 << 20
	MaxItems   = 1 << 17
)

// sweepEvery is how often items past their time are dropped while there is room.
const sweepEvery = time.Minute

// Store keeps claims and answers in the memory of the process. Use [New].
type Store struct {
	mu        sync.Mutex
	items     map[string]idempotency.Record
	answers   int       // that are not small
	bytes     int       // of these
	now       time.Time // the latest that a claim has told
	nextSweep time.Time
	earliest  time.Time // no item that was there at the last sweep is free before
}

var _ idempotency.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{items: make(map[string]idempotency.Record)} }

// Claim implements [idempotency.Store].
func (s *Store) Claim(ctx context.Context, c idempotency.NewClaim) (idempotency.Record, bool, error) {
	if err := ctx.Err(); err != nil {
		return idempotency.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Now.After(s.now) {
		s.now = c.Now
	}
	if !s.now.Before(s.nextSweep) || len(s.items) >= MaxItems {
		s.sweep()
	}
	r, found := s.items[c.Item]
	switch {
	case found && r.FreeAt.After(c.Now):
		return r, r.Claim == c.ID && len(r.Answer) == 0, nil
	case !found && len(s.items) >= MaxItems:
		return idempotency.Record{}, false, fmt.Errorf("the in-process store is full: it remembers %d idempotency keys and forgets none before its time", MaxItems)
	}
	s.drop(c.Item)
	s.put(c.Item, idempotency.Record{Claim: c.ID, Fingerprint: c.Fingerprint, FreeAt: c.FreeAt})
	return idempotency.Record{}, true, nil
}

// Keep implements [idempotency.Store].
func (s *Store) Keep(ctx context.Context, item string, claim idempotency.ClaimID, sealed []byte, freeAt time.Time) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.items[item]
	if !found || r.Claim != claim {
		return false, nil
	}
	s.drop(item)
	if !small(sealed) && !s.room(sealed) {
		s.sweep()
		if !s.room(sealed) {
			s.put(item, r)
			return false, fmt.Errorf("%w: the in-process store keeps %d answers and %d bytes at most", idempotency.ErrFull, MaxAnswers, MaxBytes)
		}
	}
	r.Answer, r.FreeAt = bytes.Clone(sealed), freeAt
	s.put(item, r)
	return true, nil
}

// Free implements [idempotency.Store].
func (s *Store) Free(ctx context.Context, item string, claim idempotency.ClaimID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.items[item]
	if !found || r.Claim != claim || len(r.Answer) > 0 {
		return false, nil
	}
	s.drop(item)
	return true, nil
}

func small(sealed []byte) bool { return len(sealed) <= idempotency.SmallAnswer }

func (s *Store) room(sealed []byte) bool {
	return s.answers < MaxAnswers && s.bytes+len(sealed) <= MaxBytes
}

func (s *Store) put(item string, r idempotency.Record) {
	s.items[item] = r
	if !small(r.Answer) {
		s.answers++
		s.bytes += len(r.Answer)
	}
	if s.earliest.IsZero() || r.FreeAt.Before(s.earliest) {
		s.earliest = r.FreeAt
	}
}

func (s *Store) drop(item string) {
	if r := s.items[item]; !small(r.Answer) {
		s.answers--
		s.bytes -= len(r.Answer)
	}
	delete(s.items, item)
}

// sweep drops the items past their time, unless it is known that there are none: a
// full store must not walk all its items for each request that it refuses.
func (s *Store) sweep() {
	s.nextSweep = s.now.Add(sweepEvery)
	if s.now.Before(s.earliest) {
		return
	}
	s.earliest = time.Time{}
	for item, r := range s.items {
		if !r.FreeAt.After(s.now) {
			s.drop(item)
		} else if s.earliest.IsZero() || r.FreeAt.Before(s.earliest) {
			s.earliest = r.FreeAt
		}
	}
}
