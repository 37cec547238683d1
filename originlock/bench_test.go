package originlock_test

import (
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// The secret that fits costs no allocation, so neither does the lock as a step of a request.
func TestHitDoesNotAllocate(t *testing.T) {
	l := staticLock(t, newSecret, oldSecret, wrong)
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"x-origin-verify": oldSecret, "host": "origin.example"}}
	ctx := t.Context()
	for name, check := range map[string]func() (bool, error){
		"Check":            func() (bool, error) { return l.Check(ctx, oldSecret) },
		"CheckEvent":       func() (bool, error) { return l.CheckEvent(ctx, event) },
		"Check, too short": func() (bool, error) { return l.Check(ctx, "") },
	} {
		if n := testing.AllocsPerRun(1000, func() { check() }); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	l := staticLock(b, newSecret, oldSecret, wrong) // as many as a rotation has
	for _, bench := range []struct{ name, value string }{{"hit", oldSecret}, {"miss", wrong + "x"}, {"no header", ""}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Check(b.Context(), bench.value)
			}
		})
	}
}

func BenchmarkCheckParallel(b *testing.B) {
	l := staticLock(b, newSecret, oldSecret, wrong)
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Check(ctx, oldSecret)
		}
	})
}

func BenchmarkCheckEvent(b *testing.B) {
	l := staticLock(b, newSecret, oldSecret, wrong)
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{
		"accept": "*/*", "accept-encoding": "gzip", "cloudfront-viewer-address": "198.51.100.10:46532",
		"content-length": "2", "content-type": "application/json", "host": "origin.example",
		"user-agent": "curl/8.5.0", "via": "2.0 edge.example", "x-amz-cf-id": "id", "x-amzn-trace-id": "id",
		"x-forwarded-for": "198.51.100.10, 64.252.1.1", "x-forwarded-port": "443", "x-forwarded-proto": "https",
		"x-origin-verify": oldSecret,
	}}
	b.ReportAllocs()
	for b.Loop() {
		l.CheckEvent(b.Context(), event)
	}
}
