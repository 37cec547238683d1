package ratelimit

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/refusal"
)

// Decision is what the rules say to a request.
type Decision struct {
	Allowed bool

	// Rule is the one that refused, of several the one with the longest wait; if the
	// request is allowed, the one that is nearest to its number.
	Rule Rule

	// Down says that the store could not be asked, and that the rule's WhenDown decided.
	// Nothing below is known then.
	Down bool

	Remaining  int           // how many more Rule would admit now
	ResetAfter time.Duration // until the oldest admission leaves the window, so that Remaining grows
	RetryAfter time.Duration // exact; 0 if the request is allowed. Another caller may be faster.
}

// Err is the decision as an error, an [*Error]; nil if the request is allowed.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &Error{d}
}

// Header is what the decision says in the header of an HTTP answer: RateLimit-Policy and
// RateLimit, structured fields (draft-ietf-httpapi-ratelimit-headers-10), where t is the
// whole seconds until the next request is possible again; and on a refusal Retry-After.
func (d Decision) Header() map[string]string {
	h := make(map[string]string, 3)
	if !d.Down {
		h["RateLimit-Policy"] = string(refusal.AppendItem(nil, d.Rule.Name, "", ";q=", int64(d.Rule.Requests), ";w=", refusal.Seconds(d.Rule.Window)))
		h["RateLimit"] = string(refusal.AppendItem(nil, d.Rule.Name, "", ";r=", int64(d.Remaining), ";t=", refusal.Seconds(d.ResetAfter)))
	}
	if !d.Allowed {
		h["Retry-After"] = itoa(refusal.Seconds(d.RetryAfter))
	}
	return h
}
