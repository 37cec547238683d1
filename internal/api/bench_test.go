package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
)

// The floor: what aws-lambda-go itself does to an event and an answer.
func BenchmarkFloor(b *testing.B) {
	in, answer := benchEvent(b), benchAnswer(b)
	b.ReportAllocs()
	for b.Loop() {
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(in, &e); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(answer); err != nil {
			b.Fatal(err)
		}
	}
}

// From event bytes to answer bytes with the in-process store: an admitted demo call.
func BenchmarkAdmitted(b *testing.B) { benchHandler(b, 1<<50, 200) }

// The same for a call that the instance remembers to refuse.
func BenchmarkRefused(b *testing.B) { benchHandler(b, 0, 429) }

func benchHandler(b *testing.B, calls int64, status int) {
	s := newSystem(b, func(c *api.Config) {
		keyer, err := caps.NewKeyer([]byte(hmacKey))
		if err != nil {
			b.Fatal(err)
		}
		c.Demo, err = caps.NewGuard(caps.Config{Store: memory.New(nil), Keyer: keyer, Caller: caps.Budget{Name: "demo", Cap: caps.Calls(calls)}})
		if err != nil {
			b.Fatal(err)
		}
		c.Now = time.Now
		watched(b, c)
	})
	in := benchEvent(b)
	b.ReportAllocs()
	for b.Loop() {
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(in, &e); err != nil {
			b.Fatal(err)
		}
		res, err := s.Handle(b.Context(), e)
		if err != nil || res.StatusCode != status {
			b.Fatal(res.StatusCode, err)
		}
		if _, err := json.Marshal(res); err != nil {
			b.Fatal(err)
		}
	}
}

func benchEvent(b *testing.B) []byte {
	e := event("POST", "/api/demo/cap")
	for _, name := range []string{"accept", "accept-encoding", "content-length", "host", "user-agent", "via", "x-amz-cf-id", "x-amzn-trace-id", "x-forwarded-port", "x-forwarded-proto"} {
		e.Headers[name] = "a value of a usual length"
	}
	in, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	return in
}

func benchAnswer(b *testing.B) events.APIGatewayV2HTTPResponse {
	res, err := newSystem(b).Handle(b.Context(), event("POST", "/api/demo/cap"))
	if err != nil {
		b.Fatal(err)
	}
	return res
}
