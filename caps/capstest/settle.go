package capstest

import (
	"sync/atomic"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func settleReplaces(e *env) {
	key, limit := e.caller(), caps.Calls(10).AndUSD(1000)
	a, b, c := charge(key, 300), charge(key, 300), charge(key, 300)
	e.admit(a, limit)
	e.admit(b, limit)
	e.admit(c, limit)
	e.settle(b, 120, true)
	e.uses(key, used(3, 720, 600, 2))
	e.settle(a, 0, true)
	e.uses(key, used(3, 420, 300, 1))
	e.settle(c, 300, true)
	e.uses(key, used(3, 420, 0, 0))
	e.reserve(charge(key, 580), limit, true, used(4, 1000, 580, 1))
}

func settleTwice(e *env) {
	key := e.caller()
	a, b := charge(key, 300), charge(key, 300)
	e.admit(a, caps.Calls(10))
	e.admit(b, caps.Calls(10))
	e.settle(a, 100, true)
	e.settle(a, 100, false)
	e.settle(a, 300, false)
	e.uses(key, used(2, 400, 300, 1))
}

func settleInParallel(e *env) {
	key := e.caller()
	a, b := charge(key, 300), charge(key, 300)
	e.admit(a, caps.Calls(10))
	e.admit(b, caps.Calls(10))
	var applied atomic.Int64
	err := parallelly(20, func(int) error {
		ok, err := e.store.Settle(e.ctx(), a, 100)
		if ok {
			applied.Add(1)
		}
		return err
	})
	if n := applied.Load(); err != nil || n != 1 {
		e.Fatalf("%d of 20 settles of one hold were applied, %v; want 1", n, err)
	}
	e.uses(key, used(2, 400, 300, 1))
}

// What a call cost above its hold is booked in full, above the cap if need be.
func settleAbove(e *env) {
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		c := charge(key, 100)
		e.admit(c, caps.USD(100))
		e.settle(c, 250, true)
		e.uses(key, used(1, 250, 0, 0))
		e.reserve(charge(key, 1), caps.USD(100), false, used(1, 250, 0, 0))
	}
}

func settleAboveLargest(e *env) {
	key := e.caller()
	c := charge(key, 1)
	e.admit(final(key, caps.MaxMicroUSD-10), caps.Calls(10))
	e.admit(c, caps.Calls(10))
	e.settle(c, caps.MaxMicroUSD, true)
	e.uses(key, used(2, caps.MaxMicroUSD, 0, 0))
	e.reserve(charge(key, 1), caps.USD(caps.MaxMicroUSD), false, used(2, caps.MaxMicroUSD, 0, 0))
}

func settleWhatIsNotHeld(e *env) {
	key := e.caller()
	for _, c := range []caps.Charge{charge(key, 10), charge(e.everybody(), 10)} {
		e.settle(c, 5, false)
		e.settle(c, 50, false)
		e.release(c, false)
		e.uses(c.Key, caps.Usage{})
	}
	e.admit(charge(key, 10), caps.Calls(10))
	stranger := charge(key, 10)
	e.settle(stranger, 5, false)
	e.release(stranger, false)
	e.uses(key, used(1, 10, 10, 1))
}

// A settle that comes after midnight corrects the day of its reserve.
func settleYesterday(e *env) {
	e.clock.Set(caps.DayOf(e.clock.Now()).End().Add(-time.Second))
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		settled, released := charge(key, 100), charge(key, 100)
		e.admit(settled, caps.Calls(2))
		e.admit(released, caps.Calls(2))

		e.clock.Set(key.Day.End().Add(5 * time.Second))
		today := key
		today.Day = caps.DayOf(e.clock.Now())
		if today.Day != key.Day+1 {
			e.Fatalf("today is %s; want the day after %s", today.Day, key.Day)
		}
		e.settle(settled, 30, true)
		e.uses(today, caps.Usage{})
		e.release(released, true)
		e.uses(today, caps.Usage{})
		e.uses(key, used(1, 30, 0, 0))

		// Yesterday's usage does not count today, and the other way round. An expired item
		// may be there or not.
		e.admit(charge(today, 100), caps.Calls(1))
		e.uses(key, used(1, 30, 0, 0))
		e.clock.Set(key.Day.Expiry().Add(24 * time.Hour))
		later := key
		later.Day = caps.DayOf(e.clock.Now())
		e.admit(charge(later, 100), caps.Calls(1))
		e.clock.Set(key.Day.End().Add(-time.Second))
	}
}

func releaseRestores(e *env) {
	key, limit := e.caller(), caps.Calls(3).AndUSD(100)
	e.admit(final(key, 10), limit)
	e.admit(charge(key, 20), limit)
	before := e.usage(key)
	c := charge(key, 70)
	e.reserve(c, limit, true, used(3, 100, 90, 2))
	e.release(c, true)
	e.uses(key, before)
	e.reserve(charge(key, 70), limit, true, used(3, 100, 90, 2))
}

func releaseTwice(e *env) {
	key := e.caller()
	a := charge(key, 10)
	e.admit(a, caps.Calls(10))
	e.admit(charge(key, 10), caps.Calls(10))
	e.release(a, true)
	e.release(a, false)
	e.uses(key, used(1, 10, 10, 1))
}

func settleOrRelease(e *env) {
	key := e.caller()
	a, b, other := charge(key, 10), charge(key, 10), charge(key, 10)
	for _, c := range []caps.Charge{a, b, other} {
		e.admit(c, caps.Calls(10))
	}
	e.settle(a, 4, true)
	e.release(a, false)
	e.release(b, true)
	e.settle(b, 4, false)
	e.uses(key, used(2, 14, 10, 1))
}
