package api_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/api"
)

func TestDemoCallIsCountedAndThenRefused(t *testing.T) {
	s := newSystem(t)
	for n := 1; n <= 10; n++ {
		res := s.send(t, event("POST", "/api/demo/cap"))
		want(t, res, 200, fmt.Sprintf(`{"capped":false,"countedAs":"198.51.100.10","count":%d,"cap":10,"remaining":%d,`+
			`"resetAt":"2026-12-01T00:00:00Z","ignored":{"x-forwarded-for":"203.0.113.99, 198.51.100.10, 64.252.1.1"}}`, n, 10-n))
		if got := s.store.calls(); got != n {
			t.Fatalf("%d store calls after %d admitted calls, want one each", got, n)
		}
		wantHeaders(t, res, map[string]string{
			"RateLimit-Policy":      `"caller-calls";q=10;w=86400`,
			"RateLimit":             fmt.Sprintf(`"caller-calls";r=%d;t=3600`, 10-n),
			"X-RateLimit-Limit":     "10",
			"X-RateLimit-Remaining": fmt.Sprint(10 - n),
			"X-RateLimit-Reset":     "1796083200",
			"Retry-After":           "",
			"X-Should-Retry":        "",
			"Content-Type":          "application/json",
		})
	}
	refused := `{"capped":true,"countedAs":"198.51.100.10","count":10,"cap":10,"remaining":0,` +
		`"resetAt":"2026-12-01T00:00:00Z","ignored":{"x-forwarded-for":"203.0.113.99, 198.51.100.10, 64.252.1.1"},` +
		`"scope":"caller","retryAfter":3600,"message":"You have used today's 10 calls. Try again in 1 hour."}`
	for range 1000 {
		want(t, s.send(t, event("POST", "/api/demo/cap")), 429, refused)
	}
	if got := s.store.calls(); got != 11 {
		t.Errorf("%d store calls, want 11: the instance remembers a refusal", got)
	}
	wantHeaders(t, s.send(t, event("POST", "/api/demo/cap")), map[string]string{
		"Retry-After":    "3600",
		"X-Should-Retry": "false",
		"RateLimit":      `"caller-calls";r=0;t=3600`,
	})

	s.clock.Set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 200 {
		t.Errorf("%d on the new day, want 200", res.StatusCode)
	}
}

func wantHeaders(t *testing.T, res events.APIGatewayV2HTTPResponse, headers map[string]string) {
	t.Helper()
	for name, value := range headers {
		if got := res.Headers[name]; got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

func TestRetryAfterIsRoundedUpAndNeverZero(t *testing.T) {
	for _, c := range []struct {
		before  time.Duration
		seconds string
	}{
		{time.Nanosecond, "1"}, {time.Second, "1"}, {time.Second + 1, "2"}, {90 * time.Minute, "5400"},
	} {
		s := newSystem(t)
		s.clock.Set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Add(-c.before))
		var res events.APIGatewayV2HTTPResponse
		for range 11 {
			res = s.send(t, event("POST", "/api/demo/cap"))
		}
		if got := res.Headers["Retry-After"]; res.StatusCode != 429 || got != c.seconds {
			t.Errorf("%v before midnight: %d, Retry-After %q, want 429 and %q", c.before, res.StatusCode, got, c.seconds)
		}
	}
}

func TestParallelCallsOfOneViewer(t *testing.T) {
	for _, parallel := range []int{50, 1000} {
		s := newSystem(t)
		var admitted, refused atomic.Int64
		var group sync.WaitGroup
		for range parallel {
			group.Go(func() {
				switch res, _ := s.Handle(context.Background(), event("POST", "/api/demo/cap")); res.StatusCode {
				case 200:
					admitted.Add(1)
				case 429:
					refused.Add(1)
				}
			})
		}
		group.Wait()
		if admitted.Load() != 10 || refused.Load() != int64(parallel-10) {
			t.Errorf("%d in parallel: %d admitted, %d refused, want 10 and %d", parallel, admitted.Load(), refused.Load(), parallel-10)
		}
	}
}

func TestBucketsByAddressOnly(t *testing.T) {
	count := func(t *testing.T, s *system, change func(events.APIGatewayV2HTTPRequest)) (count int, as string) {
		t.Helper()
		e := event("POST", "/api/demo/cap")
		e.Headers = maps.Clone(e.Headers)
		change(e)
		res := s.send(t, e)
		if res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, res.Body)
		}
		body := decode[struct {
			Count     int    `json:"count"`
			CountedAs string `json:"countedAs"`
		}](t, res)
		return body.Count, body.CountedAs
	}
	t.Run("forged headers do not open a new bucket", func(t *testing.T) {
		s := newSystem(t)
		for i := 1; i <= 10; i++ {
			n, as := count(t, s, func(e events.APIGatewayV2HTTPRequest) {
				for _, name := range []string{"x-forwarded-for", "x-real-ip", "forwarded", "true-client-ip", "cf-connecting-ip", "x-client-id", "authorization"} {
					e.Headers[name] = fmt.Sprintf("203.0.113.%d", i)
				}
			})
			if n != i || as != "198.51.100.10" {
				t.Errorf("call %d counted as %d of %s", i, n, as)
			}
		}
	})
	t.Run("one /64 is one bucket and the next has its own", func(t *testing.T) {
		s := newSystem(t)
		for i := 1; i <= 10; i++ {
			n, as := count(t, s, func(e events.APIGatewayV2HTTPRequest) {
				e.Headers["cloudfront-viewer-address"] = fmt.Sprintf("2001:db8::%x:%d", i*6151, 1024+i)
			})
			if n != i || as != "2001:db8::/64" {
				t.Errorf("call %d counted as %d of %s", i, n, as)
			}
		}
		n, as := count(t, s, func(e events.APIGatewayV2HTTPRequest) {
			e.Headers["cloudfront-viewer-address"] = "2001:db8:0:1::1:443"
		})
		if n != 1 || as != "2001:db8:0:1::/64" {
			t.Errorf("the next /64 counted as %d of %s", n, as)
		}
	})
}

func TestStoreBroken(t *testing.T) {
	s := newSystem(t)
	s.store.fail(errBroken)
	want(t, s.send(t, event("POST", "/api/demo/cap")), 503, `{"error":"store_unavailable"}`)
	want(t, s.send(t, event("GET", "/api/cap")), 503, `{"error":"store_unavailable"}`)
	s.store.fail(nil)
	if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 200 {
		t.Errorf("%d after the store came back, want 200", res.StatusCode)
	}
}

func TestReadCapTakesNothing(t *testing.T) {
	s := newSystem(t)
	for range 3 {
		want(t, s.send(t, event("GET", "/api/cap")), 200, `{"countedAs":"198.51.100.10","calls":{"used":0,"cap":10,"remaining":10},`+
			`"spend":{"used":"0.000000","held":"0.000000","cap":"0.050000","remaining":"0.050000","currency":"USD"},`+
			`"resetAt":"2026-12-01T00:00:00Z"}`)
	}
	if s.store.usages != 3 || s.store.calls() != 3 {
		t.Errorf("%d reads of %d store calls, want 3 of 3", s.store.usages, s.store.calls())
	}
}

func TestNothingToGuard(t *testing.T) {
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("a handler without a lock was built")
	}
}
