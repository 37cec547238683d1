package ratelimittest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Backend prepares a backend for one test, and returns what opens a store on it. Every
// store that is opened shares the windows of the others, as processes do.
//
// The backend need not be empty: every test has keys of its own. The takes are dated by a
// clock that starts at the machine's own time, so that a backend that deletes expired
// items does not delete those of the test.
type Backend func(tb testing.TB) (open func() ratelimit.Store)

// Run checks the stores of a backend. It takes some 15,000 store calls.
func Run(t *testing.T, backend Backend) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) { test.run(newEnv(t, backend)) })
	}
}

var suite = []struct {
	name string
	run  func(*env)
}{
	{"UpToTheLimit", upToTheLimit},
	{"NoDoublingAtTheEdge", noDoubling},
	{"RefusalLeavesNoTrace", refusalLeavesNoTrace},
	{"KeysAreApart", keysAreApart},
	{"LongIdle", longIdle},
	{"OtherLimit", otherLimit},
	{"SeveralStores", severalStores},

	{"GiveBack", giveBack},
	{"GiveBackTwice", giveBackTwice},
	{"GiveBackIsNotTheNext", giveBackIsNotTheNext},

	{"ClockSetBack", clockSetBack},
	{"ClockFarAhead", clockFarAhead},
	{"NothingLeavesEarly", nothingLeavesEarly},

	{"BadInput", badInput},
	{"ContextDone", contextDone},

	{"Parallel", parallel},
	{"ParallelAsTimePasses", parallelAsTimePasses},

	{"Model", randomAgainstModel},
	{"ModelOf300", randomAgainstModel300},
	{"RandomClock", randomClock},
}

// env is what one test has.
type env struct {
	testing.TB
	clock  *capstest.Clock
	stores []ratelimit.Store // several on one backend
	prefix string            // of the keys, of this test and run alone
	keys   atomic.Int64
}

const storesOfATest = 3

func newEnv(tb testing.TB, backend Backend) *env {
	open := backend(tb)
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	e := &env{TB: tb, clock: capstest.NewClock(time.Now().Truncate(time.Second)), prefix: "t" + hex.EncodeToString(b[:])}
	for range storesOfATest {
		e.stores = append(e.stores, open())
	}
	return e
}

func (e *env) key() string { return fmt.Sprintf("%s#%d", e.prefix, e.keys.Add(1)) }

// take asks a store now.
func (e *env) take(store int, key string, limit int, window time.Duration) (ratelimit.Outcome, error) {
	return e.stores[store].Take(e.Context(), ratelimit.Take{Key: key, Limit: limit, Window: window, Now: e.clock.Now()})
}

// admit asserts an admission after which as many remain.
func (e *env) admit(key string, limit int, window time.Duration, remaining int) ratelimit.Outcome {
	e.Helper()
	out, err := e.take(0, key, limit, window)
	if err != nil || out.Admission == "" || out.Remaining != remaining {
		e.Fatalf("Take under a limit of %d in %v = %+v, %v; want it admitted with %d remaining", limit, window, out, err, remaining)
	}
	return out
}

// refuse asserts a refusal until a time.
func (e *env) refuse(key string, limit int, window time.Duration, freeAt time.Time) {
	e.Helper()
	out, err := e.take(0, key, limit, window)
	if err != nil || out.Admission != "" || out.Remaining != 0 || !out.FreeAt.Equal(freeAt) {
		e.Fatalf("Take under a limit of %d in %v = %+v, %v; want it refused until %v", limit, window, out, err, freeAt)
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
