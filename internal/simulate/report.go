package simulate

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Report tells what a day came to. Amounts are micro-dollars; in JSON they are dollars,
// as exact decimal texts. It holds nothing about a single caller.
type Report struct {
	Day     string `json:"day"`     // YYYY-MM-DD, UTC
	Callers int    `json:"callers"` // that made at least one request

	// Attempted is Admitted and all of Refused.
	Attempted int      `json:"attempted"`
	Admitted  int      `json:"admitted"`
	Refused   Refusals `json:"refused"`

	// Spent is what the admitted calls were settled at.
	Spent caps.MicroUSD `json:"spentUSD"`

	// Unsettled are the calls that were cut off after [deadlines.Provider]. What they cost
	// is unknown and at most UnsettledHeld, which stays counted for the day.
	Unsettled     int           `json:"unsettled"`
	UnsettledHeld caps.MicroUSD `json:"unsettledHeldUSD"`

	// WithoutCaps is what all requests would have cost that have a price, admitted or
	// not: the file's bounds of a single request, and nothing else, are kept.
	WithoutCaps caps.MicroUSD `json:"withoutCapsUSD"`

	Ceiling Ceiling `json:"ceiling"`

	// The first refusal by a caller's cap, and by the ceiling. They are not there if there
	// was none.
	FirstCallerRefusal  time.Time `json:"firstCallerRefusal,omitzero"`
	FirstCeilingRefusal time.Time `json:"firstCeilingRefusal,omitzero"`

	CallersRefused CallersRefused `json:"callersRefused"`

	Hours  []Hour  `json:"hours"`  // the 24 of the day
	Points []Point `json:"points"` // every ten minutes from 00:00 to 24:00
}

// Refusals counts the requests that were refused, each by one thing only: by what the
// guard asked first, which is a ceiling that it remembers as full, then the caller's cap.
type Refusals struct {
	CallerCalls  int `json:"callerCalls"`  // the caller had no call left
	CallerUSD    int `json:"callerUSD"`    // the worst case did not fit into what the caller had left
	CeilingCalls int `json:"ceilingCalls"` // the ceiling had no call left
	CeilingUSD   int `json:"ceilingUSD"`   // the worst case did not fit under the ceiling
	TooLarge     int `json:"tooLarge"`     // more input than the file allows; nothing was counted
	UnknownModel int `json:"unknownModel"` // no such model in the file; nothing was counted

	// CrowdedOut is the part of CallerUSD and CeilingUSD that only the holds of running
	// calls were in the way of: once those had been settled, there was room.
	CrowdedOut int `json:"crowdedOut"`
}

// Caller is how many requests the callers' caps refused.
func (r Refusals) Caller() int { return r.CallerCalls + r.CallerUSD }

// Ceiling is how many requests the ceiling refused.
func (r Refusals) Ceiling() int { return r.CeilingCalls + r.CeilingUSD }

// Total is how many requests were refused.
func (r Refusals) Total() int { return r.Caller() + r.Ceiling() + r.TooLarge + r.UnknownModel }

// Ceiling tells how full the ceiling got.
type Ceiling struct {
	USD   caps.MicroUSD `json:"usd"`
	Calls *int64        `json:"calls,omitempty"` // nil: calls are not limited

	PeakUSD  caps.MicroUSD `json:"peakUSD"`     // the most that was settled and held together
	PeakHeld caps.MicroUSD `json:"peakHeldUSD"` // the most that was held at one time
	Peak     int           `json:"peakPercent"` // PeakUSD of USD, rounded down
}

// CallersRefused counts callers.
type CallersRefused struct {
	Caller     int `json:"caller"`     // at least once by their own cap
	Ceiling    int `json:"ceiling"`    // at least once by the ceiling
	Everything int `json:"everything"` // every time, by whatever: they got nothing that day
}

// Hour is what the requests that arrived within one hour came to.
type Hour struct {
	Start          time.Time     `json:"start"`
	Attempted      int           `json:"attempted"`
	Admitted       int           `json:"admitted"`
	CallerRefused  int           `json:"callerRefused"`
	CeilingRefused int           `json:"ceilingRefused"`
	OtherRefused   int           `json:"otherRefused"` // too large, or no such model
	Spent          caps.MicroUSD `json:"spentUSD"`     // what they were settled at, perhaps later
}

// Point is the state of the ceiling at one moment. The one at 24:00 has what was settled
// after midnight too: it belongs to the day of its reserve.
type Point struct {
	At    time.Time     `json:"at"`
	Spent caps.MicroUSD `json:"spentUSD"`
	Held  caps.MicroUSD `json:"heldUSD"`
	Peak  caps.MicroUSD `json:"peakUSD"` // the most that was settled and held together since the point before
}
