package capstest

import (
	"sync/atomic"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// admittedOf sends n reserves at once, the i-th to the store of that index, and
// returns how many were admitted.
func (e *env) admittedOf(n int, stores []caps.Store, key caps.ItemKey, amount caps.MicroUSD, limit caps.Cap) int64 {
	e.Helper()
	var admitted atomic.Int64
	err := parallelly(n, func(i int) error {
		out, err := stores[i%len(stores)].Reserve(e.ctx(), charge(key, amount), limit)
		if out.Allowed {
			admitted.Add(1)
		}
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	return admitted.Load()
}

func parallel(e *env) {
	for _, n := range []int{50, 1000} {
		key := e.caller()
		if got := e.admittedOf(n, []caps.Store{e.store}, key, 7, caps.Calls(10)); got != 10 {
			e.Errorf("%d of %d parallel calls admitted at a cap of 10", got, n)
		}
		e.uses(key, used(10, 70, 70, 10))
	}
	key := e.caller()
	if got := e.admittedOf(50, []caps.Store{e.store}, key, 7, caps.Calls(40).AndUSD(75)); got != 10 {
		e.Errorf("%d of 50 parallel calls of 7 admitted at a cap of 75", got)
	}
	e.uses(key, used(10, 70, 70, 10))
}

func parallelShared(e *env) {
	key := e.everybody()
	if got := e.admittedOf(200, []caps.Store{e.store}, key, 7, caps.Calls(100).AndUSD(75)); got != 10 {
		e.Errorf("%d of 200 parallel calls of 7 admitted at a cap of 75", got)
	}
	e.uses(key, used(10, 70, 70, 0))
	var applied atomic.Int64
	err := parallelly(30, func(i int) error {
		undo := func() (bool, error) { return e.store.Release(e.ctx(), charge(key, 7)) }
		if i%3 > 0 {
			undo = func() (bool, error) { return e.store.Settle(e.ctx(), charge(key, 7), 7) }
		}
		ok, err := undo()
		if ok {
			applied.Add(1)
		}
		return err
	})
	if n := applied.Load(); err != nil || n != 10 {
		e.Fatalf("%d of 30 settles and releases of 10 holds applied, %v; want 10", n, err)
	}
	if u := e.usage(key); u.Held != 0 || u.USD != caps.MicroUSD(7*u.Calls) {
		e.Errorf("Usage = %+v; want nothing held and 7 a call", u)
	}
}

// Processes that share the backend admit as many together as one would.
func parallelStores(e *env) {
	stores := []caps.Store{e.store, e.open(), e.open(), e.open()}
	for _, key := range []caps.ItemKey{e.caller(), e.everybody()} {
		if got := e.admittedOf(200, stores, key, 7, caps.Calls(10)); got != 10 {
			e.Errorf("%d of 200 calls through four stores admitted at a cap of 10", got)
		}
		for _, store := range stores {
			u, err := store.Usage(e.ctx(), key)
			if u.Calls != 10 || u.USD != 70 || err != nil {
				e.Errorf("Usage = %+v, %v; want 10 calls and 70", u, err)
			}
		}
	}
}

// A thousand calls of one caller through four guards on four stores are ten paid calls.
func parallelGuards(e *env) {
	s := e.newSite(caps.Calls(10), caps.Calls(1000))
	var guards []*caps.Guard
	for range 4 {
		guards = append(guards, s.guard(e.open()))
	}
	viewer := s.viewer(1)
	var paid, refused atomic.Int64
	err := parallelly(1000, func(i int) error {
		res, err := guards[i%4].Reserve(e.ctx(), viewer, 7)
		switch {
		case err != nil:
			return err
		case !res.Allowed:
			refused.Add(1)
			return nil
		}
		paid.Add(1)
		_, err = res.Settle(e.ctx(), 5)
		return err
	})
	if err != nil {
		e.Fatal(err)
	}
	if p, r := paid.Load(), refused.Load(); p != 10 || r != 990 {
		e.Errorf("%d paid calls and %d refusals; want 10 and 990", p, r)
	}
	e.uses(s.item(1), used(10, 50, 0, 0))
	e.uses(s.ceiling(), used(10, 50, 0, 0))
}
