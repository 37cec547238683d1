package ratelimittest

import (
	"context"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// What is no take is an error, and leaves no trace.
func badInput(e *env) {
	good := ratelimit.Take{Key: e.key(), Limit: 1, Window: minute, Now: e.clock.Now()}
	for _, change := range []func(*ratelimit.Take){
		func(t *ratelimit.Take) { t.Key = "" },
		func(t *ratelimit.Take) { t.Key = strings.Repeat("k", ratelimit.MaxKeyBytes+42) },
		func(t *ratelimit.Take) { t.Limit = 0 },
		func(t *ratelimit.Take) { t.Limit = -1 },
		func(t *ratelimit.Take) { t.Limit = ratelimit.MaxRequests + 1 },
		func(t *ratelimit.Take) { t.Window = 0 },
		func(t *ratelimit.Take) { t.Window = ratelimit.MinWindow - 1 },
		func(t *ratelimit.Take) { t.Window = ratelimit.MaxWindow + 1 },
		func(t *ratelimit.Take) { t.Window += time.Microsecond },
		func(t *ratelimit.Take) { t.Now = time.Time{} },
	} {
		bad := good
		change(&bad)
		if out, err := e.stores[0].Take(e.Context(), bad); err == nil || out != (ratelimit.Outcome{}) {
			e.Errorf("Take of %+v = %+v, %v; want an error", bad, out, err)
		}
	}
	if ok, err := e.stores[0].GiveBack(e.Context(), good.Key, "?"); ok || err == nil {
		e.Errorf("GiveBack of what is no admission = %v, %v; want an error", ok, err)
	}
	long := strings.Repeat("k", ratelimit.MaxKeyBytes+41-len(good.Key)) + good.Key
	e.admit(long, ratelimit.MaxRequests, ratelimit.MaxWindow, ratelimit.MaxRequests-1)
	e.admit(good.Key, 1, minute, 0)
}

func contextDone(e *env) {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	t := ratelimit.Take{Key: e.key(), Limit: 1, Window: minute, Now: e.clock.Now()}
	if out, err := e.stores[0].Take(ctx, t); err == nil || out != (ratelimit.Outcome{}) {
		e.Errorf("Take = %+v, %v; want an error", out, err)
	}
	a := e.admit(t.Key, 1, minute, 0)
	if ok, err := e.stores[0].GiveBack(ctx, t.Key, a.Admission); ok || err == nil {
		e.Errorf("GiveBack = %v, %v; want an error", ok, err)
	}
	e.refuse(t.Key, 1, minute, e.clock.Now().Add(minute))
}
