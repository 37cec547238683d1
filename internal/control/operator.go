package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// ErrUnchanged is wrapped by the error of a change that would change nothing, such as
// resuming what is not stopped.
var ErrUnchanged = errors.New("nothing was changed")

// maxTries bounds how often a change is made again because somebody else made one at
// the same time.
const maxTries = 10

// OperatorConfig is what an [Operator] is made from.
type OperatorConfig struct {
	Store Store
	By    string // who it is, for the record: one printable line of at most MaxByBytes

	// Budgets are those of the operator's file, as (*config.Config).Budgets gives them.
	// Only their caps can be limited.
	Budgets []caps.Budget

	Now func() time.Time // nil: time.Now
}

// Operator changes the state. Each change returns its record, with the old and the new
// value. It is safe for concurrent use, also with other operators.
type Operator struct{ c OperatorConfig }

// NewOperator returns an operator, or an error that names the setting that is wrong.
func NewOperator(c OperatorConfig) (*Operator, error) {
	if c.Store == nil {
		return nil, errors.New("control.OperatorConfig.Store is missing")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.By = strings.TrimSpace(c.By)
	if err := checkOrigin(c.Now(), c.By); err != nil {
		return nil, err
	}
	return &Operator{c}, nil
}

// State returns what is set now.
func (o *Operator) State(ctx context.Context) (State, error) {
	s, _, err := o.c.Store.Read(ctx)
	return s.At(o.c.Now()), err
}

// History returns the newest changes, the newest first, at most HistoryKept.
func (o *Operator) History(ctx context.Context) ([]Record, error) { return o.c.Store.History(ctx) }

// Stop refuses all calls of everybody until Resume. message is what callers are told,
// one printable line of at most MaxMessageBytes; empty means a sentence of our own.
func (o *Operator) Stop(ctx context.Context, message string) (Record, error) {
	return o.change(ctx, ActionStop, func(s *State, c *change) error {
		stop := &Stop{Message: message, Since: c.at, By: c.by}
		if old := s.Stop; old != nil {
			if old.Message == message {
				return fmt.Errorf("calls are stopped already, since %s by %s: %w", old.Since.Format(time.RFC3339), old.By, ErrUnchanged)
			}
			c.old.Stop, stop.Since = old, old.Since
		}
		s.Stop, c.new.Stop = stop, stop
		return nil
	})
}

// Resume takes a stop back.
func (o *Operator) Resume(ctx context.Context) (Record, error) {
	return o.change(ctx, ActionResume, func(s *State, c *change) error {
		if s.Stop == nil {
			return fmt.Errorf("calls are not stopped: %w", ErrUnchanged)
		}
		c.old.Stop, s.Stop = s.Stop, nil
		return nil
	})
}

// Block refuses one caller, from now on until b.Until or until Unblock. Since and By
// are filled in.
func (o *Operator) Block(ctx context.Context, b Block) (Record, error) {
	return o.change(ctx, ActionBlock, func(s *State, c *change) error {
		b.Since, b.By, b.Until = c.at, c.by, upToSecond(b.Until)
		if today := caps.DayOf(c.at); b.Day != 0 && b.Day != today {
			return fmt.Errorf("day: a key stands for its caller on its own day only, and this one is of %s: copy one of today (%s), or give the address", b.Day, today)
		}
		if b.Day != 0 && b.Until.After(b.Day.End()) {
			return fmt.Errorf("until: a key of today's items stands for its caller until %s only: block the address to block it for longer", b.Day.End().Format(time.RFC3339))
		}
		if !b.Until.IsZero() && !b.Until.After(c.at) {
			return fmt.Errorf("until: %s is not in the future", b.Until.Format(time.RFC3339))
		}
		if i := slices.IndexFunc(s.Blocks, func(other Block) bool { return other.id() == b.id() }); i >= 0 {
			c.old.Blocks = []Block{s.Blocks[i]}
			s.Blocks[i] = b
		} else {
			s.Blocks = append(s.Blocks, b)
		}
		c.new.Blocks = []Block{b}
		return nil
	})
}

// Unblock takes the blocks of all the keys back, see [KeysOf].
func (o *Operator) Unblock(ctx context.Context, keys ...string) (Record, error) {
	return o.change(ctx, ActionUnblock, func(s *State, c *change) error {
		s.Blocks = slices.DeleteFunc(s.Blocks, func(b Block) bool {
			found := slices.Contains(keys, b.Key)
			if found {
				c.old.Blocks = append(c.old.Blocks, b)
			}
			return found
		})
		if len(c.old.Blocks) == 0 {
			return fmt.Errorf("this caller is not blocked: %w", ErrUnchanged)
		}
		return nil
	})
}

// Limit puts the parts that cap has in the place of the budget's, today or until
// further notice. Parts that were set before and are not in cap stay.
func (o *Operator) Limit(ctx context.Context, budget string, forToday bool, cap caps.Cap) (Record, error) {
	return o.change(ctx, ActionLimit, func(s *State, c *change) error {
		if err := o.checkLimit(budget, cap); err != nil {
			return err
		}
		l := Limit{Budget: budget, Cap: cap, Since: c.at, By: c.by}
		if forToday {
			l.Day = caps.DayOf(c.at)
		}
		if i := slices.IndexFunc(s.Limits, l.same); i >= 0 {
			old := s.Limits[i]
			l.Cap = override(old.Cap, cap)
			if l.Cap == old.Cap {
				return fmt.Errorf("this limit is set already, since %s by %s: %w", old.Since.Format(time.RFC3339), old.By, ErrUnchanged)
			}
			c.old.Limits = []Limit{old}
			s.Limits[i] = l
		} else {
			s.Limits = append(s.Limits, l)
		}
		c.new.Limits = []Limit{l}
		return nil
	})
}

// Unlimit takes the limits of a budget back, today's only or all of them.
func (o *Operator) Unlimit(ctx context.Context, budget string, todays bool) (Record, error) {
	return o.change(ctx, ActionLimit, func(s *State, c *change) error {
		s.Limits = slices.DeleteFunc(s.Limits, func(l Limit) bool {
			found := l.Budget == budget && (!todays || l.Day != 0)
			if found {
				c.old.Limits = append(c.old.Limits, l)
			}
			return found
		})
		if len(c.old.Limits) == 0 {
			return fmt.Errorf("no such limit of budget %q is set: %w", budget, ErrUnchanged)
		}
		return nil
	})
}

// checkLimit refuses a part that the file's cap does not have: nobody would expect it
// from the file, and a call that has no price could not be held to it.
func (o *Operator) checkLimit(budget string, cap caps.Cap) error {
	i := slices.IndexFunc(o.c.Budgets, func(b caps.Budget) bool { return b.Name == budget })
	if i < 0 {
		var names []string
		for _, b := range o.c.Budgets {
			names = append(names, b.Name)
		}
		return fmt.Errorf("budget: the file has none named %q; it has %s", budget, strings.Join(names, ", "))
	}
	if err := cap.Check(); err != nil {
		return err
	}
	file := o.c.Budgets[i].Cap
	_, hasCalls := file.Calls()
	_, hasUSD := file.USD()
	if _, set := cap.Calls(); set && !hasCalls {
		return fmt.Errorf("calls: the file caps the budget %s in usd only: give usd, or add calls to the file and deploy it", budget)
	}
	if _, set := cap.USD(); set && !hasUSD {
		return fmt.Errorf("usd: the file caps the budget %s in calls only: give calls, or add usd to the file and deploy it", budget)
	}
	return nil
}

// change is a change in the making.
type change struct {
	at       time.Time
	by       string
	old, new State // what is touched
}

func (o *Operator) change(ctx context.Context, a Action, apply func(*State, *change) error) (Record, error) {
	for range maxTries {
		s, version, err := o.c.Store.Read(ctx)
		if err != nil {
			return Record{}, err
		}
		c := &change{at: o.c.Now().UTC().Truncate(time.Second), by: o.c.By}
		s = s.At(c.at)
		if err := apply(&s, c); err != nil {
			return Record{}, err
		}
		if err := s.Check(); err != nil {
			return Record{}, err
		}
		id, err := newID()
		if err != nil {
			return Record{}, err
		}
		r := Record{Version: version + 1, ID: id, At: c.at, By: c.by, Action: a, Old: c.old, New: c.new}
		if written, err := o.c.Store.Write(ctx, version, s, r); written || err != nil {
			return r, err
		}
	}
	return Record{}, fmt.Errorf("others changed the state %d times meanwhile: try again", maxTries)
}

// upToSecond rounds up to a whole second, in UTC.
func upToSecond(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if cut := t.UTC().Truncate(time.Second); cut.Before(t) {
		return cut.Add(time.Second)
	} else {
		return cut
	}
}

func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("drawing an ID: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
