package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// MaxCalls bounds the calls of a day, and with them the memory: as many calls of as many
// callers take about 600 MiB.
const MaxCalls = 1_000_000

// BytesPerToken is how many bytes of input are taken for a token where only one of the
// two is known, rounded up: English prose has about four. Other languages and code have
// fewer, so that the same bytes cost more; where that matters, give tokens.
const BytesPerToken = 4

// Traffic is what comes in on one UTC day.
type Traffic struct {
	Day      caps.Day
	Requests []Request // in any order; of those at the same time the first comes first
}

// Request is one request of a caller.
type Request struct {
	At     time.Duration // since 00:00 UTC, less than 24 hours
	Caller int           // from 0 to MaxCalls-1; a number stands for a caller, which is one bucket
	Tier   string        // of a signed-in caller, as the file calls it; empty: an anonymous caller
	Model  string        // as callers write it; empty: the first of the file

	// What the caller sends, without the operator's prompt, which is added to both. One of
	// them is enough; the other is then estimated with BytesPerToken.
	InputBytes, InputTokens int

	CachedTokens int           // of InputTokens, read from the provider's cache
	OutputTokens int           // what the model would answer; the limits cut it
	MaxTokens    int           // what the caller allows it to; 0: as many as the model may
	Latency      time.Duration // until the call is settled
}

// byArrival is the order in which requests are played.
func byArrival(a, b Request) int { return cmp.Compare(a.At, b.At) }

// maxCount bounds bytes and tokens of a request, far above what any request has.
const maxCount = 100_000_000

const day = 24 * time.Hour

func (r *Request) check() error {
	switch {
	case r.At < 0 || r.At >= day:
		return fmt.Errorf("field At: %v is not within a day", r.At)
	case r.Caller < 0 || r.Caller >= MaxCalls:
		return fmt.Errorf("field Caller: not between 0 and %d", MaxCalls-1)
	case r.InputBytes < 0 || r.InputBytes > maxCount || r.InputTokens < 0 || r.InputTokens > maxCount:
		return fmt.Errorf("fields InputBytes and InputTokens: not between 0 and %d", maxCount)
	case r.InputBytes == 0 && r.InputTokens == 0:
		return errors.New("fields InputBytes and InputTokens: both are 0, and a request sends something")
	case r.InputBytes > 0 && r.InputTokens > r.InputBytes:
		return errors.New("field InputTokens: above InputBytes, and a token is at least a byte")
	case r.CachedTokens < 0 || r.CachedTokens > r.inputTokens():
		return errors.New("field CachedTokens: not between 0 and the input")
	case r.OutputTokens < 0 || r.OutputTokens > maxCount || r.MaxTokens < 0 || r.MaxTokens > maxCount:
		return fmt.Errorf("fields OutputTokens and MaxTokens: not between 0 and %d", maxCount)
	case r.Latency < 0 || r.Latency > day:
		return fmt.Errorf("field Latency: %v is not within a day", r.Latency)
	}
	return nil
}

func (r *Request) inputBytes() int {
	if r.InputBytes == 0 {
		return r.InputTokens * BytesPerToken
	}
	return r.InputBytes
}

func (r *Request) inputTokens() int {
	if r.InputTokens == 0 {
		return tokens(r.InputBytes)
	}
	return r.InputTokens
}

func tokens(bytes int) int { return (bytes + BytesPerToken - 1) / BytesPerToken }
