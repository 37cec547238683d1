package metrics

import (
	"context"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Store returns inner with its calls recorded in the request that their context
// carries: how long each took, how many failed, what was settled, and how full the
// ceiling is. It changes nothing about the calls.
func Store(inner caps.Store) caps.Store { return measured{inner} }

type measured struct{ inner caps.Store }

func (s measured) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	call := begin(ctx)
	out, err := s.inner.Reserve(ctx, c, limit)
	call.end(err)
	if err == nil && c.Key.Caller == caps.Everybody {
		call.r.ceiling(out.Usage, limit)
	}
	if err == nil && out.Allowed && c.Final && c.ID != "" {
		call.r.Add(SettledMicroUSD, int64(c.Amount))
	}
	return out, err
}

func (s measured) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	call := begin(ctx)
	ok, err := s.inner.Settle(ctx, c, actual)
	call.end(err)
	// Each call is settled in two budgets; it is counted where it can be told apart.
	if err == nil && ok && c.ID != "" {
		call.r.Add(SettledMicroUSD, int64(actual))
	}
	return ok, err
}

func (s measured) Release(ctx context.Context, c caps.Charge) (bool, error) {
	call := begin(ctx)
	ok, err := s.inner.Release(ctx, c)
	call.end(err)
	return ok, err
}

func (s measured) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	call := begin(ctx)
	u, err := s.inner.Usage(ctx, key)
	call.end(err)
	return u, err
}

// storeCall is one call that is being measured; r is nil if nobody asks.
type storeCall struct {
	r     *Request
	start time.Time
}

func begin(ctx context.Context) storeCall {
	c := storeCall{r: FromContext(ctx)}
	if c.r != nil {
		c.start = c.r.m.now()
	}
	return c
}

func (c storeCall) end(err error) {
	if c.r == nil {
		return
	}
	c.r.Duration(StoreLatency, c.r.m.now().Sub(c.start))
	if err != nil {
		c.r.Count(StoreErrors)
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
