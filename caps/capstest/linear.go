package capstest

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// linearizable records concurrent calls on one budget, some of whose replies or
// requests are lost, and checks that they could have happened one after the other.
// Clients meet on the same charges.
func linearizable(e *env) { checkHistories(e, false) }

// linearizableApart is the same, but each client has charges of its own, as guards
// have. A store that retries by itself cannot always tell whether its own attempt or
// another client has removed a hold; here it has to be right even if it retries.
func linearizableApart(e *env) { checkHistories(e, true) }

func checkHistories(e *env, apart bool) {
	const histories, clients, calls = 12, 5, 7
	for seed := range uint64(histories) {
		key := e.caller()
		if seed%3 == 2 {
			key = e.everybody()
		}
		h := &history{}
		var stores []*Faulty
		for i := range clients {
			stores = append(stores, NewFaulty(e.open(), Random(seed<<8|uint64(i), 0.15, Throttle, LoseRequest, LoseReply, Late)))
		}
		err := parallelly(clients, func(i int) error {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			charges := &h.charges
			if apart {
				charges = new([]caps.Charge)
			}
			for range calls {
				in := h.draw(r, key, charges)
				certain := h.do(e, stores[i], i, in)
				if apart && !certain {
					*charges = slices.DeleteFunc(*charges, func(c caps.Charge) bool { return c == in.charge })
				}
			}
			return nil
		})
		for _, store := range stores {
			store.Flush()
		}
		if err != nil {
			e.Fatal(err)
		}
		h.do(e, e.store, clients, input{method: "Usage", charge: caps.Charge{Key: key}})
		switch result := porcupine.CheckOperationsTimeout(budgetModel, h.operations, 20*time.Second); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			e.Fatalf("history %d could not be checked in time", seed)
		default:
			e.Fatalf("history %d is not linearizable:\n%s", seed, h)
		}
	}
}

// input is a store call, output what it returned.
type input struct {
	method string
	charge caps.Charge
	limit  caps.Cap
	actual caps.MicroUSD
}

type output struct {
	unknown bool
	outcome caps.Outcome // of Reserve; of Usage, the usage
	applied bool         // of Settle and Release
}

// budgetModel is the sequential model of one budget. A call with an unknown outcome
// never returns, so that the checker may let it happen at any later time, also after
// everything else, which is as good as never.
var budgetModel = porcupine.Model{
	Init: func() any { return model{} },
	Step: func(state, in, out any) (bool, any) {
		m, i, o := state.(model), in.(input), out.(output)
		switch i.method {
		case "Reserve":
			next, allowed := m.reserve(i.charge, i.limit)
			if o.unknown || allowed && o.outcome.Allowed {
				return true, next // the usage may be a later one, see caps.Store
			}
			return o.outcome == caps.Outcome{Allowed: allowed, Usage: next.usage()}, next
		case "Settle":
			next, applied := m.settle(i.charge, i.actual)
			return o.unknown || o.applied == applied, next
		case "Release":
			next, applied := m.release(i.charge)
			return o.unknown || o.applied == applied, next
		default:
			return o.unknown || o.outcome.Usage == m.usage(), m
		}
	},
	Equal: func(a, b any) bool { return a.(model).equal(b.(model)) },
	Hash: func(state any) uint64 {
		m := state.(model)
		return maphash.Comparable(hashSeed, [...]int64{m.calls, int64(m.usd), int64(m.held), int64(len(m.known))})
	},
}

var hashSeed = maphash.MakeSeed()

// history is what happened to one budget.
type history struct {
	clock atomic.Int64 // orders calls and returns

	mu         sync.Mutex
	charges    []caps.Charge
	operations []porcupine.Operation
}

// draw makes up a call: on a new charge, or on any that was made before.
func (h *history) draw(r *rand.Rand, key caps.ItemKey, charges *[]caps.Charge) input {
	h.mu.Lock() // the charges may be everybody's
	defer h.mu.Unlock()
	i := input{
		method: []string{"Reserve", "Reserve", "Reserve", "Settle", "Release", "Usage"}[r.IntN(6)],
		limit:  caps.Calls(4).AndUSD(20),
		actual: caps.MicroUSD(r.IntN(8)),
	}
	if len(*charges) == 0 || i.method == "Reserve" && r.IntN(4) > 0 {
		c := charge(key, caps.MicroUSD(1+r.IntN(6)))
		c.Final = r.IntN(4) == 0
		*charges = append(*charges, c)
		i.charge = c
	} else {
		i.charge = (*charges)[r.IntN(len(*charges))]
	}
	if i.charge.Final && i.method == "Settle" {
		i.method = "Release"
	}
	return i
}

// do makes a call and records it, and tells whether its outcome is certain. What
// certainly did not happen leaves no trace.
func (h *history) do(e *env, store caps.Store, client int, in input) bool {
	var out output
	var err error
	call := h.clock.Add(1)
	switch in.method {
	case "Reserve":
		out.outcome, err = store.Reserve(e.ctx(), in.charge, in.limit)
	case "Settle":
		out.applied, err = store.Settle(e.ctx(), in.charge, in.actual)
	case "Release":
		out.applied, err = store.Release(e.ctx(), in.charge)
	default:
		out.outcome.Usage, err = store.Usage(e.ctx(), in.charge.Key)
	}
	returned := h.clock.Add(1)
	switch {
	case errors.Is(err, caps.ErrUnknownOutcome):
		out = output{unknown: true}
		returned = math.MaxInt64
	case errors.Is(err, ErrThrottled):
		return true
	case err != nil:
		e.Errorf("%s: %v", in.method, err)
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: returned})
	return !out.unknown
}

// String lists the calls by the time at which they were made.
func (h *history) String() string {
	var s string
	for _, o := range h.operations {
		s += fmt.Sprintf("client %d, %d to %d: %+v -> %+v\n", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return s
}
