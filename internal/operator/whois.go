package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Bucket is what a caller has used of one budget on a day.
type Bucket struct {
	Budget    string        `json:"budget"`
	Key       string        `json:"key"` // of the caller, for this budget and day only
	Cap       caps.Cap      `json:"cap"` // in force
	Calls     int64         `json:"calls"`
	Used      caps.MicroUSD `json:"used"` // settled, in dollars
	Held      caps.MicroUSD `json:"held"` // in dollars
	OpenHolds int           `json:"openHolds"`
	UsedUp    bool          `json:"usedUp"` // nothing is left of the cap
}

// Buckets reads what the caller has used on the day of each budget, which has the cap in
// force.
func Buckets(ctx context.Context, store caps.Store, keyer *caps.Keyer, caller caps.Caller, day caps.Day, budgets []caps.Budget) ([]Bucket, error) {
	list := []Bucket{}
	for _, b := range budgets {
		key := keyer.Key(b.Name, day, caller)
		u, err := store.Usage(ctx, caps.ItemKey{Budget: b.Name, Day: day, Caller: key})
		if err != nil {
			return nil, fmt.Errorf("reading the budget %s: %w", b.Name, err)
		}
		list = append(list, Bucket{b.Name, key, b.Cap, u.Calls, u.Settled(), u.Held, u.Open, !b.Cap.Admits(u, 1)})
	}
	return list, nil
}

// ItemOf finds the item of the day that a caller key is of, among those of the budgets.
func ItemOf(ctx context.Context, store caps.Store, key string, day caps.Day, budgets []caps.Budget) (caps.ItemKey, error) {
	for _, b := range budgets {
		item := caps.ItemKey{Budget: b.Name, Day: day, Caller: key}
		u, err := store.Usage(ctx, item)
		if err != nil {
			return item, fmt.Errorf("reading the budget %s: %w", b.Name, err)
		}
		if u != (caps.Usage{}) {
			return item, nil
		}
	}
	return caps.ItemKey{}, errors.New("no caller of today has this key: keys change with the day, so copy one of today from `spendcap status`, or give the address")
}

// BlockOf returns the block by which a caller with one of the keys is refused now; nil
// if there is none.
func BlockOf(s control.State, now time.Time, keys ...string) *control.Block {
	for _, b := range s.Blocks {
		if b.InForce(now) && slices.Contains(keys, b.Key) {
			return &b
		}
	}
	return nil
}

// Names are the names of the budgets.
func Names(budgets []caps.Budget) []string {
	var names []string
	for _, b := range budgets {
		names = append(names, b.Name)
	}
	return names
}

// InForce returns the budgets with the caps in force on the day.
func InForce(s control.State, day caps.Day, budgets []caps.Budget) []caps.Budget {
	budgets = slices.Clone(budgets)
	for i, b := range budgets {
		budgets[i].Cap = s.Cap(b, day)
	}
	return budgets
}
