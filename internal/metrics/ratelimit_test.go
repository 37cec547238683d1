package metrics_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// A limit's store that cannot be asked is told, whatever the rule does then.
func TestRateLimit(t *testing.T) {
	out := new(writes)
	r := metrics.New(out, func() time.Time { return noon }).Request()
	ctx := metrics.NewContext(t.Context(), r)
	for result := ratelimit.Admitted; result <= ratelimit.RefusedDown; result++ {
		metrics.RateLimit(ctx, ratelimit.Event{Rule: "burst", Result: result, Err: errors.New("x")})
	}
	metrics.RateLimit(t.Context(), ratelimit.Event{Result: ratelimit.RefusedDown})
	r.Flush()
	doc := out.read(t)[0]
	for _, c := range []metrics.Counter{metrics.RateLimitDown, metrics.StoreErrors} {
		if got := doc.Values[c.String()]; len(got) != 1 || got[0] != 2 {
			t.Errorf("%s is %v; want 2", c, got)
		}
	}
}
