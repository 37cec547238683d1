package status

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// topSize is how many of the callers that used most are told.
const topSize = 10

// Caller is what one caller has used.
type Caller struct {
	Key       string        `json:"key"`
	Calls     int64         `json:"calls"`
	Used      caps.MicroUSD `json:"used"` // settled, in dollars
	Held      caps.MicroUSD `json:"held"` // in dollars
	OpenHolds int           `json:"openHolds"`
	Capped    bool          `json:"capped"`
}

// Callers are all callers of one budget together.
type Callers struct {
	Budget    string        `json:"budget"`
	Cap       *caps.Cap     `json:"cap"` // in force for one caller; null if there is none for all of them
	Seen      int64         `json:"seen"`
	Capped    int64         `json:"capped"` // see Config.Least
	Calls     int64         `json:"calls"`
	Used      caps.MicroUSD `json:"used"`      // settled, in dollars
	Held      caps.MicroUSD `json:"held"`      // in dollars
	OpenHolds int64         `json:"openHolds"` // calls that are running, or whose cost was never known
	Top       []Caller      `json:"top"`       // the ten that used most, dollars before calls
}

// add counts one caller.
func (c *Callers) add(key string, u caps.Usage, capped bool) {
	c.Seen++
	if capped {
		c.Capped++
	}
	c.Calls += u.Calls
	c.Used = plus(c.Used, u.Settled())
	c.Held = plus(c.Held, u.Held)
	c.OpenHolds += int64(u.Open)
	caller := Caller{Key: key, Calls: u.Calls, Used: u.Settled(), Held: u.Held, OpenHolds: u.Open, Capped: capped}
	at, _ := slices.BinarySearchFunc(c.Top, caller, byUse)
	if at < topSize {
		c.Top = slices.Insert(c.Top[:min(len(c.Top), topSize-1)], at, caller)
	}
}

// byUse has those that used most first.
func byUse(a, b Caller) int {
	return cmp.Or(
		cmp.Compare(b.Used+b.Held, a.Used+a.Held),
		cmp.Compare(b.Calls, a.Calls),
		strings.Compare(a.Key, b.Key),
	)
}

// plus adds amounts; a sum above the largest amount is that.
func plus(a, b caps.MicroUSD) caps.MicroUSD {
	if sum, err := a.Add(b); err == nil {
		return sum
	}
	return caps.MaxMicroUSD
}
