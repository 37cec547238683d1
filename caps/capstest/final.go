package capstest

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func finalCharge(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		limit := caps.Calls(10).AndUSD(100)
		c := final(key, 60)
		e.reserve(c, limit, true, used(1, 60, 0, 0))
		if ok, err := e.store.Settle(e.ctx(), c, 10); ok || err == nil {
			e.Fatalf("Settle of a final charge = %v, %v; want an error", ok, err)
		}
		e.reserve(final(key, 41), limit, false, used(1, 60, 0, 0))
		e.reserve(final(key, 40), limit, true, used(2, 100, 0, 0))
		e.reserve(final(key, 0), limit, true, used(3, 100, 0, 0))
		e.uses(key, used(3, 100, 0, 0))
	}
}

// The last call, asked for again because the reply was lost, is still the same call,
// also when there have been others in between.
func finalChargeAgain(e *env) {
	key := e.caller()
	first, last := final(key, 10), final(key, 10)
	e.admit(first, caps.Calls(2))
	e.reserve(last, caps.Calls(2), true, used(2, 20, 0, 0))
	e.clock.Advance(3 * time.Second)
	e.admit(final(key, 10), caps.Calls(3))
	e.reserve(last, caps.Calls(3), true, used(3, 30, 0, 0))
	e.reserve(first, caps.Calls(3), true, used(3, 30, 0, 0))
	e.reserve(final(key, 10), caps.Calls(3), false, used(3, 30, 0, 0))
	err := parallelly(10, func(int) error {
		_, err := e.store.Reserve(e.ctx(), last, caps.Calls(5))
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	e.uses(key, used(3, 30, 0, 0))
}

func finalChargeReleased(e *env) {
	limit := caps.Calls(2).AndUSD(100)
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		e.admit(final(key, 10), limit)
		c := final(key, 90)
		e.reserve(c, limit, true, used(2, 100, 0, 0))
		e.release(c, true)
		e.uses(key, used(1, 10, 0, 0))
		// A shared budget cannot tell it from another of that amount, and has none.
		e.release(c, false)
		e.uses(key, used(1, 10, 0, 0))
		e.reserve(final(key, 90), limit, true, used(2, 100, 0, 0))
	}
}
