package api

import (
	"context"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

type demoBody struct {
	Capped     bool       `json:"capped"`
	CountedAs  string     `json:"countedAs"`
	Count      int64      `json:"count"`
	Cap        int64      `json:"cap"`
	Remaining  int64      `json:"remaining"`
	ResetAt    time.Time  `json:"resetAt"`
	Ignored    ignored    `json:"ignored"`
	Scope      caps.Scope `json:"scope,omitempty"`
	RetryAfter int64      `json:"retryAfter,omitempty"` // seconds
	Message    string     `json:"message,omitempty"`
}

// ignored shows the viewer what it sent and nobody looked at.
type ignored struct {
	XForwardedFor string `json:"x-forwarded-for,omitempty"`
}

// countDemoCall counts one call against the demo cap and calls nothing. The body is
// not read.
func (r *request) countDemoCall(ctx context.Context) *answer {
	res, err := r.Demo.Charge(ctx, r.caller, 0)
	if err != nil {
		return r.storeUnavailable(ctx, err)
	}
	r.demo = res
	return nil
}

func (r *request) answerDemoCall(context.Context) *answer {
	res := r.demo
	r.countDecision(res.Decision)
	calls, _ := res.Cap.Calls()
	body := demoBody{
		Capped:    !res.Allowed,
		CountedAs: r.caller.String(),
		Count:     res.Used.Calls,
		Cap:       calls,
		Remaining: res.Remaining.Calls,
		ResetAt:   res.ResetAt,
		Ignored:   ignored{r.header("x-forwarded-for")},
	}
	status := 200
	if !res.Allowed {
		status = 429
		body.Scope, body.RetryAfter, body.Message = res.Scope, retryAfter(res.Decision), sentence(res.Decision)
	}
	a := jsonAnswer(status, body)
	r.addLimits(a, res.Decision)
	return a
}

// giveBack releases what was reserved for a call that was not made.
func (r *request) giveBack(ctx context.Context, res *caps.Reservation) {
	if err := res.Release(ctx); err != nil {
		r.log.ErrorContext(ctx, "the hold could not be released and stays", "error", err)
	}
}

func (r *request) countDecision(d caps.Decision) {
	switch {
	case d.Allowed:
		r.metrics.Count(metrics.Admitted)
	case d.Scope == caps.ScopeGlobal:
		r.metrics.Count(metrics.RefusedGlobal)
	case d.Scope == caps.ScopeAddress:
		r.metrics.Count(metrics.RefusedAddress)
	default:
		r.metrics.Count(metrics.RefusedCaller)
	}
}

// storeUnavailable refuses because the store could not be asked. The status is 503,
// and nothing is called.
func (r *request) storeUnavailable(ctx context.Context, err error) *answer {
	r.logStore(ctx, err)
	return failure(503, "store_unavailable")
}

func (r *request) logStore(ctx context.Context, err error) {
	r.log.ErrorContext(ctx, "the store could not be asked, so the call is refused", "error", err)
}
