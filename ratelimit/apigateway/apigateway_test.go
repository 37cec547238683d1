package apigateway_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/apigateway"
)

func TestResponse(t *testing.T) {
	rule := ratelimit.Rule{Name: "search", Requests: 1, Window: time.Minute, WhenDown: ratelimit.Refuse}
	full := ratelimit.Decision{Rule: rule, ResetAfter: time.Millisecond, RetryAfter: time.Millisecond}
	down := ratelimit.Decision{Rule: rule, Down: true}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("wrapped: %w", full.Err()), `{429 map[Cache-Control:no-store Content-Type:application/json RateLimit:"search";r=0;t=1 RateLimit-Policy:"search";q=1;w=60 Retry-After:1] map[] {"error":"rate_limited","message":"Too many requests. Try again in 1 second.","retryAfter":1} false []}`},
		{down.Err(), `{503 map[Cache-Control:no-store Content-Type:application/json Retry-After:1] map[] {"error":"store_unavailable","message":"This cannot be checked right now. Try again in a moment.","retryAfter":1} false []}`},
		{errors.New("another"), `{500 map[Cache-Control:no-store Content-Type:application/json] map[] {"error":"internal_error"} false []}`},
	} {
		if got := fmt.Sprint(apigateway.Response(c.err)); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
