package capstest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Backend prepares a backend for one test, and returns what opens a store on it. Every
// store that is opened shares the counts of the others, as processes do.
//
// The backend need not be empty: every test has budgets of its own. The store takes
// its time from clock, which starts at noon of the machine's own UTC date, so that a
// backend that deletes expired items does not delete those of the test. Deadlines of
// the store have to be long enough for a thousand parallel calls on one item.
type Backend func(tb testing.TB, clock *Clock) (open func() caps.Store)

// Run checks the stores of a backend. It takes some 20,000 store calls.
func Run(t *testing.T, backend Backend) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) { test.run(newEnv(t, backend)) })
	}
}

var suite = []struct {
	name string
	run  func(*env)
}{
	{"ReserveHolds", reserveHolds},
	{"ReserveUpToTheCap", reserveUpToTheCap},
	{"CapOfZero", capOfZero},
	{"FirstCallDearerThanTheCap", firstCallDearer},
	{"BothDimensions", bothDimensions},
	{"HoldIsNeverShrunk", holdIsNeverShrunk},
	{"RefusalLeavesNoTrace", refusalLeavesNoTrace},
	{"RaisedAndLoweredCap", raisedAndLoweredCap},
	{"DollarsAreExact", dollarsAreExact},
	{"ReserveAgain", reserveAgain},
	{"ReserveAgainWhenFull", reserveAgainWhenFull},
	{"ReserveAgainInParallel", reserveAgainInParallel},
	{"OneIDOneCharge", oneIDOneCharge},
	{"BudgetsAreApart", budgetsAreApart},
	{"Overflow", overflow},

	{"SettleReplacesTheHold", settleReplaces},
	{"SettleTwice", settleTwice},
	{"SettleInParallel", settleInParallel},
	{"SettleAboveTheHold", settleAbove},
	{"SettleAboveTheLargestAmount", settleAboveLargest},
	{"SettleWhatIsNotHeld", settleWhatIsNotHeld},
	{"SettleYesterday", settleYesterday},
	{"ReleaseRestores", releaseRestores},
	{"ReleaseTwice", releaseTwice},
	{"SettleOrReleaseNotBoth", settleOrRelease},

	{"FinalCharge", finalCharge},
	{"FinalChargeAgain", finalChargeAgain},
	{"FinalChargeReleased", finalChargeReleased},

	{"SharedBudget", sharedBudget},
	{"SharedBudgetNeverNegative", sharedNeverNegative},

	{"BadInput", badInput},
	{"ContextDone", contextDone},

	{"Parallel", parallel},
	{"ParallelShared", parallelShared},
	{"ParallelStores", parallelStores},
	{"ParallelGuards", parallelGuards},

	{"Model", randomAgainstModel},
	{"Linearizable", linearizable},
	{"LinearizableApart", linearizableApart},

	{"GuardOneFault", guardOneFault},
	{"GuardRandomFaults", guardRandomFaults},
	{"GuardRestoresTheCaller", guardRestoresTheCaller},

	{"AddressOneUser", addressOneUser},
	{"AddressManyUsers", addressManyUsers},
	{"AddressRestores", addressRestores},
	{"AddressRandomFaults", addressRandomFaults},
}

// env is what one test has.
type env struct {
	testing.TB
	clock  *Clock
	open   func() caps.Store
	store  caps.Store
	budget string // of this test and run alone
	keys   atomic.Int64
}

func newEnv(tb testing.TB, backend Backend) *env {
	clock := NewClock(caps.DayOf(time.Now()).Start().Add(12 * time.Hour))
	open := backend(tb, clock)
	return &env{TB: tb, clock: clock, open: open, store: open(), budget: "t" + random(6)}
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func (e *env) ctx() context.Context { return e.Context() }

// caller returns the key of a new caller's budget today.
func (e *env) caller() caps.ItemKey {
	return caps.ItemKey{Budget: e.budget, Day: caps.DayOf(e.clock.Now()), Caller: fmt.Sprintf("%032x", e.keys.Add(1))}
}

// everybody returns the key of a new shared budget today.
func (e *env) everybody() caps.ItemKey {
	name := fmt.Sprintf("%s-%d", e.budget, e.keys.Add(1))
	return caps.ItemKey{Budget: name, Day: caps.DayOf(e.clock.Now()), Caller: caps.Everybody}
}

// charge returns a new charge, with an ID if the budget is not shared.
func charge(key caps.ItemKey, amount caps.MicroUSD) caps.Charge {
	c := caps.Charge{Key: key, Amount: amount}
	if key.Caller != caps.Everybody {
		c.ID = random(8)
	}
	return c
}

func final(key caps.ItemKey, amount caps.MicroUSD) caps.Charge {
	c := charge(key, amount)
	c.Final = true
	return c
}

func used(calls int64, usd, held caps.MicroUSD, open int) caps.Usage {
	return caps.Usage{Calls: calls, USD: usd, Held: held, Open: open}
}

// reserve asserts the whole outcome of a reserve.
func (e *env) reserve(c caps.Charge, limit caps.Cap, allowed bool, u caps.Usage) {
	e.Helper()
	got, err := e.store.Reserve(e.ctx(), c, limit)
	if want := (caps.Outcome{Allowed: allowed, Usage: u}); got != want || err != nil {
		e.Fatalf("Reserve of %s under %s = %+v, %v; want %+v", c.Amount, show(limit), got, err, want)
	}
}

// admit reserves what has to be admitted.
func (e *env) admit(c caps.Charge, limit caps.Cap) {
	e.Helper()
	if got, err := e.store.Reserve(e.ctx(), c, limit); !got.Allowed || err != nil {
		e.Fatalf("Reserve of %s under %s = %+v, %v; want it allowed", c.Amount, show(limit), got, err)
	}
}

func (e *env) settle(c caps.Charge, actual caps.MicroUSD, want bool) {
	e.Helper()
	if got, err := e.store.Settle(e.ctx(), c, actual); got != want || err != nil {
		e.Fatalf("Settle = %v, %v; want %v", got, err, want)
	}
}

func (e *env) release(c caps.Charge, want bool) {
	e.Helper()
	if got, err := e.store.Release(e.ctx(), c); got != want || err != nil {
		e.Fatalf("Release = %v, %v; want %v", got, err, want)
	}
}

func (e *env) usage(key caps.ItemKey) caps.Usage {
	e.Helper()
	u, err := e.store.Usage(e.ctx(), key)
	if err != nil {
		e.Fatalf("Usage: %v", err)
	}
	return u
}

// uses asserts a budget's usage.
func (e *env) uses(key caps.ItemKey, want caps.Usage) {
	e.Helper()
	if got := e.usage(key); got != want {
		e.Fatalf("Usage = %+v; want %+v", got, want)
	}
}

func show(limit caps.Cap) string {
	calls, byCalls := limit.Calls()
	usd, byUSD := limit.USD()
	switch {
	case byCalls && byUSD:
		return fmt.Sprintf("a cap of %d calls and %s dollars", calls, usd)
	case byUSD:
		return fmt.Sprintf("a cap of %s dollars", usd)
	default:
		return fmt.Sprintf("a cap of %d calls", calls)
	}
}

// parallelly runs do n times in as many goroutines that start together, and returns
// all errors.
func parallelly(n int, do func(i int) error) error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}
