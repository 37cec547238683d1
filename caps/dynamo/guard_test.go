package dynamo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// A day of requests through a guard, the SDK and a network in which every sixth request
// meets a fault, some of which cost more than they held. Whatever happens, there are
// not more paid calls than the caps allow, and the counts never say less than what was
// spent.
func TestGuardOnAFailingNetwork(t *testing.T) {
	faults := []ddbtest.Fault{ddbtest.Lost, ddbtest.NeverCame, ddbtest.Status500, ddbtest.Late500, ddbtest.Throttled, ddbtest.Conflict, ddbtest.Garbage, ddbtest.HTML502, ddbtest.WrongCRC, ddbtest.Truncated, ddbtest.Empty}
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("k", caps.MinSecretBytes)))
	if err != nil {
		t.Fatal(err)
	}
	const worst, callerCalls, globalCalls = 100, 10, 25
	var all, refusedCalls, failures int
	for seed := range uint64(20) {
		random, network := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		var drawing sync.Mutex // a request whose client has given up may still arrive
		s := newServer(t)
		s.Script(func(int, ddbtest.Seen) ddbtest.Fault {
			drawing.Lock()
			defer drawing.Unlock()
			if network.IntN(6) > 0 {
				return ddbtest.Fine
			}
			return faults[network.IntN(len(faults))]
		})
		store := s.store(func(c *Config) { c.Deadline, c.AttemptTimeout = time.Minute, time.Minute })
		store.sender.Backoff = 2
		guard, err := caps.NewGuard(caps.Config{
			Store: store, Keyer: keyer, Now: noon,
			Caller: caps.Budget{Name: "caller", Cap: caps.Calls(callerCalls).AndUSD(1000)},
			Global: caps.Budget{Name: "global", Cap: caps.Calls(globalCalls).AndUSD(2000)},
		})
		if err != nil {
			t.Fatal(err)
		}
		paid, spent := map[int]int64{}, map[int]caps.MicroUSD{}
		var total int64
		var sum caps.MicroUSD
		for range 60 {
			n := random.IntN(4)
			caller, err := caps.ViewerCaller(fmt.Sprintf("198.51.100.%d:443", n))
			if err != nil {
				t.Fatal(err)
			}
			all++
			res, err := guard.Reserve(context.Background(), caller, worst)
			if err != nil {
				failures++
				continue
			}
			if !res.Allowed {
				refusedCalls++
				continue
			}
			finish := func() error { return res.Release(context.Background()) }
			if random.IntN(5) > 0 {
				cost := caps.MicroUSD(random.IntN(worst * 3 / 2))
				paid[n]++
				spent[n] += cost
				total++
				sum += cost
				finish = func() error { _, err := res.Settle(context.Background(), cost); return err }
			}
			for range 5 { // a handler that does not give up
				if finish() == nil {
					break
				}
			}
		}
		check := func(what, key string, paid, limit int64, spent caps.MicroUSD) {
			t.Helper()
			u, err := attributes.usage(ddbtest.Values(s.Rows()[key]))
			if err != nil || paid > limit || u.Calls < paid || u.Calls > limit || u.USD < spent {
				t.Errorf("seed %d, %s: usage %+v, %v; there were %d paid calls for %s at a cap of %d", seed, what, u, err, paid, spent, limit)
			}
		}
		for n := range 4 {
			caller, _ := caps.ViewerCaller(fmt.Sprintf("198.51.100.%d:443", n))
			key := caps.ItemKey{Budget: "caller", Day: caps.DayOf(noon()), Caller: keyer.Key("caller", caps.DayOf(noon()), caller)}
			check(fmt.Sprint("caller ", n), key.String(), paid[n], callerCalls, spent[n])
		}
		check("ceiling", everybody().String(), total, globalCalls, sum)
	}
	if failures == 0 || refusedCalls == 0 || failures+refusedCalls > all*4/5 {
		t.Errorf("%d failures and %d refusals of %d; want some of each, and some admitted", failures, refusedCalls, all)
	}
}
