package metrics

import (
	"context"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Store returns inner with its calls recorded in the request that their context
// carries: how long each took, how many failed, what was settled, and how full the
// ceiling is. It changes nothing about the calls.
func Store(inner caps.Store) caps.Store { return measured{inner} }

type measured struct{ inner caps.Store }

func (s measured) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (out caps.Outcome, err error) {
	r, done := begin(ctx, &err)
	defer done()
	out, err = s.inner.Reserve(ctx, c, limit)
	if err == nil && c.Key.Caller == caps.Everybody {
		r.ceiling(out.Usage, limit)
	}
	if err == nil && out.Allowed && c.Final && c.ID != "" {
		r.Add(SettledMicroUSD, int64(c.Amount))
	}
	return out, err
}

func (s measured) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (ok bool, err error) {
	r, done := begin(ctx, &err)
	defer done()
	ok, err = s.inner.Settle(ctx, c, actual)
	// Each call is settled in two budgets; it is counted where it can be told apart.
	if err == nil && ok && c.ID != "" {
		r.Add(SettledMicroUSD, int64(actual))
	}
	return ok, err
}

func (s measured) Release(ctx context.Context, c caps.Charge) (ok bool, err error) {
	_, done := begin(ctx, &err)
	defer done()
	return s.inner.Release(ctx, c)
}

func (s measured) Usage(ctx context.Context, key caps.ItemKey) (u caps.Usage, err error) {
	_, done := begin(ctx, &err)
	defer done()
	return s.inner.Usage(ctx, key)
}

// begin starts the time of one call, and done ends it; *err is then the call's.
func begin(ctx context.Context, err *error) (r *Request, done func()) {
	r = FromContext(ctx)
	if r == nil {
		return nil, func() {}
	}
	start := r.m.now()
	return r, func() {
		r.Duration(StoreLatency, r.m.now().Sub(start))
		if *err != nil {
			r.Count(StoreErrors)
		}
	}
}

// ceiling records how full the budget of everybody is. Only what is capped has a
// gauge.
func (r *Request) ceiling(u caps.Usage, limit caps.Cap) {
	var percent int64
	if most, limited := limit.USD(); limited {
		r.Set(GlobalUsedMicroUSD, int64(u.USD))
		r.Set(GlobalCapMicroUSD, int64(most))
		percent = max(percent, share(int64(u.USD), int64(most)))
	}
	if most, limited := limit.Calls(); limited {
		r.Set(GlobalUsedCalls, u.Calls)
		r.Set(GlobalCapCalls, most)
		percent = max(percent, share(u.Calls, most))
	}
	r.Set(GlobalUsedPercent, percent)
}

// share is the percentage of most that is used, rounded down. A cap of 0 is full.
func share(used, most int64) int64 {
	if most <= 0 {
		return 100
	}
	// Both are below 2^53, so the product of the first is below 2^60.
	return used * 100 / most
}
