package api

import "context"

// step is one step of the way of a request. It returns the answer that ends the
// way, or nil to go on.
type step struct {
	name string
	run  func(*request, context.Context) *answer
}

// The way of a request: gate first, then the steps of the endpoint that the route
// step found. This is the one place that says in which order things are checked.
//
// Nothing in gate touches the store or the body, so junk is cheap, and a preflight or a
// path that does not exist is answered as ever during an operator's stop. What spends or
// counts then asks for a stop or a block, twice: at first, so that a refusal costs
// nothing, and last, because reserving may take longer than a stop may need to be
// obeyed. Whoever reads its own bucket is only asked for a block. The list of models is
// the same for everybody, spends nothing, and asks nothing. A limit on bursts, where the
// file has one, asks a store, so it comes next, and before anything is read or counted.
var (
	gate = []step{
		{"origin lock", (*request).checkOriginLock},
		{"caller", (*request).identifyCaller},
		{"keys", (*request).checkKeys},
		{"route", (*request).findRoute},
		{"page", (*request).checkPage},
	}
	demoCall = []step{
		{"stopped or blocked", (*request).openForDemo},
		{"rate limit", (*request).checkRate},
		{"count", (*request).countDemoCall},
		{"still open", (*request).demoStillOpen},
		{"answer", (*request).answerDemoCall},
	}
	readCap = []step{
		{"blocked", (*request).openForCap},
		{"rate limit", (*request).checkRate},
		{"read", (*request).readCap},
	}
	chatCompletion = append([]step{
		{"stopped or blocked", (*request).openForChat},
		{"rate limit", (*request).checkRate},
		{"parse and price", (*request).parseChat},
	}, paidCall...)
	message = append([]step{
		{"stopped or blocked", (*request).openForMessages},
		{"rate limit", (*request).checkRate},
		{"parse and price", (*request).parseMessages},
	}, paidCall...)
	paidCall = []step{
		{"idempotency", (*request).claimKey},
		{"reserve", (*request).reserve}, // the caller, the address of a signed-in one, then the ceiling
		{"provider", (*request).prepareCall},
		{"still open", (*request).stillOpen},
		{"paid call", (*request).makeCall},
		{"settle", (*request).settle},
		{"answer", (*request).answerCall},
	}
	models = []step{
		{"rate limit", (*request).checkRate},
		{"list", (*request).listModels},
	}
)
