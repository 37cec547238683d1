package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

const (
	originSecret = "0123456789abcdef0123456789abcdef-origin"
	hmacKey      = "0123456789abcdef0123456789abcdef-hmac"
	viewer       = "198.51.100.10:46532"
)

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

// countingStore counts the calls of the store below it, and fails them all while err
// is set.
type countingStore struct {
	caps.Store
	mu                               sync.Mutex
	err                              error
	reserve, settle, release, usages int
}

func (s *countingStore) note(n *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	return s.err
}

func (s *countingStore) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserve + s.settle + s.release + s.usages
}

func (s *countingStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *countingStore) Reserve(ctx context.Context, c caps.Charge, limit caps.Cap) (caps.Outcome, error) {
	if err := s.note(&s.reserve); err != nil {
		return caps.Outcome{}, err
	}
	return s.Store.Reserve(ctx, c, limit)
}

func (s *countingStore) Settle(ctx context.Context, c caps.Charge, actual caps.MicroUSD) (bool, error) {
	if err := s.note(&s.settle); err != nil {
		return false, err
	}
	return s.Store.Settle(ctx, c, actual)
}

func (s *countingStore) Release(ctx context.Context, c caps.Charge) (bool, error) {
	if err := s.note(&s.release); err != nil {
		return false, err
	}
	return s.Store.Release(ctx, c)
}

func (s *countingStore) Usage(ctx context.Context, key caps.ItemKey) (caps.Usage, error) {
	if err := s.note(&s.usages); err != nil {
		return caps.Usage{}, err
	}
	return s.Store.Usage(ctx, key)
}

// system is a handler with everything around it that a test looks at.
type system struct {
	*api.Handler
	store *countingStore
	clock *clock
	log   *strings.Builder
}

var errBroken = errors.New("broken on purpose")

func newSystem(t testing.TB, change ...func(*api.Config)) *system {
	t.Helper()
	s := &system{clock: &clock{t: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)}, log: new(strings.Builder)}
	s.store = &countingStore{Store: memory.New(s.clock.Now)}
	source, err := originlock.NewStatic(originSecret)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := originlock.New(t.Context(), originlock.Config{Source: source, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	keyer, err := caps.NewKeyer([]byte(hmacKey))
	if err != nil {
		t.Fatal(err)
	}
	guard := func(caller, global caps.Budget) *caps.Guard {
		g, err := caps.NewGuard(caps.Config{Store: s.store, Keyer: keyer, Caller: caller, Global: global, Now: s.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	c := api.Config{
		Lock:   lock,
		Demo:   guard(caps.Budget{Name: "demo", Cap: caps.Calls(10)}, caps.Budget{}),
		Paid:   guard(caps.Budget{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)}, caps.Budget{Name: "global", Cap: caps.USD(5_000_000)}),
		Logger: slog.New(slog.NewJSONHandler(io.Writer(s.log), nil)),
		Now:    s.clock.Now,
	}
	for _, f := range change {
		f(&c)
	}
	if s.Handler, err = api.New(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// event is a request as it arrives through the edge.
func event(method, path string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version:  "2.0",
		RouteKey: "$default",
		RawPath:  path,
		Headers: map[string]string{
			"x-origin-verify":           originSecret,
			"cloudfront-viewer-address": viewer,
			"x-forwarded-for":           "203.0.113.99, 198.51.100.10, 64.252.1.1",
		},
	}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.HTTP.Path = path
	e.RequestContext.HTTP.SourceIP = "64.252.1.1"
	e.RequestContext.Stage = "$default"
	return e
}

func (s *system) send(t testing.TB, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	res, err := s.Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if res.Headers["Cache-Control"] != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", res.Headers["Cache-Control"])
	}
	return res
}

func want(t testing.TB, res events.APIGatewayV2HTTPResponse, status int, body string) {
	t.Helper()
	if res.StatusCode != status || res.Body != body {
		t.Errorf("got %d %s\nwant %d %s", res.StatusCode, res.Body, status, body)
	}
}

func decode[T any](t testing.TB, res events.APIGatewayV2HTTPResponse) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(res.Body), &v); err != nil {
		t.Fatalf("%v: %s", err, res.Body)
	}
	return v
}
