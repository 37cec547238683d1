package capstest

import (
	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// randomAgainstModel runs random calls, one at a time, on the store and on the model.
// Every answer and the usage after every call have to be the model's.
func randomAgainstModel(e *env) {
	rapid.Check(e, func(t *rapid.T) {
		key := e.caller()
		if rapid.Bool().Draw(t, "shared") {
			key = e.everybody()
		}
		var m model
		made := []caps.Charge{charge(key, 5)} // one that is never reserved unless drawn

		old := func(t *rapid.T) caps.Charge { return rapid.SampledFrom(made).Draw(t, "charge") }
		amount := rapid.Int64Range(0, 12)
		limit := func(t *rapid.T) caps.Cap {
			calls, usd := rapid.Int64Range(0, 6).Draw(t, "calls"), caps.MicroUSD(rapid.Int64Range(0, 40).Draw(t, "usd"))
			switch rapid.IntRange(0, 2).Draw(t, "cap") {
			case 0:
				return caps.Calls(calls)
			case 1:
				return caps.USD(usd)
			default:
				return caps.Calls(calls).AndUSD(usd)
			}
		}
		reserve := func(t *rapid.T, c caps.Charge, limit caps.Cap) {
			next, allowed := m.reserve(c, limit)
			got, err := e.store.Reserve(e.ctx(), c, limit)
			if want := (caps.Outcome{Allowed: allowed, Usage: next.usage()}); got != want || err != nil {
				t.Fatalf("Reserve of %+v under %s = %+v, %v; want %+v", c, show(limit), got, err, want)
			}
			m = next
		}
		undone := func(t *rapid.T, method string, c caps.Charge, got bool, err error, next model, want bool) {
			if got != want || err != nil {
				t.Fatalf("%s of %+v = %v, %v; want %v", method, c, got, err, want)
			}
			m = next
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				c := charge(key, caps.MicroUSD(amount.Draw(t, "amount")))
				c.Final = rapid.Bool().Draw(t, "final")
				made = append(made, c)
				reserve(t, c, limit(t))
			},
			"reserve again": func(t *rapid.T) { reserve(t, old(t), limit(t)) },
			"settle": func(t *rapid.T) {
				c, actual := old(t), caps.MicroUSD(amount.Draw(t, "actual"))
				if c.Final {
					return
				}
				next, want := m.settle(c, actual)
				got, err := e.store.Settle(e.ctx(), c, actual)
				undone(t, "Settle", c, got, err, next, want)
			},
			"release": func(t *rapid.T) {
				c := old(t)
				next, want := m.release(c)
				got, err := e.store.Release(e.ctx(), c)
				undone(t, "Release", c, got, err, next, want)
			},
			"": func(t *rapid.T) {
				if got, err := e.store.Usage(e.ctx(), key); got != m.usage() || err != nil {
					t.Fatalf("Usage = %+v, %v; want %+v", got, err, m.usage())
				}
			},
		})
	})
}
