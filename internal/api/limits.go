package api

import (
	"strconv"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/refusal"
)

// day is the window of every cap, in seconds, for the header RateLimit-Policy.
const day = 24 * 60 * 60

// addLimits writes what the decision says into headers: Retry-After on a refusal, in
// whole seconds (RFC 9110 section 10.2.3); RateLimit-Policy and RateLimit, structured
// fields (draft-ietf-httpapi-ratelimit-headers-10), where t is the seconds until the
// reset; and the older X-RateLimit-*, where Reset is in Unix seconds. A part of the
// cap that does not exist has no item.
func (r *request) addLimits(a *answer, d caps.Decision) {
	reset := refusal.Seconds(d.ResetAt.Sub(r.Now()))
	var policy, limit []byte
	if calls, limited := d.Cap.Calls(); limited {
		policy = refusal.AppendItem(policy, string(d.Scope), "-calls", `;q=`, calls, `;w=`, day)
		limit = refusal.AppendItem(limit, string(d.Scope), "-calls", `;r=`, d.Remaining.Calls, `;t=`, reset)
		a.set("X-RateLimit-Limit", strconv.FormatInt(calls, 10))
		a.set("X-RateLimit-Remaining", strconv.FormatInt(d.Remaining.Calls, 10))
		a.set("X-RateLimit-Reset", strconv.FormatInt(d.ResetAt.Unix(), 10))
	}
	if usd, limited := d.Cap.USD(); limited {
		policy = refusal.AppendItem(policy, string(d.Scope), "-usd", `;qu="micro-usd";q=`, int64(usd), `;w=`, day)
		limit = refusal.AppendItem(limit, string(d.Scope), "-usd", `;r=`, int64(d.Remaining.USD), `;t=`, reset)
	}
	a.set("RateLimit-Policy", string(policy))
	a.set("RateLimit", string(limit))
	if !d.Allowed {
		a.set("Retry-After", strconv.FormatInt(retryAfter(d), 10))
		// The official OpenAI and Anthropic SDKs retry a 429 unless they are told not to.
		a.set("X-Should-Retry", "false")
	}
}

func retryAfter(d caps.Decision) int64 { return int64(d.RetryAfter / time.Second) }
