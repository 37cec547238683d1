package capstest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Broken stores fail here on purpose, with nothing to keep or to simplify.
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "1ms"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// recorder is a test that may fail without consequences.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	text   string
}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.text = true, r.text+text+"\n"
}
func (r *recorder) Error(args ...any)            { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.note(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)); runtime.Goexit() }
func (r *recorder) Fail()                        { r.note("failed") }
func (r *recorder) FailNow()                     { r.note("failed"); runtime.Goexit() }
func (r *recorder) Log(...any)                   {}
func (r *recorder) Logf(string, ...any)          {}
func (r *recorder) Helper()                      {}
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// fails tells whether a test of the suite fails on a backend, and what it says.
func fails(t *testing.T, name string, backend Backend) (bool, string) {
	t.Helper()
	for _, test := range suite {
		if test.name != name {
			continue
		}
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			test.run(newEnv(r, backend))
		}()
		<-done
		return r.Failed(), r.text
	}
	t.Fatalf("no test is named %s", name)
	return false, ""
}

// twisted is a store with something wrong.
type twisted struct {
	caps.Store
	reserve func(context.Context, caps.Charge, caps.Cap) (caps.Outcome, error)
	settle  func(context.Context, caps.Charge, caps.MicroUSD) (bool, error)
	release func(context.Context, caps.Charge) (bool, error)
	usage   func(caps.Usage) caps.Usage
}

func (s *twisted) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	out, err := caps.Outcome{}, error(nil)
	if s.reserve != nil {
		out, err = s.reserve(ctx, c, limit)
	} else {
		out, err = s.Store.Reserve(ctx, c, limit)
	}
	if s.usage != nil {
		out.Usage = s.usage(out.Usage)
	}
	return out, err
}

func (s *twisted) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	if s.settle != nil {
		return s.settle(ctx, c, actual)
	}
	return s.Store.Settle(ctx, c, actual)
}

func (s *twisted) Release(ctx context.Context, c caps.Charge) (bool, error) {
	if s.release != nil {
		return s.release(ctx, c)
	}
	return s.Store.Release(ctx, c)
}

func (s *twisted) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	u, err := s.Store.Usage(ctx, key)
	if s.usage != nil {
		u = s.usage(u)
	}
	return u, err
}

var noLimit = caps.Calls(int64(caps.MaxMicroUSD))

