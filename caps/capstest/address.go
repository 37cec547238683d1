package capstest

import (
	"sync/atomic"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// withAddress gives the site a cap on the address as well, and returns it.
func (s *site) withAddress(limit caps.Cap) *site {
	s.address = caps.Budget{Name: s.caller.Name + "-a", Cap: limit}
	return s
}

// from is the key of an address's budget.
func (s *site) from(n byte) caps.ItemKey {
	day := caps.DayOf(s.clock.Now())
	return caps.ItemKey{Budget: s.address.Name, Day: day, Caller: s.keyer.Key(s.address.Name, day, s.viewer(n))}
}

// four returns guards on four stores of the backend, as four processes have them.
func (s *site) four() (guards [4]*caps.Guard) {
	for i := range guards {
		guards[i] = s.guard(s.open())
	}
	return guards
}

// pay makes n calls at once, each of worst case 7 and cost 5, and returns how many were
// paid and how many each scope refused. who tells user and address of the i-th.
func (s *site) pay(n int, who func(i int) (user, address byte)) (paid int64, refused map[caps.Scope]int64) {
	s.Helper()
	guards := s.four()
	var count atomic.Int64
	scopes := map[caps.Scope]*atomic.Int64{caps.ScopeCaller: {}, caps.ScopeAddress: {}, caps.ScopeGlobal: {}}
	err := parallelly(n, func(i int) error {
		user, address := who(i)
		res, err := guards[i%len(guards)].ReserveFrom(s.ctx(), s.viewer(user), s.viewer(address), 7)
		switch {
		case err != nil:
			return err
		case !res.Allowed:
			scopes[res.Scope].Add(1)
			return nil
		}
		count.Add(1)
		_, err = res.Settle(s.ctx(), 5)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	refused = map[caps.Scope]int64{}
	for scope, n := range scopes {
		refused[scope] = n.Load()
	}
	return count.Load(), refused
}

// A user who calls from several addresses and through several processes at once has the
// user's cap, once.
func addressOneUser(e *env) {
	s := e.newSite(caps.Calls(10), caps.Calls(1000)).withAddress(caps.Calls(50))
	paid, refused := s.pay(100, func(i int) (byte, byte) { return 1, 101 + byte(i%5) })
	if paid != 10 || refused[caps.ScopeCaller] != 90 {
		e.Errorf("%d calls paid, refused %v; want 10, and 90 by the caller", paid, refused)
	}
	e.uses(s.item(1), used(10, 50, 0, 0))
	e.uses(s.ceiling(), used(10, 50, 0, 0))
	var sum caps.Usage
	for n := range byte(5) {
		u := e.usage(s.from(101 + n))
		sum.Calls, sum.USD, sum.Held, sum.Open = sum.Calls+u.Calls, sum.USD+u.USD, sum.Held+u.Held, sum.Open+u.Open
	}
	if sum != used(10, 50, 0, 0) {
		e.Errorf("the addresses together: %+v; want the 10 calls", sum)
	}
}

// Many users behind one address have the address's cap together, and a user whom the
// address refuses is back where it was. The same if it is the ceiling that refuses.
func addressManyUsers(e *env) {
	for _, c := range []struct {
		address, global int64
		want            int64
		scope           caps.Scope // refused something; the caller may have as well
	}{
		{15, 1000, 15, caps.ScopeAddress},
		{15, 7, 7, caps.ScopeGlobal},
	} {
		s := e.newSite(caps.Calls(3), caps.Calls(c.global)).withAddress(caps.Calls(c.address))
		paid, refused := s.pay(100, func(i int) (byte, byte) { return 1 + byte(i%10), 101 })
		if paid != c.want || refused[c.scope] == 0 {
			e.Errorf("%d calls paid, refused %v; want %d", paid, refused, c.want)
		}
		want := used(c.want, 5*caps.MicroUSD(c.want), 0, 0)
		e.uses(s.from(101), want)
		e.uses(s.ceiling(), want)
		var sum int64
		for n := range byte(10) {
			u := e.usage(s.item(1 + n))
			if u != used(u.Calls, 5*caps.MicroUSD(u.Calls), 0, 0) || u.Calls > 3 {
				e.Errorf("user %d: %+v; want at most 3 calls and nothing held", n, u)
			}
			sum += u.Calls
		}
		if sum != c.want {
			e.Errorf("the users together have %d calls; want %d", sum, c.want)
		}
	}
}

// A refusal by a later budget restores the earlier ones to the last count; if giving
// back fails, what stays is the hold.
func addressRestores(e *env) {
	for _, fault := range []Fault{None, Delay, LoseReply, Late, Throttle, LoseRequest} {
		for full, scope := range []caps.Scope{caps.ScopeAddress, caps.ScopeGlobal} {
			limits := []caps.Cap{caps.Calls(10), caps.Calls(10)}
			limits[full] = caps.Calls(1)
			s := e.newSite(caps.Calls(10).AndUSD(100), limits[1]).withAddress(limits[0])
			if res, err := s.guard(e.store).ReserveFrom(e.ctx(), s.viewer(1), s.viewer(101), worst); err != nil || !res.Allowed {
				e.Fatalf("ReserveFrom = %+v, %v; want it allowed", res, err)
			}
			before := []caps.Usage{e.usage(s.item(1)), e.usage(s.from(101)), e.usage(s.ceiling())}
			store := NewFaulty(e.store, func(_ int, call Call) Fault {
				if call.Method == "Release" {
					return fault
				}
				return None
			})
			res, err := s.guard(store).ReserveFrom(e.ctx(), s.viewer(1), s.viewer(101), worst)
			store.Flush()
			fails := fault != None && fault != Delay
			if fails && (err == nil || res != nil) || !fails && (err != nil || res.Allowed || res.Scope != scope) {
				e.Errorf("%s: ReserveFrom = %+v, %v; want it refused by the %s, or an error", fault, res, err, scope)
			}
			after := []caps.Usage{e.usage(s.item(1)), e.usage(s.from(101)), e.usage(s.ceiling())}
			if fault == Throttle || fault == LoseRequest {
				before[0] = used(2, 20, 20, 2)
				if scope == caps.ScopeGlobal {
					before[1] = used(2, 20, 20, 2)
				}
			}
			for i := range after {
				if after[i] != before[i] {
					e.Errorf("%s, refused by the %s: budget %d is %+v; want %+v", fault, scope, i, after[i], before[i])
				}
			}
		}
	}
}

// Under faults of every kind the counts of all three budgets cover what was paid and
// spent, and none is over its cap.
func addressRandomFaults(e *env) {
	e.randomFaults(4, func() *site {
		return e.newSite(caps.Calls(6).AndUSD(50), caps.Calls(15).AndUSD(120)).withAddress(caps.Calls(12).AndUSD(100))
	})
}
