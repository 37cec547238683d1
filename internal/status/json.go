package status

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// JSON is the report with stable names. Amounts are dollars as exact decimal strings.
type JSON struct {
	Day       string          `json:"day"`
	AsOf      time.Time       `json:"asOf"`
	ResetAt   time.Time       `json:"resetAt"`
	Table     string          `json:"table"`
	Stop      *control.Stop   `json:"stop"`    // null: calls are open
	Limits    []control.Limit `json:"limits"`  // in the place of the file's caps
	Blocked   int             `json:"blocked"` // callers
	Everybody *Ceiling        `json:"everybody"`
	Budgets   []Callers       `json:"budgets"`
	Complete  bool            `json:"complete"` // false: the numbers of the budgets are too low
	Broken    int             `json:"broken"`   // items that cannot be read
	Reads     Reads           `json:"reads"`
}

// Ceiling is what is used of the global ceiling.
type Ceiling struct {
	Budget string `json:"budget"`
	Calls  struct {
		Used      int64  `json:"used"`
		Cap       *int64 `json:"cap"` // null: not limited, and so is what remains
		Remaining *int64 `json:"remaining"`
	} `json:"calls"`
	Spend struct {
		Used      caps.MicroUSD  `json:"used"` // settled
		Held      caps.MicroUSD  `json:"held"`
		Cap       *caps.MicroUSD `json:"cap"`
		Remaining *caps.MicroUSD `json:"remaining"`
		Currency  string         `json:"currency"`
	} `json:"spend"`
}

// JSON returns the report as it is printed with --json.
func (r *Report) JSON() JSON {
	j := JSON{
		Day: r.Day.String(), AsOf: r.AsOf, ResetAt: r.Day.End(), Table: r.Table,
		Stop: r.Control.Stop, Limits: r.Control.Limits, Blocked: len(r.Control.Blocks),
		Budgets: r.Callers, Complete: r.Reads.Complete, Broken: r.Broken, Reads: r.Reads,
	}
	if j.Limits == nil {
		j.Limits = []control.Limit{}
	}
	for i := range j.Budgets {
		if j.Budgets[i].Top == nil {
			j.Budgets[i].Top = []Caller{}
		}
	}
	if g := r.Global; g != nil {
		c := &Ceiling{Budget: g.Budget}
		left := g.Cap.Remaining(g.Usage)
		c.Calls.Used = g.Usage.Calls
		if n, ok := g.Cap.Calls(); ok {
			c.Calls.Cap, c.Calls.Remaining = &n, &left.Calls
		}
		c.Spend.Used, c.Spend.Held, c.Spend.Currency = g.Usage.Settled(), g.Usage.Held, "USD"
		if n, ok := g.Cap.USD(); ok {
			c.Spend.Cap, c.Spend.Remaining = &n, &left.USD
		}
		j.Everybody = c
	}
	return j
}
