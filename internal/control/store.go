package control

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// HistoryKept is how many of the newest changes [Store.History] lists.
const HistoryKept = 100

// Reader is what an instance asks of a store. It is safe for concurrent use.
type Reader interface {
	// Read returns the state and its version, with every change that ended before Read
	// began. The version is 0, and the state the zero State, if nothing was ever set. A
	// state that cannot be read is an error, never "nothing set". Read gives up when ctx
	// is done.
	Read(ctx context.Context) (s State, version int64, err error)
}

// Store keeps the state and the record of its changes. The suite in
// internal/control/controltest checks this contract.
type Store interface {
	Reader

	// Write puts s in the place of the state with the given version, which then has the
	// next version, and keeps r, whose Version is that next one: both or neither. It
	// reports whether it did: false means that the state has another version by now, and
	// nothing was changed. After an error that wraps [ErrUnknownOutcome] it may have been
	// written; after any other it was not.
	Write(ctx context.Context, version int64, s State, r Record) (bool, error)

	// History returns the newest records, the newest first, at most HistoryKept.
	History(ctx context.Context) ([]Record, error)
}

// ErrUnknownOutcome is wrapped by an error after which a change may have been written
// nevertheless.
var ErrUnknownOutcome = errors.New("it is unknown whether the change was made; look at the state, and try again if it was not")

// maxIDBytes is what DynamoDB takes as the token of a transaction.
const maxIDBytes = 36

// Action is a kind of change.
type Action string

const (
	ActionStop    Action = "stop"
	ActionResume  Action = "resume"
	ActionBlock   Action = "block"
	ActionUnblock Action = "unblock"
	ActionLimit   Action = "limit"
)

// Record tells who changed what and when. Old and New have only what the change
// touched, and are the zero State where nothing was, or is, set.
type Record struct {
	Version int64     `json:"version"` // of the state after the change
	ID      string    `json:"id"`      // drawn by whoever makes it, at most 36 bytes
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Action  Action    `json:"action"`
	Old     State     `json:"old"`
	New     State     `json:"new"`
}

// CheckWrite tells whether the arguments of [Store.Write] belong together.
func CheckWrite(version int64, r Record) error {
	if r.Version != version+1 {
		return fmt.Errorf("the record's version is %d and not %d, one above the state's", r.Version, version+1)
	}
	return r.check()
}

func (r *Record) check() error {
	switch r.Action {
	case ActionStop, ActionResume, ActionBlock, ActionUnblock, ActionLimit:
	default:
		return fmt.Errorf("record: there is no action %q", r.Action)
	}
	if r.Version < 1 || r.ID == "" || len(r.ID) > maxIDBytes {
		return fmt.Errorf("record: the version is missing, or the ID is not one of 1 to %d bytes", maxIDBytes)
	}
	if err := checkOrigin(r.At, r.By); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := errors.Join(r.Old.Check(), r.New.Check()); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}
