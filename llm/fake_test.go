package llm

import (
	"context"
	"errors"
	"testing"
	"time"
)

// fake is a provider that answers what it is told to.
type fake struct {
	features Features
	response *Response
	err      error
	got      *Request
}

// everything is what no provider lacks.
var everything = Features{
	MaxTemperature: 2, MaxStop: 4, Penalties: true, Seed: true, TopK: true, NoToolChoice: true, SerialToolCalls: true,
	JSONObject: true, JSONSchema: true, ReasoningEffort: true, Verbosity: true, Names: true,
}

func (f *fake) Features() Features { return f.features }

func (f *fake) Complete(_ context.Context, r *Request) (*Response, error) {
	f.got = r
	return f.response, f.err
}

// testConfig has one model, small, at 0.15 and 0.60 dollars per million, with at most
// 300 tokens of output, and 8000 bytes of input.
func testConfig() Config {
	return Config{
		Provider: ProviderDemo, MaxInputBytes: 8000,
		Models: []Model{
			{Name: "small", Upstream: "small-2026", MaxOutputTokens: 300, Price: Price{Input: 150_000, CachedInput: 75_000, Output: 600_000}},
			{Name: "large", MaxOutputTokens: 1000, Price: Price{Input: 2_500_000, Output: 10_000_000}},
		},
	}
}

func newService(t testing.TB, c Config, p Provider) *Service {
	t.Helper()
	s, err := New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	return s
}

func testService(t testing.TB) *Service {
	return newService(t, testConfig(), &fake{features: everything})
}

// refusal returns the error as what it has to be.
func refusal(t testing.TB, err error) *RequestError {
	t.Helper()
	var e *RequestError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *RequestError", err)
	}
	return e
}

func pointer[T any](v T) *T { return &v }
