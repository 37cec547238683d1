package ratelimit_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// The sentence and the answer derive from the error.
func TestError(t *testing.T) {
	rule := perEmail
	for _, c := range []struct {
		d        ratelimit.Decision
		text     string
		sentence string
		retry    string
	}{
		{ratelimit.Decision{Rule: rule, ResetAfter: 2*time.Minute + time.Millisecond, RetryAfter: 2*time.Minute + time.Millisecond},
			"rate limit login-email: 3 requests in 15m0s are used up for another 2m1s", "Too many requests. Try again in 3 minutes.", "121"},
		{ratelimit.Decision{Rule: rule, ResetAfter: time.Millisecond, RetryAfter: time.Millisecond},
			"rate limit login-email: 3 requests in 15m0s are used up for another 1s", "Too many requests. Try again in 1 second.", "1"},
		{ratelimit.Decision{Rule: rule, Down: true},
			"rate limit login-email: the store cannot be asked, and the rule refuses then", "This cannot be checked right now. Try again in a moment.", "1"},
	} {
		e, ok := errors.AsType[*ratelimit.Error](c.d.Err())
		if !ok || e.Error() != c.text || e.Sentence() != c.sentence || e.Answer().Header["Retry-After"] != c.retry || e.Decision != c.d {
			t.Errorf("%v, %q, %v; want %+v", e, e.Sentence(), e.Answer(), c)
		}
	}
	allowed := ratelimit.Decision{Allowed: true, Rule: rule, Remaining: 2, ResetAfter: time.Second + 1}
	if err := allowed.Err(); err != nil {
		t.Errorf("%v", err)
	}
	if got, want := allowed.Header(), map[string]string{"RateLimit-Policy": `"login-email";q=3;w=900`, "RateLimit": `"login-email";r=2;t=2`}; !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if got := (ratelimit.Decision{Allowed: true, Rule: rule, Down: true}).Header(); len(got) != 0 {
		t.Errorf("%v; want nothing that is not known", got)
	}
	for want, s := range map[string]fmt.Stringer{
		"allow": ratelimit.Allow, "refuse": ratelimit.Refuse, "Policy(0)": ratelimit.Policy(0),
		"Result(?)": ratelimit.Result(0), "RefusedByMemory": ratelimit.RefusedByMemory,
	} {
		if s.String() != want {
			t.Errorf("%s; want %s", s, want)
		}
	}
}
