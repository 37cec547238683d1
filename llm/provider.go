package llm

import (
	"context"
	"fmt"
)

// Provider makes one attempt at the paid call. It is safe for concurrent use.
type Provider interface {
	// Features tells what the provider can carry. What it cannot is refused with the
	// name of the field, before anything is reserved.
	Features() Features

	// Complete asks the model, once and without retries, and gives up when ctx is done.
	// An error is an [*UpstreamError]. Every other outcome may have cost money.
	Complete(ctx context.Context, r *Request) (*Response, error)
}

// Preparer is a [Provider] that has to get something before its first call, such as its
// key. What takes time there is not to be between the last look whether calls are open
// and the call.
type Preparer interface {
	// Prepare gets it, and returns at once when it is there. An error is an
	// [*UpstreamError] of which nothing was spent. Complete prepares by itself if need be.
	Prepare(ctx context.Context) error
}

// Features says which parts of a [Request] a provider can carry. Messages, tools, the
// output limit, temperature, top_p and stop sequences every provider can.
type Features struct {
	MaxTemperature  float64 // the largest it takes
	MaxStop         int     // how many stop sequences it takes
	Penalties       bool    // FrequencyPenalty and PresencePenalty
	Seed            bool
	TopK            bool
	NoToolChoice    bool // tools, but none of them to be called
	SerialToolCalls bool // ParallelToolCalls that is false
	JSONObject      bool // a Format without a schema
	JSONSchema      bool // a Format with a schema
	ReasoningEffort bool
	Verbosity       bool
	Names           bool // Message.Name
}

// UpstreamError is a call that failed. Its text is for the caller and the log alike: it
// has no key, no address, and nothing of what was sent or received.
type UpstreamError struct {
	// Status is what to answer the caller: 422 if the upstream refused the request as it
	// is, 429 if it wants fewer of them, 504 if it took too long, 502 for the rest.
	Status int

	// NothingSpent tells that the call certainly costs nothing, so that its hold can be
	// released. It is false whenever that is not known.
	NothingSpent bool

	// Upstream is the status that the upstream answered, 0 if it did not answer.
	Upstream int

	// Code is how the upstream calls the error, such as context_length_exceeded. It may
	// be empty.
	Code string

	Message string // one sentence
}

func (e *UpstreamError) Error() string {
	s := e.Message
	if e.Upstream != 0 {
		s = fmt.Sprintf("%s (upstream status %d)", s, e.Upstream)
	}
	if e.Code != "" {
		s = fmt.Sprintf("%s: %s", s, e.Code)
	}
	return s
}
