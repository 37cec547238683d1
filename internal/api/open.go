package api

import (
	"context"
	"strconv"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/internal/refusal"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// The scopes of an operator's refusals, beside those of [caps.Decision].
const (
	scopeStopped = "stopped"
	scopeBlocked = "blocked"
)

const (
	// askAgain is told to callers whom the operator refuses for no known time. A repeat
	// costs nothing, so it is short enough for a person who waits.
	askAgain = time.Minute

	stoppedMessage = "Calls are stopped for everybody at the moment. Try again later."
	blockedMessage = "Your calls are not accepted at the moment."
)

func (r *request) openForDemo(ctx context.Context) *answer {
	return r.checkOpen(ctx, r.refusePlainly)
}

// openForCap refuses only a blocked caller: a stop does not change what anybody has used,
// so it is told along with it.
func (r *request) openForCap(ctx context.Context) *answer {
	v, err := r.verdict(ctx)
	r.stop, v.Stop = v.Stop, nil
	return r.obey(ctx, v, err, r.refusePlainly)
}

func (r *request) openForChat(ctx context.Context) *answer {
	r.paid.front = llm.ChatCompletions
	return r.checkOpen(ctx, r.refuse)
}

func (r *request) openForMessages(ctx context.Context) *answer {
	r.paid.front = llm.Messages
	return r.checkOpen(ctx, r.refuse)
}

// stillOpen asks again right before the paid call. What was reserved is given back if
// an operator's stop came meanwhile: nothing was spent.
func (r *request) stillOpen(ctx context.Context) *answer {
	a := r.checkOpen(ctx, r.refuse)
	if a == nil {
		r.countDecision(r.paid.reservation.Decision)
		return nil
	}
	r.abandonClaim(ctx)
	r.giveBack(ctx, r.paid.reservation)
	return a
}

func (r *request) demoStillOpen(ctx context.Context) *answer {
	a := r.checkOpen(ctx, r.refusePlainly)
	if a != nil && r.demo.Allowed {
		r.giveBack(ctx, r.demo)
	}
	return a
}

func (r *request) checkOpen(ctx context.Context, refuse func(llm.Failure) *answer) *answer {
	v, err := r.verdict(ctx)
	return r.obey(ctx, v, err, refuse)
}

func (r *request) verdict(ctx context.Context) (control.Verdict, error) {
	if r.Control == nil {
		return control.Verdict{}, nil
	}
	if r.caller == r.address {
		return r.Control.Check(ctx, r.caller)
	}
	return r.Control.Check(ctx, r.caller, r.address) // a signed-in user, and where it is
}

// obey refuses what the operator refuses, in the form that refuse gives it, and
// everything while it is unknown what the operator says: a cap that ignores its
// operator's stop is worse than an outage.
func (r *request) obey(ctx context.Context, v control.Verdict, err error, refuse func(llm.Failure) *answer) *answer {
	switch {
	case err != nil:
		r.log.ErrorContext(ctx, "it is unknown whether the operator has stopped the calls, so the call is refused", "error", err)
		return refuse(llm.Failure{Status: 503, Code: "store_unavailable", Message: "It cannot be checked right now whether calls are open, so nothing was called. Try again later."})
	case v.Stop != nil:
		r.metrics.Count(metrics.RefusedStopped)
		return closedByOperator(scopeStopped, stopMessage(v.Stop), askAgain, refuse)
	case v.Block != nil:
		r.metrics.Count(metrics.RefusedBlocked)
		r.sealAddress(ctx, v.Block)
		text, again := blockedMessage, askAgain
		if end := v.Block.End(); !end.IsZero() {
			again = end.Sub(r.Now())
			text += " Try again in " + refusal.Wait(again) + "."
		}
		return closedByOperator(scopeBlocked, text, again, refuse)
	}
	return nil
}

func stopMessage(s *control.Stop) string {
	if s.Message != "" {
		return s.Message
	}
	return stoppedMessage
}

// closedByOperator is the answer to a call that an operator refuses. It has no RateLimit
// headers: nothing was counted, so there is nothing true to say.
func closedByOperator(scope, text string, again time.Duration, refuse func(llm.Failure) *answer) *answer {
	seconds := refusal.Seconds(again)
	a := refuse(llm.Failure{
		Status: 429, Code: scope, Message: text,
		Extra: map[string]any{"capped": true, "scope": scope, "retryAfter": seconds},
	})
	a.set("Retry-After", strconv.FormatInt(seconds, 10))
	a.set("X-Should-Retry", "false")
	return a
}

type closedBody struct {
	Capped     any    `json:"capped"`
	CountedAs  string `json:"countedAs"`
	Scope      any    `json:"scope"`
	RetryAfter any    `json:"retryAfter"` // seconds
	Message    string `json:"message"`
}

// refusePlainly answers in the form of the endpoints that are nobody else's API.
func (r *request) refusePlainly(f llm.Failure) *answer {
	if f.Status != 429 {
		return failure(f.Status, f.Code)
	}
	return jsonAnswer(f.Status, closedBody{f.Extra["capped"], r.caller.String(), f.Extra["scope"], f.Extra["retryAfter"], f.Message})
}
