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
// Nothing in gate touches the store or the body, so junk is cheap. An operator's stop
// or block would be asked between the caller and the route.
var (
	gate = []step{
		{"origin lock", (*request).checkOriginLock},
		{"caller", (*request).identifyCaller},
		{"keys", (*request).checkKeys},
		{"route", (*request).findRoute},
		{"page", (*request).checkPage},
	}
	demoCall = []step{
		{"count", (*request).countDemoCall},
	}
	readCap = []step{
		{"read", (*request).readCap},
	}
	chatCompletion = append([]step{{"parse and price", (*request).parseChat}}, paidCall...)
	message        = append([]step{{"parse and price", (*request).parseMessages}}, paidCall...)
	paidCall       = []step{
		{"idempotency", (*request).claimKey},
		{"reserve", (*request).reserve}, // the caller, the address of a signed-in one, then the ceiling
		{"paid call", (*request).makeCall},
		{"settle", (*request).settle},
		{"answer", (*request).answerCall},
	}
	models = []step{
		{"list", (*request).listModels},
	}
)
