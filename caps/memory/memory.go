// Package memory is the in-process [caps.Store]. Its counts end with the process
// and are not shared with another, so it is for tests, for local runs, and for a
// service that is one process by design; on Lambda every container would have its
// own counts.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// MaxItems bounds the budgets of all days that are kept, at up to about 300 bytes each.
// Dropping one would admit above its cap, so a store that is full returns an error
// for a caller it does not know yet; expired days are dropped first.
const MaxItems = 1 << 20

var errOtherCharge = errors.New("the charge's ID stands for a hold of another amount: draw an ID for every charge")

// Store keeps counts in the memory of the process. Use [New].
type Store struct {
	now func() time.Time
	max int // items

	mu    sync.Mutex
	items map[caps.ItemKey]*item
	swept caps.Day // expired days have been dropped up to this day
}

var _ caps.Store = (*Store)(nil)

type item struct {
	calls     int64
	usd, held caps.MicroUSD
	holds     map[string]caps.MicroUSD // open holds by ID
	finals    finals
}

// New returns an empty store. now tells the time; nil means time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{now: now, max: MaxItems, items: make(map[caps.ItemKey]*item)}
}

// Reserve implements [caps.Store].
func (s *Store) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	if err := errors.Join(ctx.Err(), c.Check(), limit.Check()); err != nil {
		return caps.Outcome{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[c.Key]
	landed, err := it.reserved(c)
	if err != nil {
		return caps.Outcome{}, err
	}
	if landed {
		return caps.Outcome{Allowed: true, Usage: it.usage()}, nil
	}
	if !limit.Admits(it.usage(), c.Amount) {
		return caps.Outcome{Usage: it.usage()}, nil
	}
	sum, err := it.usage().USD.Add(c.Amount)
	if err != nil {
		return caps.Outcome{}, err
	}
	if it == nil {
		if it, err = s.create(c.Key); err != nil {
			return caps.Outcome{}, err
		}
	}
	it.calls++
	it.usd = sum
	if !c.Final {
		it.held += c.Amount
	}
	it.note(c, s.now())
	return caps.Outcome{Allowed: true, Usage: it.usage()}, nil
}

// Settle implements [caps.Store].
func (s *Store) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	if err := errors.Join(ctx.Err(), c.Check(), actual.Check()); err != nil {
		return false, err
	}
	if c.Final {
		return false, errors.New("a final charge has nothing to settle")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[c.Key]
	if !it.has(c) {
		return false, nil
	}
	it.held -= c.Amount
	it.usd = min(caps.MaxMicroUSD, it.usd-c.Amount+actual)
	it.forget(c.ID)
	return true, nil
}

// Release implements [caps.Store].
func (s *Store) Release(ctx context.Context, c caps.Charge) (bool, error) {
	if err := errors.Join(ctx.Err(), c.Check()); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.items[c.Key]
	if !it.has(c) {
		return false, nil
	}
	it.calls--
	it.usd -= c.Amount
	if !c.Final {
		it.held -= c.Amount
	}
	it.forget(c.ID)
	return true, nil
}

// Usage implements [caps.Store].
func (s *Store) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	if err := ctx.Err(); err != nil {
		return caps.Usage{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[key].usage(), nil
}

// create adds an empty item, after dropping the days that have expired.
func (s *Store) create(key caps.ItemKey) (*item, error) {
	now := s.now()
	if today := caps.DayOf(now); today != s.swept {
		for k := range s.items {
			if k.Day.Expiry().Before(now) {
				delete(s.items, k)
			}
		}
		s.swept = today
	}
	if len(s.items) >= s.max {
		return nil, fmt.Errorf("the in-process store is full: it keeps %d budgets and forgets none before its day has expired", s.max)
	}
	it := &item{}
	s.items[key] = it
	return it, nil
}

func (it *item) usage() caps.Usage {
	if it == nil {
		return caps.Usage{}
	}
	// A shared budget cannot tell that a final charge was released twice.
	held := min(it.held, it.usd)
	return caps.Usage{Calls: it.calls, USD: it.usd, Held: held, Open: len(it.holds)}
}

// reserved tells whether the charge has been reserved already and may be told apart.
func (it *item) reserved(c caps.Charge) (bool, error) {
	if it == nil || c.ID == "" {
		return false, nil
	}
	if amount, ok := it.holds[c.ID]; ok && !c.Final && amount != c.Amount {
		return false, errOtherCharge
	}
	return it.has(c), nil
}

// has tells whether the charge is there. A budget shared by everybody keeps no IDs;
// there it is enough that as much is held (or, for a final charge, counted).
func (it *item) has(c caps.Charge) bool {
	switch {
	case it == nil:
		return false
	case c.ID == "":
		return it.calls > 0 && it.usd >= c.Amount && (c.Final || it.held >= c.Amount)
	case c.Final:
		return it.finals.has(c.ID)
	default:
		amount, ok := it.holds[c.ID]
		return ok && amount == c.Amount
	}
}

// note keeps the charge's ID, if it has one.
func (it *item) note(c caps.Charge, now time.Time) {
	switch {
	case c.ID == "":
	case c.Final:
		it.finals.add(c.ID, now)
	default:
		if it.holds == nil {
			it.holds = make(map[string]caps.MicroUSD)
		}
		it.holds[c.ID] = c.Amount
	}
}

// forget drops an ID. An item without open holds keeps no map for them: most callers
// make one call.
func (it *item) forget(id string) {
	it.finals.drop(id)
	if delete(it.holds, id); len(it.holds) == 0 {
		it.holds = nil
	}
}
