package capstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// site is what guards on one backend have in common.
type site struct {
	*env
	keyer                   *caps.Keyer
	caller, address, global caps.Budget // address may be none
}

// newSite returns a site whose budgets are new.
func (e *env) newSite(caller, global caps.Cap) *site {
	e.Helper()
	keyer, err := caps.NewKeyer([]byte(random(caps.MinSecretBytes)))
	if err != nil {
		e.Fatal(err)
	}
	n := e.keys.Add(1)
	return &site{
		env:    e,
		keyer:  keyer,
		caller: caps.Budget{Name: fmt.Sprintf("%s-c%d", e.budget, n), Cap: caller},
		global: caps.Budget{Name: fmt.Sprintf("%s-g%d", e.budget, n), Cap: global},
	}
}

func (s *site) guard(store caps.Store) *caps.Guard {
	s.Helper()
	g, err := caps.NewGuard(caps.Config{Store: store, Keyer: s.keyer, Caller: s.caller, Address: s.address, Global: s.global, Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	return g
}

// viewer returns one of 255 viewers.
func (s *site) viewer(n byte) caps.Caller {
	s.Helper()
	caller, err := caps.Mask{}.Caller(netip.AddrFrom4([4]byte{198, 51, 100, n}))
	if err != nil {
		s.Fatal(err)
	}
	return caller
}

// item is the key of a viewer's budget.
func (s *site) item(n byte) caps.ItemKey {
	day := caps.DayOf(s.clock.Now())
	return caps.ItemKey{Budget: s.caller.Name, Day: day, Caller: s.keyer.Key(s.caller.Name, day, s.viewer(n))}
}

// ceiling is the key of the budget for everybody.
func (s *site) ceiling() caps.ItemKey {
	return caps.ItemKey{Budget: s.global.Name, Day: caps.DayOf(s.clock.Now()), Caller: caps.Everybody}
}

// at is the address of a viewer that is a user: two users are at one.
func at(n byte) byte { return 101 + n%2 }

// ledger is what really happened, by viewer.
type ledger struct {
	mu    sync.Mutex
	paid  map[byte]int64
	spent map[byte]caps.MicroUSD
}

// What a paid call of worst case 10 may come to.
type result int

const (
	costs4   result = iota
	costs10         // all that was held
	failed          // certain that nothing was spent
	vanished        // nobody knows; in truth it cost 7
)

const worst caps.MicroUSD = 10

// request does what a handler does: no reservation, no paid call. It tries a settle or
// release that failed once more, and otherwise leaves the hold.
func (l *ledger) request(s *site, g *caps.Guard, n byte, r result) {
	res, err := g.ReserveFrom(s.ctx(), s.viewer(n), s.viewer(at(n)), worst)
	if err != nil {
		if res != nil {
			s.Errorf("a reservation came with the error %v", err)
		}
		return
	}
	if !res.Allowed {
		return
	}
	var cost caps.MicroUSD
	finish := func() error { return nil }
	switch r {
	case costs4, costs10:
		cost = 4
		if r == costs10 {
			cost = 10
		}
		finish = func() error { _, err := res.Settle(s.ctx(), cost); return err }
	case failed:
		finish = func() error { return res.Release(s.ctx()) }
	case vanished:
		cost = 7
	}
	if r != failed {
		l.mu.Lock()
		if l.paid == nil {
			l.paid, l.spent = map[byte]int64{}, map[byte]caps.MicroUSD{}
		}
		l.paid[n]++
		l.spent[n] += cost
		l.mu.Unlock()
	}
	if err := finish(); err != nil && !errors.Is(err, caps.ErrNotHeld) {
		_ = finish() // the handler cannot do more: what is left stays counted
	}
}

// check compares the counts with what really happened: never more than the caps, and
// never less than what was spent.
func (l *ledger) check(s *site, what string) {
	s.Helper()
	var all int64
	var sum caps.MicroUSD
	for n, paid := range l.paid {
		s.covers(what, s.item(n), s.caller.Cap, paid, l.spent[n])
		all += paid
		sum += l.spent[n]
	}
	s.covers(what, s.ceiling(), s.global.Cap, all, sum)
	if s.address == (caps.Budget{}) {
		return
	}
	calls, spent := map[byte]int64{}, map[byte]caps.MicroUSD{}
	for n, paid := range l.paid {
		calls[at(n)] += paid
		spent[at(n)] += l.spent[n]
	}
	for address, paid := range calls {
		s.covers(what, s.from(address), s.address.Cap, paid, spent[address])
	}
}

func (s *site) covers(what string, key caps.ItemKey, limit caps.Cap, paid int64, spent caps.MicroUSD) {
	s.Helper()
	u := s.usage(key)
	calls, _ := limit.Calls()
	usd, _ := limit.USD()
	switch {
	case paid > calls || spent > usd:
		s.Errorf("%s: %d paid calls for %s; the cap is %d and %s", what, paid, spent, calls, usd)
	case u.Calls > calls || u.USD > usd:
		s.Errorf("%s: usage %+v; the cap is %d and %s", what, u, calls, usd)
	case u.Calls < paid || u.USD < spent:
		s.Errorf("%s: usage %+v; there were %d paid calls for %s", what, u, paid, spent)
	case u.Held < 0 || u.Held > u.USD:
		s.Errorf("%s: usage %+v; held is not a part of it", what, u)
	}
}

// day is a day's requests, in which every step and both refusals occur.
var day = []struct {
	viewer byte
	result result
}{
	{1, costs4}, {1, failed}, {2, costs10}, {1, vanished}, {1, costs4}, {1, costs4}, // the caller's dollars end
	{2, failed}, {3, costs4}, {3, costs4}, {2, costs10}, // the ceiling's calls end
}

// dayCalls is how many store calls those are at most.
const dayCalls = 4 * 10

// Each store call of a day fails in each way once. The counts stay right.
func guardOneFault(e *env) {
	for _, fault := range []Fault{Throttle, LoseRequest, LoseReply, Late} {
		reached := 0
		for n := range dayCalls {
			s := e.newSite(caps.Calls(10).AndUSD(25), caps.Calls(5).AndUSD(100))
			store := NewFaulty(e.store, At(n, fault))
			g, l := s.guard(store), &ledger{}
			for _, r := range day {
				l.request(s, g, r.viewer, r.result)
			}
			store.Flush()
			l.check(s, fmt.Sprintf("%s at call %d", fault, n))
			if len(store.Calls()) <= n {
				break // the fault was after the last call
			}
			reached++
		}
		if reached < 20 {
			e.Errorf("a day took %d store calls only", reached)
		}
	}

	// Without a fault they are exact.
	s := e.newSite(caps.Calls(10).AndUSD(25), caps.Calls(5).AndUSD(100))
	g, l := s.guard(e.store), &ledger{}
	for _, r := range day {
		l.request(s, g, r.viewer, r.result)
	}
	l.check(s, "no fault")
	e.uses(s.item(1), used(3, 18, 10, 1))
	e.uses(s.item(2), used(1, 10, 0, 0))
	e.uses(s.item(3), used(1, 4, 0, 0))
	e.uses(s.ceiling(), used(5, 32, 10, 0))
}

func guardRandomFaults(e *env) {
	e.randomFaults(8, func() *site { return e.newSite(caps.Calls(6).AndUSD(50), caps.Calls(15).AndUSD(120)) })
}

// randomFaults sends parallel requests through two guards whose stores fail in every way,
// for each seed on a site of its own, and holds the counts to what was paid and spent.
func (e *env) randomFaults(seeds uint64, newSite func() *site) {
	for seed := range seeds {
		s := newSite()
		stores := []*Faulty{
			NewFaulty(e.open(), Random(seed, 0.2, Throttle, LoseRequest, LoseReply, Late, Delay)),
			NewFaulty(e.open(), Random(^seed, 0.2, LoseReply, Late)),
		}
		guards := []*caps.Guard{s.guard(stores[0]), s.guard(stores[1])}
		l := &ledger{}
		err := parallelly(8, func(i int) error {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 8 {
				l.request(s, guards[i%2], byte(1+r.IntN(4)), result(r.IntN(4)))
			}
			return nil
		})
		for _, store := range stores {
			store.Flush()
		}
		if err != nil {
			e.Fatal(err)
		}
		l.check(s, fmt.Sprintf("seed %d", seed))
	}
}

// A caller who is refused by the ceiling is back where it was, to the last count.
func guardRestoresTheCaller(e *env) {
	for _, c := range []struct {
		fault    Fault // at the release
		restored bool
		fails    bool
	}{
		{None, true, false},
		{Delay, true, false},
		{LoseReply, true, true},
		{Late, true, true},
		{Throttle, false, true}, // the hold stays, which is the safe side
		{LoseRequest, false, true},
	} {
		s := e.newSite(caps.Calls(10).AndUSD(100), caps.Calls(1))
		store := NewFaulty(e.store, func(_ int, call Call) Fault {
			if call.Method == "Release" {
				return c.fault
			}
			return None
		})
		if res, err := s.guard(e.store).Reserve(e.ctx(), s.viewer(1), worst); err != nil || !res.Allowed {
			e.Fatalf("Reserve = %+v, %v; want it allowed", res, err)
		}
		before, ceiling := e.usage(s.item(1)), e.usage(s.ceiling())
		res, err := s.guard(store).Reserve(e.ctx(), s.viewer(1), worst)
		store.Flush()
		switch {
		case c.fails && (err == nil || res != nil):
			e.Errorf("%s: Reserve = %+v, %v; want an error", c.fault, res, err)
		case !c.fails && (err != nil || res.Allowed || res.Scope != caps.ScopeGlobal):
			e.Errorf("%s: Reserve = %+v, %v; want it refused by the ceiling", c.fault, res, err)
		}
		want := before
		if !c.restored {
			want = used(2, 20, 20, 2)
		}
		e.uses(s.item(1), want)
		e.uses(s.ceiling(), ceiling)
	}
}
