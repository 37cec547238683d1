package caps

import (
	"context"
	"errors"
	"strings"
)

// Store counts what budgets have used. It is the one thing all processes share,
// and every promise of this package rests on Reserve being a single atomic step.
//
// Refused is a value, broken is an error: an [Outcome] is what the cap says; an
// error says that the store could not be asked, and the caller decides (for paid
// calls: refuse). A store never answers "refused" because it is slow, throttled or
// in conflict.
//
// All methods are safe for concurrent use. Each returns within a deadline of the
// store's own, also when ctx has none, and gives up early when ctx is done. After
// an error that wraps [ErrUnknownOutcome] the write may have landed, now or later;
// after any other error it did not and will not.
//
// The suite in caps/capstest checks this contract.
type Store interface {
	// Reserve takes one call and c.Amount out of the budget, if c.Key's usage
	// admits it under limit (see [Cap.Admits]); otherwise it changes nothing. It
	// never admits less than was asked for. The outcome's usage is the one after the
	// call if it was admitted (after a retry perhaps a later one), and the one that
	// refused it if not.
	//
	// If c.ID is not empty, Reserve is idempotent: while the hold (or, for a final
	// charge, its marker) is there, the same charge again is allowed and takes
	// nothing, also when the budget is full by now. The ID of a hold with another
	// amount is an error. So is a charge that would lift the sum above MaxMicroUSD
	// where the cap does not limit dollars; it wraps ErrAmount.
	Reserve(ctx context.Context, c Charge, limit Cap) (Outcome, error)

	// Settle replaces the hold c by what the call really cost, which may be more than
	// was held. It reports whether it did: false means that there is no such hold
	// (any more), and nothing was changed. c is the charge that was reserved, and not
	// a final one. In a budget shared by everybody it is enough that as much is held.
	// Of two different settles of one hold at the same time both may report true if a
	// reply was lost; only one is applied.
	Settle(ctx context.Context, c Charge, actual MicroUSD) (bool, error)

	// Release gives a reserved charge back whole, the call and the amount. It reports
	// whether it did: false means that it is not there (any more).
	Release(ctx context.Context, c Charge) (bool, error)

	// Usage returns what the budget has used; the zero Usage if it has no item.
	Usage(ctx context.Context, key ItemKey) (Usage, error)
}

// ErrUnknownOutcome is wrapped by a store's error when the write may have landed
// nevertheless: the reply was lost, late or unreadable.
var ErrUnknownOutcome = errors.New("outcome unknown")

// ItemKey names one budget of one caller on one day.
type ItemKey struct {
	Budget string // which cap: letters, digits and hyphens
	Day    Day
	Caller string // the caller key, or [Everybody]
}

// Everybody stands in for the caller key where a budget is shared by all callers.
const Everybody = "all"

// String returns "<budget>#<YYYY-MM-DD>#<caller key>", the partition key in
// DynamoDB.
func (k ItemKey) String() string {
	return k.Budget + "#" + k.Day.String() + "#" + k.Caller
}

// ParseItemKey reads what [ItemKey.String] writes.
func ParseItemKey(s string) (ItemKey, error) {
	parts := strings.Split(s, "#")
	if len(parts) != 3 {
		return ItemKey{}, errors.New("an item key has three parts, <budget>#<YYYY-MM-DD>#<caller key>")
	}
	day, err := ParseDay(parts[1])
	if err != nil {
		return ItemKey{}, err
	}
	return ItemKey{Budget: parts[0], Day: day, Caller: parts[2]}, nil
}

// Charge is what one call takes out of one budget.
type Charge struct {
	Key    ItemKey
	Amount MicroUSD // the worst case; 0 to MaxMicroUSD

	// ID names the hold in the budget's item. It is drawn before the first attempt, so
	// that its presence tells a retry that an earlier one has landed. It is empty only
	// for a budget shared by everybody, whose item would grow with the traffic: there
	// holds cannot be told apart, a reserve is not idempotent, and a store must not
	// send one again unless the first certainly did not land.
	ID string

	// Final says that the amount is what the call costs. It is booked at once: no hold
	// is open afterwards and there is nothing to settle. A store keeps the ID for at
	// least as long as a retry of the same Reserve may arrive.
	Final bool
}

// Check tells whether the charge can be reserved.
func (c Charge) Check() error {
	if c.Key.Budget == "" || c.Key.Caller == "" || strings.Contains(c.Key.Budget+c.Key.Caller, "#") {
		return errors.New("a charge needs a budget and a caller key, without '#'")
	}
	if (c.ID == "") != (c.Key.Caller == Everybody) {
		return errors.New("a charge has an ID exactly if its budget belongs to one caller")
	}
	return c.Amount.Check()
}

// Usage is what a budget has used.
type Usage struct {
	Calls int64    // calls taken, with those of open holds
	USD   MicroUSD // settled and held together
	Held  MicroUSD // the part of USD that is held
	Open  int      // open holds; always 0 for a budget shared by everybody, which keeps none
}

// Settled is the part of USD that is not held.
func (u Usage) Settled() MicroUSD { return u.USD - u.Held }

// Outcome is what a cap says to a charge.
type Outcome struct {
	Allowed bool
	Usage   Usage
}
