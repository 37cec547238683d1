package api

import (
	"context"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

type capBody struct {
	CountedAs string    `json:"countedAs"`
	Tier      string    `json:"tier,omitempty"`  // of a signed-in caller
	Calls     *calls    `json:"calls,omitempty"` // absent if the cap does not limit calls
	Spend     *spend    `json:"spend,omitempty"` // absent if the cap does not limit dollars
	ResetAt   time.Time `json:"resetAt"`
	Stopped   bool      `json:"stopped,omitempty"` // by the operator: no call is admitted at the moment
	Message   string    `json:"message,omitempty"` // why, if it is stopped
}

type calls struct {
	Used      int64 `json:"used"`
	Cap       int64 `json:"cap"`
	Remaining int64 `json:"remaining"`
}

// spend is in dollars, as exact decimals.
type spend struct {
	Used      caps.MicroUSD `json:"used"` // settled
	Held      caps.MicroUSD `json:"held"`
	Cap       caps.MicroUSD `json:"cap"`
	Remaining caps.MicroUSD `json:"remaining"`
	Currency  string        `json:"currency"`
}

// readCap tells the caller about its own bucket for paid calls without taking
// anything out of it.
func (r *request) readCap(ctx context.Context) *answer {
	d, err := r.guard.Usage(ctx, r.caller)
	if err != nil {
		return r.storeUnavailable(ctx, err)
	}
	body := capBody{CountedAs: r.caller.String(), Tier: r.tier, ResetAt: d.ResetAt}
	if n, limited := d.Cap.Calls(); limited {
		body.Calls = &calls{d.Used.Calls, n, d.Remaining.Calls}
	}
	if usd, limited := d.Cap.USD(); limited {
		body.Spend = &spend{d.Used.USD, d.Held, usd, d.Remaining.USD, "USD"}
	}
	if r.stop != nil {
		body.Stopped, body.Message = true, stopMessage(r.stop)
	}
	return jsonAnswer(200, body)
}
