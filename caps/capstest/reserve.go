package capstest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func reserveHolds(e *env) {
	key := e.caller()
	e.uses(key, caps.Usage{})
	e.reserve(charge(key, 40), caps.Calls(10).AndUSD(100), true, used(1, 40, 40, 1))
	e.reserve(charge(key, 50), caps.Calls(10).AndUSD(100), true, used(2, 90, 90, 2))
	e.reserve(charge(key, 0), caps.Calls(10), true, used(3, 90, 90, 3))
	e.uses(key, used(3, 90, 90, 3))
}

func reserveUpToTheCap(e *env) {
	calls, usd := e.caller(), e.caller()
	for i := range int64(10) {
		e.reserve(charge(calls, 7), caps.Calls(10), true, used(i+1, caps.MicroUSD(7*i+7), caps.MicroUSD(7*i+7), int(i+1)))
	}
	e.reserve(charge(calls, 7), caps.Calls(10), false, used(10, 70, 70, 10))
	e.uses(calls, used(10, 70, 70, 10))

	e.admit(charge(usd, 60), caps.USD(100))
	e.reserve(charge(usd, 41), caps.USD(100), false, used(1, 60, 60, 1))
	e.reserve(charge(usd, 40), caps.USD(100), true, used(2, 100, 100, 2))
	e.reserve(charge(usd, 1), caps.USD(100), false, used(2, 100, 100, 2))
	e.reserve(charge(usd, 0), caps.USD(100), true, used(3, 100, 100, 3))
}

func capOfZero(e *env) {
	for _, limit := range []caps.Cap{
		caps.Calls(0), caps.USD(0), caps.Calls(0).AndUSD(0), caps.Calls(0).AndUSD(100), caps.Calls(10).AndUSD(0),
	} {
		for _, amount := range []caps.MicroUSD{0, 1} {
			for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
				e.reserve(charge(key, amount), limit, false, caps.Usage{})
				e.reserve(final(key, amount), limit, false, caps.Usage{})
				e.uses(key, caps.Usage{})
				// The same, when there is an item already.
				e.admit(charge(key, 5), caps.Calls(10))
				before := e.usage(key)
				e.reserve(charge(key, amount), limit, false, before)
				e.uses(key, before)
			}
		}
	}
}

func firstCallDearer(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		e.reserve(charge(key, 101), caps.USD(100), false, caps.Usage{})
		e.reserve(charge(key, caps.MaxMicroUSD), caps.Calls(10).AndUSD(100), false, caps.Usage{})
		e.reserve(final(key, 101), caps.USD(100), false, caps.Usage{})
		e.uses(key, caps.Usage{})
	}
	e.reserve(charge(e.caller(), 100), caps.USD(100), true, used(1, 100, 100, 1))
}

func bothDimensions(e *env) {
	limit := caps.Calls(3).AndUSD(100)
	calls := e.caller() // runs out of calls first
	for range 3 {
		e.admit(charge(calls, 1), limit)
	}
	e.reserve(charge(calls, 1), limit, false, used(3, 3, 3, 3))

	usd := e.caller() // runs out of dollars first
	e.admit(charge(usd, 99), limit)
	e.reserve(charge(usd, 2), limit, false, used(1, 99, 99, 1))
	e.reserve(charge(usd, 1), limit, true, used(2, 100, 100, 2))
	e.reserve(charge(usd, 1), limit, false, used(2, 100, 100, 2))
	e.reserve(charge(usd, 0), limit, true, used(3, 100, 100, 3))
	e.reserve(charge(usd, 0), limit, false, used(3, 100, 100, 3))
}

func holdIsNeverShrunk(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		e.admit(charge(key, 600), caps.USD(1000))
		before := e.usage(key)
		e.reserve(charge(key, 500), caps.USD(1000), false, before)
		e.uses(key, before)
		e.admit(charge(key, 400), caps.USD(1000))
		if u := e.usage(key); u.USD != 1000 || u.Held != 1000 {
			e.Fatalf("Usage = %+v; want 1000 held", u)
		}
	}
}

func refusalLeavesNoTrace(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		e.admit(final(key, 90), caps.USD(100))
		e.reserve(charge(key, 50), caps.USD(100), false, used(1, 90, 0, 0))
		e.reserve(final(key, 50), caps.USD(100), false, used(1, 90, 0, 0))
		e.uses(key, used(1, 90, 0, 0))
		refused := charge(key, 50)
		e.reserve(refused, caps.USD(100), false, used(1, 90, 0, 0))
		e.settle(refused, 50, false)
		if key.Caller != caps.Everybody { // there it might have been another's
			e.release(refused, false)
		}
		e.uses(key, used(1, 90, 0, 0))
		e.admit(final(key, 10), caps.USD(100))
		e.uses(key, used(2, 100, 0, 0))
	}
}

func raisedAndLoweredCap(e *env) {
	key := e.caller()
	for range 3 {
		e.admit(charge(key, 10), caps.Calls(3))
	}
	e.reserve(charge(key, 10), caps.Calls(3), false, used(3, 30, 30, 3))
	e.reserve(charge(key, 10), caps.Calls(4), true, used(4, 40, 40, 4))
	e.reserve(charge(key, 10), caps.Calls(2), false, used(4, 40, 40, 4))
	e.reserve(charge(key, 10), caps.USD(20), false, used(4, 40, 40, 4))
	e.reserve(charge(key, 10), caps.Calls(0), false, used(4, 40, 40, 4))
	e.reserve(charge(key, 10), caps.Calls(5).AndUSD(50), true, used(5, 50, 50, 5))
}

