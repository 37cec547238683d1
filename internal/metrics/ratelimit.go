package metrics

import (
	"context"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// RateLimit records what came of a check of a limit on bursts in the request that ctx
// carries: a store that cannot be asked is an error of the store, whether the rule lets
// requests pass then or not.
func RateLimit(ctx context.Context, e ratelimit.Event) {
	if e.Result == ratelimit.AllowedDown || e.Result == ratelimit.RefusedDown {
		r := FromContext(ctx)
		r.Count(RateLimitDown)
		r.Count(StoreErrors)
	}
}
