package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// paid is what a guarded call has come to so far.
type paid struct {
	front       llm.Front // from the first step on
	body        []byte
	call        *llm.Call          // from the parse step on
	claim       *idempotency.Claim // of the Idempotency-Key, if there is one
	reservation *caps.Reservation  // from the reserve step on
	answer      *llm.Answer        // from the call step on, unless it failed
	failed      *llm.UpstreamError
	decision    caps.Decision  // what the budgets look like after it
	booked      *caps.MicroUSD // what the hold was replaced by; nil while it stays
}

func (r *request) parseChat(context.Context) *answer {
	return r.parse(r.LLM.ParseChatCompletions)
}

func (r *request) parseMessages(context.Context) *answer {
	return r.parse(r.LLM.ParseMessages)
}

// parse reads, bounds and prices the request. Nothing is counted if it cannot.
func (r *request) parse(read func([]byte) (*llm.Call, error)) *answer {
	body, err := r.decodeBody()
	if err == nil {
		r.paid.body = body
		r.paid.call, err = read(body)
	}
	if err == nil {
		return nil
	}
	f := llm.Failure{Status: 422, Code: llm.CodeInvalid, Message: "The request cannot be read."}
	var refused *llm.RequestError
	if errors.As(err, &refused) {
		f = llm.Failure{Status: refused.Status, Code: refused.Code, Param: refused.Param, Message: refused.Message}
	}
	return r.refuse(f)
}

// decodeBody undoes the base64 of API Gateway once. What is bounded is the size
// without it.
func (r *request) decodeBody() ([]byte, error) {
	body, size := []byte(r.event.Body), len(r.event.Body)
	if r.event.IsBase64Encoded {
		size = base64.StdEncoding.DecodedLen(size)
	}
	if size > r.MaxBodyBytes+2 { // the padding may stand for two bytes that are not there
		return nil, r.tooLarge()
	}
	if r.event.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(r.event.Body)
		if err != nil {
			return nil, &llm.RequestError{Status: 422, Code: llm.CodeInvalidJSON, Message: "The body is not valid base64."}
		}
		body = decoded
	}
	if len(body) > r.MaxBodyBytes {
		return nil, r.tooLarge()
	}
	return body, nil
}

func (r *request) tooLarge() error {
	return &llm.RequestError{Status: 413, Code: llm.CodeTooLarge, Message: fmt.Sprintf("The body is too large: at most %d bytes are accepted.", r.MaxBodyBytes)}
}

// claimKey makes one paid call of all requests with the same Idempotency-Key: the
// first goes on, the others get its answer.
func (r *request) claimKey(ctx context.Context) *answer {
	key, sent := r.event.Headers["idempotency-key"]
	if !sent || r.Idempotency == nil {
		return nil
	}
	begun, err := r.Idempotency.Begin(ctx, r.caller, key, r.path, r.paid.body)
	if err != nil {
		return r.paidStoreUnavailable(ctx, err)
	}
	refuse := func(status int, code, message string) *answer {
		return r.refuse(llm.Failure{Status: status, Code: code, Message: message})
	}
	switch begun.State {
	case idempotency.Fresh:
		r.paid.claim = begun.Claim
		return nil
	case idempotency.Replay:
		a := &answer{status: begun.Answer.Status, body: begun.Answer.Body, content: begun.Answer.ContentType}
		a.set("Idempotent-Replayed", "true")
		return a
	case idempotency.Running:
		return refuse(409, "idempotency_key_in_use", "A request with this Idempotency-Key is still running. Try again in a few seconds.")
	case idempotency.NotKept:
		a := refuse(409, "answer_not_kept", "The request with this Idempotency-Key was answered, but its answer was too large to be kept.")
		a.set("X-Should-Retry", "false")
		return a
	case idempotency.Mismatch:
		return refuse(422, "idempotency_key_reused", "This Idempotency-Key was used for another request. Use a new one.")
	default:
		return refuse(422, "invalid_idempotency_key", "The header Idempotency-Key has to be 1 to 255 visible ASCII characters.")
	}
}

// reserve takes the worst case out of the caller's budget, for a signed-in caller out of
// that of the address, and out of the ceiling.
func (r *request) reserve(ctx context.Context) *answer {
	res, err := r.guard.ReserveFrom(ctx, r.caller, r.address, r.paid.call.Worst())
	if err != nil {
		r.abandonClaim(ctx)
		return r.paidStoreUnavailable(ctx, err)
	}
	if !res.Allowed {
		r.countDecision(res.Decision)
		r.abandonClaim(ctx)
		a := r.refuse(llm.Failure{
			Status: 429, Code: "budget_exceeded", Message: sentence(res.Decision),
			Extra: map[string]any{"capped": true, "scope": res.Scope, "retryAfter": retryAfter(res.Decision)},
		})
		r.addLimits(a, res.Decision)
		return a
	}
	r.paid.reservation, r.paid.decision = res, res.Decision
	return nil
}

// prepareCall lets the provider get what it needs before its first call. That may take
// longer than a stop may need to be obeyed, so the call itself must not wait for it.
func (r *request) prepareCall(ctx context.Context) *answer {
	ctx, cancel := deadlines.ForProvider(ctx)
	defer cancel()
	r.noteFailure(r.paid.call.Prepare(ctx))
	return nil
}

