package idempotency

import (
	"context"
	"errors"
	"time"
)

// Store keeps the claims and the sealed answers. It is what all processes share, and
// that one key is one paid call rests on Claim being a single atomic step.
//
// Times are whole milliseconds and come from the caller; a store has no clock of its
// own, and an item past its time is free whether or not it is still there. All
// methods are safe for concurrent use. Each returns within a deadline of the store's
// own, also when ctx has none. After an error the write may have landed; all of them
// may be sent again, because the claim's ID tells a repeat from a rival.
//
// The suite in idemtest checks this contract.
type Store interface {
	// Claim takes the item if it is free at c.Now: it is not there, it was freed, or its
	// time has come. If it is not free, Claim changes nothing and returns what is there.
	// The same claim again is claimed, as long as it has no answer.
	Claim(ctx context.Context, c NewClaim) (Record, bool, error)

	// Keep adds the sealed answer to a claim, and moves the time at which the item is
	// free again. It reports whether it did: false means that the item is not held by
	// this claim (any more), and nothing was changed. An error that wraps [ErrFull]
	// says the same of an answer that is larger than the store takes now; a sealed
	// answer of up to [SmallAnswer] bytes never meets it.
	Keep(ctx context.Context, item string, claim ClaimID, sealed []byte, freeAt time.Time) (bool, error)

	// Free gives up a claim that has no answer. It reports whether it did.
	Free(ctx context.Context, item string, claim ClaimID) (bool, error)
}

// ErrFull is wrapped by the error of [Store.Keep] when there is no room for the answer.
var ErrFull = errors.New("no room for the answer")

// SmallAnswer is the size in bytes of a sealed answer that every store keeps if it
// keeps the claim.
const SmallAnswer = 64

// ClaimID is drawn at random for each request, before the first attempt to claim.
type ClaimID [16]byte

// Fingerprint is a keyed hash of what is asked for.
type Fingerprint [32]byte

// NewClaim is what a request claims an item with.
type NewClaim struct {
	Item        string // the item's key
	ID          ClaimID
	Fingerprint Fingerprint
	Now         time.Time
	FreeAt      time.Time // when the lease ends
	ExpiresAt   time.Time // when the item may be deleted, whole seconds; housekeeping
}

// Record is what an item holds while it is not free. What it refers to is not to be
// modified.
type Record struct {
	Claim       ClaimID
	Fingerprint Fingerprint
	FreeAt      time.Time
	Answer      []byte // sealed; empty while the claim is running
}
