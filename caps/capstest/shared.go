package capstest

import "github.com/seed3e88d9a2/spendcap/caps"

// A shared budget keeps no IDs: the same charge again is another one.
func sharedBudget(e *env) {
	key, limit := e.everybody(), caps.Calls(4).AndUSD(1000)
	c := charge(key, 300)
	e.reserve(c, limit, true, used(1, 300, 300, 0))
	e.reserve(c, limit, true, used(2, 600, 600, 0))
	e.reserve(c, limit, true, used(3, 900, 900, 0))
	e.reserve(c, limit, false, used(3, 900, 900, 0))
	e.settle(c, 100, true)
	e.uses(key, used(3, 700, 600, 0))
	e.release(c, true)
	e.uses(key, used(2, 400, 300, 0))
	e.settle(c, 500, true)
	e.uses(key, used(2, 600, 0, 0))
	e.reserve(charge(key, 400), limit, true, used(3, 1000, 400, 0))
	e.reserve(charge(key, 0), limit, true, used(4, 1000, 400, 0))
	e.reserve(charge(key, 0), limit, false, used(4, 1000, 400, 0))
}

// Settling or releasing more than is held changes nothing.
func sharedNeverNegative(e *env) {
	key := e.everybody()
	c, small := charge(key, 300), charge(key, 100)
	e.admit(c, caps.Calls(10))
	e.admit(small, caps.Calls(10))
	e.release(c, true)
	e.settle(c, 0, false)
	e.release(c, false)
	e.uses(key, used(1, 100, 100, 0))
	e.settle(small, 100, true)
	e.settle(small, 0, false)
	e.release(small, false)
	e.uses(key, used(1, 100, 0, 0))
	e.release(final(key, 101), false)
	e.release(final(key, 100), true)
	e.release(final(key, 0), false)
	e.uses(key, caps.Usage{})
}
