package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/endpoint"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/internal/refusal"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Rates are the limits on bursts.
type Rates struct {
	Rules   map[string][]ratelimit.Rule // by path
	Limiter *ratelimit.Limiter
	Keyer   *caps.Keyer
}

func (r *Rates) check() error {
	if r.Limiter == nil || r.Keyer == nil {
		return errors.New("api.Config.Rates needs a Limiter and a Keyer")
	}
	for path, rules := range r.Rules {
		for _, rule := range rules {
			if err := rule.Check(); err != nil {
				return fmt.Errorf("api.Config.Rates: %s: %w", path, err)
			}
		}
	}
	return nil
}

// scopeRate is the scope of a refusal by a limit on bursts, beside those of
// [caps.Decision].
const scopeRate = "rate_limit"

// sdkPatience is the longest Retry-After that the official OpenAI and Anthropic SDKs
// heed. They would repeat a call sooner that is told to wait for longer.
const sdkPatience = 60

// checkRate refuses a burst. It asks the store, so it comes after everything that refuses
// for nothing, and before the body is looked at.
func (r *request) checkRate(ctx context.Context) *answer {
	if r.Rates == nil || len(r.Rates.Rules[r.path]) == 0 {
		return nil
	}
	var attempts []ratelimit.Attempt
	now := r.Now()
	for _, rule := range r.Rates.Rules[r.path] {
		attempts = append(attempts, rule.ForCaller(r.Rates.Keyer, r.caller, now)...)
	}
	d, err := r.Rates.Limiter.Check(ctx, attempts...)
	if err != nil {
		r.logStore(ctx, err)
		d = ratelimit.Decision{Down: true}
	}
	r.rate = d
	refused := &ratelimit.Error{Decision: d}
	switch {
	case d.Allowed:
		return nil
	case d.Down:
		return r.refuseInForm(llm.Failure{Status: 503, Code: "store_unavailable", Message: refused.Sentence()})
	}
	r.metrics.Count(metrics.RefusedRate)
	wait := refusal.Seconds(d.RetryAfter)
	a := r.refuseInForm(llm.Failure{
		Status: 429, Code: "rate_limit_exceeded", Message: refused.Sentence(),
		Extra: map[string]any{"capped": false, "scope": scopeRate, "retryAfter": wait},
	})
	if wait > sdkPatience {
		a.set("X-Should-Retry", "false")
	}
	return a
}

// addRate says in the header what the limits on bursts have said, beside what the caps
// have.
func (r *request) addRate(a *answer) {
	if r.rate == (ratelimit.Decision{}) {
		return
	}
	for name, value := range r.rate.Header() {
		if name == "Retry-After" && a.status != 429 {
			continue // nobody knows when the store can be asked again
		}
		if there := a.headers[name]; there != "" {
			if name == "Retry-After" {
				continue
			}
			value = there + ", " + value
		}
		a.set(name, value)
	}
}

// refuseInForm refuses in the form of the API that the path belongs to.
func (r *request) refuseInForm(f llm.Failure) *answer {
	switch r.path {
	case endpoint.ChatCompletions, endpoint.Messages, endpoint.Models:
		return r.refuse(f)
	}
	return r.refusePlainly(f)
}