// A suite is worth what it finds. Each of these mistakes, all of them made by somebody
// before, has to be found by the tests that are about it.
func TestSuiteFindsMistakes(t *testing.T) {
	type store = *memory.Store
	for _, c := range []struct {
		mistake string
		make    func(s store, clock *Clock) caps.Store
		found   []string
	}{
		{
			"the first call of the day is admitted whatever it costs",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if u, err := s.Usage(ctx, c.Key); err == nil && u == (caps.Usage{}) && limit.Check() == nil {
						limit = noLimit
					}
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"CapOfZero", "FirstCallDearerThanTheCap", "Model"},
		},
		{
			"reading and writing are two steps",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					u, err := s.Usage(ctx, c.Key)
					if err != nil || !limit.Admits(u, c.Amount) {
						return caps.Outcome{Usage: u}, err
					}
					time.Sleep(time.Millisecond)
					return s.Reserve(ctx, c, noLimit)
				}}
			},
			[]string{"Parallel", "ParallelShared", "ParallelStores", "ParallelGuards", "Linearizable", "LinearizableApart", "GuardRandomFaults"},
		},
		{
			"a hold is shrunk to what is left",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					u, err := s.Usage(ctx, c.Key)
					if usd, limited := limit.USD(); err == nil && limited && u.USD < usd {
						c.Amount = min(c.Amount, usd-u.USD)
					}
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"HoldIsNeverShrunk", "RefusalLeavesNoTrace", "Model"},
		},
		{
			"a refused call is counted",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					out, err := s.Reserve(ctx, c, limit)
					if err == nil && !out.Allowed {
						trace := charge(c.Key, 0)
						trace.Final = true
						_, err = s.Reserve(ctx, trace, noLimit)
					}
					return out, err
				}}
			},
			[]string{"RefusalLeavesNoTrace", "Parallel", "Model"},
		},
		{
			"a retry is charged again",
			func(s store, _ *Clock) caps.Store {
				again := map[string]bool{}
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if again[c.ID] && c.ID != "" {
						c.ID = random(8)
					}
					again[c.ID] = true
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"ReserveAgain", "ReserveAgainWhenFull", "FinalChargeAgain", "Model"},
		},
		{
			"a retry of the call that took the last unit is refused",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if u, err := s.Usage(ctx, c.Key); err == nil && limit.Check() == nil && c.Check() == nil && !limit.Admits(u, c.Amount) {
						return caps.Outcome{Usage: u}, nil
					}
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"ReserveAgainWhenFull", "FinalChargeAgain", "Model"},
		},
		{
			"an ID may change its amount",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					out, err := s.Reserve(ctx, c, limit)
					if err != nil && c.Check() == nil {
						c.ID = random(8)
						return s.Reserve(ctx, c, limit)
					}
					return out, err
				}}
			},
			[]string{"OneIDOneCharge"},
		},
		{
			"what a shared budget was charged once is not charged again",
			func(s store, _ *Clock) caps.Store {
				seen := map[caps.Charge]bool{}
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if seen[c] && c.ID == "" {
						u, err := s.Usage(ctx, c.Key)
						return caps.Outcome{Allowed: true, Usage: u}, err
					}
					out, err := s.Reserve(ctx, c, limit)
					seen[c] = out.Allowed
					return out, err
				}}
			},
			[]string{"SharedBudget", "Model"},
		},
		{
			"a settle is applied again",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, settle: func(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
					ok, err := s.Settle(ctx, c, actual)
					if u, _ := s.Usage(ctx, c.Key); !ok && err == nil && u.Calls > 0 {
						_, err = s.Reserve(ctx, caps.Charge{Key: c.Key, ID: "again", Amount: actual, Final: true}, noLimit)
						return true, err
					}
					return ok, err
				}}
			},
			[]string{"SettleTwice", "SettleInParallel", "SettleOrReleaseNotBoth", "Model"},
		},
		{
			"a cost above the hold is cut off",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, settle: func(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
					return s.Settle(ctx, c, min(actual, c.Amount))
				}}
			},
			[]string{"SettleAboveTheHold", "SettleAboveTheLargestAmount", "Model"},
		},
		{
			"a settle goes to today's item",
			func(s store, clock *Clock) caps.Store {
				return &twisted{Store: s, settle: func(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
					c.Key.Day = caps.DayOf(clock.Now())
					return s.Settle(ctx, c, actual)
				}}
			},
			[]string{"SettleYesterday"},
		},
		{
			"a release goes to today's item",
			func(s store, clock *Clock) caps.Store {
				return &twisted{Store: s, release: func(ctx context.Context, c caps.Charge) (bool, error) {
					c.Key.Day = caps.DayOf(clock.Now())
					return s.Release(ctx, c)
				}}
			},
			[]string{"SettleYesterday"},
		},
		{
			"a release gives the dollars back and keeps the call",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, release: func(ctx context.Context, c caps.Charge) (bool, error) {
					if c.Final {
						return s.Release(ctx, c)
					}
					return s.Settle(ctx, c, 0)
				}}
			},
			[]string{"ReleaseRestores", "ReleaseTwice", "GuardRestoresTheCaller", "GuardOneFault", "Model"},
		},
		{
			"a final charge is held",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					c.Final = false
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"FinalCharge", "FinalChargeReleased", "Model"},
		},
		{
			"dollars are rounded",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if c.Final {
						c.Amount -= c.Amount / 1000
					}
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"DollarsAreExact"},
		},
		{
			"only calls are looked at where both are limited",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if calls, limited := limit.Calls(); limited && limit.Check() == nil {
						limit = caps.Calls(calls)
					}
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"BothDimensions", "FirstCallDearerThanTheCap", "Model"},
		},
		{
			"one that was refused stays refused",
			func(s store, _ *Clock) caps.Store {
				full := map[caps.ItemKey]bool{}
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					if full[c.Key] {
						u, err := s.Usage(ctx, c.Key)
						return caps.Outcome{Usage: u}, err
					}
					out, err := s.Reserve(ctx, c, limit)
					full[c.Key] = err == nil && !out.Allowed
					return out, err
				}}
			},
			[]string{"RaisedAndLoweredCap", "RefusalLeavesNoTrace", "Model"},
		},
		{
			"days share an item",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					c.Key.Day = 0
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"BudgetsAreApart", "ReserveHolds"},
		},
		{
			"a sum above the largest amount is cut off",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					out, err := s.Reserve(ctx, c, limit)
					if errors.Is(err, caps.ErrAmount) && c.Amount.Check() == nil && limit.Check() == nil {
						return caps.Outcome{Allowed: true, Usage: out.Usage}, nil
					}
					return out, err
				}}
			},
			[]string{"Overflow"},
		},
		{
			"nothing is said to be held",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, usage: func(u caps.Usage) caps.Usage { u.Held = 0; return u }}
			},
			[]string{"ReserveHolds", "Model", "Linearizable"},
		},
		{
			"a refusal does not say the count",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					out, err := s.Reserve(ctx, c, limit)
					if !out.Allowed {
						out.Usage = caps.Usage{}
					}
					return out, err
				}}
			},
			[]string{"ReserveUpToTheCap", "CapOfZero", "Model", "Linearizable"},
		},
		{
			"a shared budget can be given back what it does not hold",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, release: func(ctx context.Context, c caps.Charge) (bool, error) {
					ok, err := s.Release(ctx, c)
					return ok || err == nil && c.ID == "", err
				}}
			},
			[]string{"SharedBudgetNeverNegative", "SettleWhatIsNotHeld", "Model"},
		},
		{
			"a context that is done is ignored",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					return s.Reserve(context.WithoutCancel(ctx), c, limit)
				}}
			},
			[]string{"ContextDone"},
		},
		{
			"bad input is mended",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					c.Amount = max(c.Amount, 0)
					return s.Reserve(ctx, c, limit)
				}}
			},
			[]string{"BadInput"},
		},
		{
			"an error is called a refusal",
			func(s store, _ *Clock) caps.Store {
				return &twisted{Store: s, reserve: func(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
					out, err := s.Reserve(ctx, c, limit)
					if err != nil {
						return caps.Outcome{}, nil
					}
					return out, nil
				}}
			},
			[]string{"BadInput", "ContextDone", "Overflow", "OneIDOneCharge"},
		},
	} {
		for _, name := range c.found {
			found, _ := fails(t, name, func(_ testing.TB, clock *Clock) func() caps.Store {
				s := &locked{Store: c.make(memory.New(clock.Now), clock)}
				if c.mistake == "reading and writing are two steps" {
					return func() caps.Store { return s.Store }
				}
				return func() caps.Store { return s }
			})
			if !found {
				t.Errorf("%s does not find that %s", name, c.mistake)
			}
		}
	}

	for _, test := range suite {
		right := func(_ testing.TB, clock *Clock) func() caps.Store {
			s := memory.New(clock.Now)
			return func() caps.Store { return s }
		}
		if found, text := fails(t, test.name, right); found {
			t.Errorf("%s finds fault with a store that is right: %s", test.name, text)
		}
	}
	apart := func(_ testing.TB, clock *Clock) func() caps.Store {
		return func() caps.Store { return memory.New(clock.Now) }
	}
	for _, name := range []string{"ParallelStores", "ParallelGuards", "Linearizable"} {
		if found, _ := fails(t, name, apart); !found {
			t.Errorf("%s does not find that every process counts for itself", name)
		}
	}
}

// locked makes a twisted store safe for concurrent use.
type locked struct {
	caps.Store
	mu sync.Mutex
}

func (l *locked) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store.Reserve(ctx, c, limit)
}

func (l *locked) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store.Settle(ctx, c, actual)
}

func (l *locked) Release(ctx context.Context, c caps.Charge) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store.Release(ctx, c)
}
