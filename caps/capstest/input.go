package capstest

import (
	"context"
	"errors"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func badInput(e *env) {
	key, shared := e.caller(), e.everybody()
	noBudget, noCaller, separator := key, key, key
	noBudget.Budget, noCaller.Caller, separator.Caller = "", "", "a#b"
	good, limit := charge(key, 10), caps.Calls(10)
	for what, c := range map[string]caps.Charge{
		"no budget":              {Key: noBudget, Amount: 1, ID: "x"},
		"no caller":              {Key: noCaller, Amount: 1, ID: "x"},
		"a separator in the key": {Key: separator, Amount: 1, ID: "x"},
		"no ID":                  {Key: key, Amount: 1},
		"ID in a shared budget":  {Key: shared, Amount: 1, ID: "x"},
		"negative amount":        {Key: key, Amount: -1, ID: "x"},
		"too large an amount":    {Key: key, Amount: caps.MaxMicroUSD + 1, ID: "x"},
	} {
		if out, err := e.store.Reserve(e.ctx(), c, limit); err == nil || out != (caps.Outcome{}) {
			e.Errorf("%s: Reserve = %+v, %v; want an error", what, out, err)
		}
		if ok, err := e.store.Settle(e.ctx(), c, 1); err == nil || ok {
			e.Errorf("%s: Settle = %v, %v; want an error", what, ok, err)
		}
		if ok, err := e.store.Release(e.ctx(), c); err == nil || ok {
			e.Errorf("%s: Release = %v, %v; want an error", what, ok, err)
		}
	}
	for what, limit := range map[string]caps.Cap{
		"no cap":          {},
		"negative calls":  caps.Calls(-1),
		"negative usd":    caps.USD(-1),
		"too large a cap": caps.USD(caps.MaxMicroUSD + 1),
	} {
		if out, err := e.store.Reserve(e.ctx(), good, limit); err == nil || out != (caps.Outcome{}) {
			e.Errorf("%s: Reserve = %+v, %v; want an error", what, out, err)
		}
	}
	e.admit(good, limit)
	for _, actual := range []caps.MicroUSD{-1, caps.MaxMicroUSD + 1} {
		if ok, err := e.store.Settle(e.ctx(), good, actual); !errors.Is(err, caps.ErrAmount) || ok {
			e.Errorf("Settle of %s = %v, %v; want caps.ErrAmount", actual, ok, err)
		}
	}
	e.uses(key, used(1, 10, 10, 1))
	e.uses(shared, caps.Usage{})
}

// With a context that is done already, nothing is asked and nothing is changed.
func contextDone(e *env) {
	key, limit := e.caller(), caps.Calls(10)
	c := charge(key, 10)
	e.admit(c, limit)
	canceled, cancel := context.WithCancel(e.ctx())
	cancel()
	late, cancel := context.WithTimeout(e.ctx(), -time.Second)
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		check := func(call string, err error) {
			e.Helper()
			if !errors.Is(err, ctx.Err()) || errors.Is(err, caps.ErrUnknownOutcome) {
				e.Errorf("%s: %v; want %v and a certain outcome", call, err, ctx.Err())
			}
		}
		_, err := e.store.Reserve(ctx, charge(key, 10), limit)
		check("Reserve", err)
		_, err = e.store.Settle(ctx, c, 5)
		check("Settle", err)
		_, err = e.store.Release(ctx, c)
		check("Release", err)
		_, err = e.store.Usage(ctx, key)
		check("Usage", err)
	}
	e.uses(key, used(1, 10, 10, 1))
}