// 2,500 calls of $0.004 are exactly $10.00, and 250 of $0.04. In binary floating point
// they are not.
func dollarsAreExact(e *env) {
	const limit = 10_000_000
	for _, c := range []struct {
		key   caps.ItemKey
		calls int64
		price caps.MicroUSD
	}{
		{e.everybody(), 2500, 4_000},
		{e.caller(), 250, 40_000},
	} {
		const workers = 10
		var admitted atomic.Int64
		err := parallelly(workers, func(int) error {
			for range c.calls/workers + 1 {
				one := charge(c.key, c.price)
				one.Final = c.key.Caller == caps.Everybody
				out, err := e.store.Reserve(e.ctx(), one, caps.USD(limit))
				if err != nil {
					return err
				}
				if !out.Allowed {
					continue
				}
				admitted.Add(1)
				if one.Final {
					continue
				}
				if ok, err := e.store.Settle(e.ctx(), one, c.price); !ok || err != nil {
					return fmt.Errorf("Settle = %v, %v; want true", ok, err)
				}
			}
			return nil
		})
		if n := admitted.Load(); err != nil || n != c.calls {
			e.Fatalf("%d calls of %s admitted, %v; want %d", n, c.price, err, c.calls)
		}
		e.uses(c.key, used(c.calls, limit, 0, 0))
	}
}

func reserveAgain(e *env) {
	key, limit := e.caller(), caps.Calls(10).AndUSD(100)
	c := charge(key, 40)
	e.reserve(c, limit, true, used(1, 40, 40, 1))
	e.reserve(c, limit, true, used(1, 40, 40, 1))
	e.reserve(charge(key, 40), limit, true, used(2, 80, 80, 2))
	e.reserve(c, limit, true, used(2, 80, 80, 2))
	e.settle(c, 10, true)
	e.uses(key, used(2, 50, 40, 1))
}

// Whoever took the last unit is told so again, also when the cap has been lowered.
func reserveAgainWhenFull(e *env) {
	key, limit := e.caller(), caps.Calls(1).AndUSD(40)
	c := charge(key, 40)
	e.reserve(c, limit, true, used(1, 40, 40, 1))
	for _, limit := range []caps.Cap{limit, caps.USD(39), caps.Calls(0)} {
		e.reserve(c, limit, true, used(1, 40, 40, 1))
		e.reserve(charge(key, 40), limit, false, used(1, 40, 40, 1))
	}
	e.release(c, true)
	e.uses(key, caps.Usage{})
}

func reserveAgainInParallel(e *env) {
	key, limit := e.caller(), caps.Calls(1)
	c := charge(key, 40)
	err := parallelly(20, func(int) error {
		out, err := e.store.Reserve(e.ctx(), c, limit)
		if err == nil && !out.Allowed {
			err = errors.New("the charge that took the only call is refused")
		}
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	e.uses(key, used(1, 40, 40, 1))
}

func oneIDOneCharge(e *env) {
	key := e.caller()
	c := charge(key, 40)
	e.admit(c, caps.Calls(10))
	other := c
	other.Amount = 41
	if out, err := e.store.Reserve(e.ctx(), other, caps.Calls(10)); err == nil || out.Allowed {
		e.Fatalf("Reserve of another amount with the same ID = %+v, %v; want an error", out, err)
	}
	e.settle(other, 41, false)
	e.release(other, false)
	e.uses(key, used(1, 40, 40, 1))
}

func budgetsAreApart(e *env) {
	key := e.caller()
	caller, budget, tomorrow := key, key, key
	caller.Caller = e.caller().Caller
	budget.Budget += "-other"
	tomorrow.Day++
	e.admit(charge(key, 10), caps.Calls(1))
	for _, other := range []caps.ItemKey{caller, budget, tomorrow, e.everybody()} {
		e.uses(other, caps.Usage{})
		e.admit(charge(other, 20), caps.Calls(1))
	}
	e.uses(key, used(1, 10, 10, 1))
}

// Where the cap does not limit dollars, the sum of them still has to fit.
func overflow(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		e.admit(final(key, caps.MaxMicroUSD-5), caps.Calls(10))
		for _, c := range []caps.Charge{charge(key, 6), final(key, caps.MaxMicroUSD)} {
			out, err := e.store.Reserve(e.ctx(), c, caps.Calls(10))
			if !errors.Is(err, caps.ErrAmount) || errors.Is(err, caps.ErrUnknownOutcome) || out != (caps.Outcome{}) {
				e.Fatalf("Reserve above the largest amount = %+v, %v; want caps.ErrAmount", out, err)
			}
		}
		e.reserve(charge(key, 6), caps.USD(caps.MaxMicroUSD), false, used(1, caps.MaxMicroUSD-5, 0, 0))
		e.uses(key, used(1, caps.MaxMicroUSD-5, 0, 0))
		e.admit(charge(key, 5), caps.Calls(10))
		if u := e.usage(key); u.USD != caps.MaxMicroUSD || u.Held != 5 {
			e.Fatalf("Usage = %+v; want the largest amount, 5 held", u)
		}
	}
}