// makeCall makes one attempt at the upstream, within the provider's deadline. If it
// panics, nothing is settled and the hold stays.
func (r *request) makeCall(ctx context.Context) *answer {
	if r.paid.failed != nil {
		return nil
	}
	ctx, cancel := deadlines.ForProvider(ctx)
	defer cancel()
	started := r.Now()
	made, err := r.paid.call.Do(ctx)
	r.metrics.Duration(metrics.UpstreamLatency, r.Now().Sub(started))
	r.paid.answer = made
	r.noteFailure(err)
	return nil
}

func (r *request) noteFailure(err error) {
	if err != nil && !errors.As(err, &r.paid.failed) {
		r.paid.failed = &llm.UpstreamError{Status: 502, Message: "The call failed."}
	}
}

// settle books what the call did cost, on the day of the reserve. Unknown is worst
// case: then the hold stays. It does not depend on ctx being alive.
func (r *request) settle(ctx context.Context) *answer {
	res := r.paid.reservation
	switch made, failed := r.paid.answer, r.paid.failed; {
	case failed != nil && failed.NothingSpent:
		r.metrics.Count(metrics.UpstreamErrors)
		r.log.WarnContext(ctx, "the paid call failed and cost nothing", "error", failed)
		if err := res.Release(ctx); err != nil {
			r.log.ErrorContext(ctx, "the hold could not be released and stays", "error", err)
			return nil
		}
		r.paid.booked = new(caps.MicroUSD)
	case failed != nil:
		r.metrics.Count(metrics.UpstreamErrors)
		r.metrics.Count(metrics.HoldsKept)
		r.log.ErrorContext(ctx, "the paid call failed, what it cost is unknown, and the hold stays", "error", failed, "heldMicroUSD", int64(res.Worst()))
	case !made.CostKnown:
		r.metrics.Count(metrics.HoldsKept)
		r.log.ErrorContext(ctx, "what the paid call cost is unknown, and the hold stays", "problem", made.Problem, "heldMicroUSD", int64(res.Worst()))
	default:
		overrun, err := res.Settle(ctx, made.Cost)
		if err != nil {
			r.metrics.Count(metrics.HoldsKept)
			r.log.ErrorContext(ctx, "the hold could not be settled, so it or a part of it stays", "error", err)
			return nil
		}
		r.metrics.Add(metrics.SettledMicroUSD, int64(made.Cost))
		r.paid.decision = settled(res.Decision, res.Worst(), made.Cost)
		r.paid.booked = &made.Cost
		if overrun > 0 {
			r.metrics.Count(metrics.Overruns)
			r.log.ErrorContext(ctx, "the paid call cost more than was held for it; it is booked in full", "model", r.paid.call.Model(), "heldMicroUSD", int64(res.Worst()), "costMicroUSD", int64(made.Cost))
		}
	}
	return nil
}

// settled is the decision of a reserve after its hold was replaced by the cost.
func settled(d caps.Decision, worst, cost caps.MicroUSD) caps.Decision {
	d.Used.USD += cost
	d.Held -= worst
	d.Remaining.USD = max(0, d.Remaining.USD+worst-cost)
	return d
}

// answerCall gives the caller the upstream's answer, and keeps it for repeats.
func (r *request) answerCall(ctx context.Context) *answer {
	if failed := r.paid.failed; failed != nil {
		r.abandonClaim(ctx)
		a := r.refuse(llm.Failure{Status: failed.Status, Code: failed.Code, Message: failed.Message})
		r.addSpend(a)
		return a
	}
	a := &answer{status: 200, body: r.paid.answer.Body, content: r.paid.answer.ContentType}
	if c := r.paid.claim; c != nil {
		if err := c.Finish(ctx, idempotency.Answer{Status: a.status, ContentType: a.content, Body: a.body}); err != nil {
			r.log.WarnContext(ctx, "the answer could not be kept for its Idempotency-Key", "error", err)
		}
	}
	r.addLimits(a, r.paid.decision)
	r.addSpend(a)
	return a
}

// The headers that tell what a call was held for and what it did cost, in dollars as
// exact decimals. A call that held nothing has neither: one that was refused, or
// answered from an earlier one. Without the second the hold stays.
const (
	heldHeader = "X-Spendcap-Held"
	costHeader = "X-Spendcap-Cost"
)

func (r *request) addSpend(a *answer) {
	a.set(heldHeader, r.paid.reservation.Worst().String())
	if booked := r.paid.booked; booked != nil {
		a.set(costHeader, booked.String())
	}
}

// abandonClaim lets the next request with the Idempotency-Key be the first.
func (r *request) abandonClaim(ctx context.Context) {
	if r.paid.claim == nil {
		return
	}
	if err := r.paid.claim.Abandon(ctx); err != nil {
		r.log.WarnContext(ctx, "the claim of an Idempotency-Key could not be given back; it ends by itself", "error", err)
	}
}

// refuse answers in the form of the API that the caller speaks, so that its SDK shows
// the message.
func (r *request) refuse(f llm.Failure) *answer {
	return &answer{status: f.Status, body: llm.ErrorBody(r.paid.front, f)}
}

func (r *request) paidStoreUnavailable(ctx context.Context, err error) *answer {
	r.logStore(ctx, err)
	return r.refuse(llm.Failure{Status: 503, Code: "store_unavailable", Message: "The budget cannot be checked right now, so nothing was called. Try again later."})
}

// listModels tells which models there are. Nothing is counted.
func (r *request) listModels(context.Context) *answer {
	return &answer{status: 200, body: r.LLM.Models()}
}
