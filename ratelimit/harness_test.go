package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/memory"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var (
	perEmail   = ratelimit.Rule{Name: "login-email", Requests: 3, Window: 15 * time.Minute, WhenDown: ratelimit.Refuse}
	perAddress = ratelimit.Rule{Name: "login-address", Requests: 5, Window: 10 * time.Minute, WhenDown: ratelimit.Refuse}
	search     = ratelimit.Rule{Name: "search", Requests: 2, Window: time.Minute, WhenDown: ratelimit.Allow}
)

// faultyStore counts the calls of the store below it, and breaks them.
type faultyStore struct {
	ratelimit.Store
	mu           sync.Mutex
	takes, gives int
	take, give   func(ctx context.Context, key string) error // nil: fine
}

func (s *faultyStore) Take(ctx context.Context, t ratelimit.Take) (ratelimit.Outcome, error) {
	s.mu.Lock()
	s.takes++
	fault := s.take
	s.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, t.Key); err != nil {
			return ratelimit.Outcome{}, err
		}
	}
	return s.Store.Take(ctx, t)
}

func (s *faultyStore) GiveBack(ctx context.Context, key string, a ratelimit.Admission) (bool, error) {
	s.mu.Lock()
	s.gives++
	fault := s.give
	s.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, key); err != nil {
			return false, err
		}
	}
	return s.Store.GiveBack(ctx, key, a)
}

// calls are the calls since the last time.
func (s *faultyStore) calls() (takes, gives int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	takes, gives, s.takes, s.gives = s.takes, s.gives, 0, 0
	return takes, gives
}

var errBroken = errors.New("broken on purpose")

// What a store can do: refuse to answer, say that it is throttled when the SDK has had
// enough, or not answer at all.
func refuses(context.Context, string) error { return errBroken }

func throttles(ctx context.Context, _ string) error {
	select {
	case <-time.After(300 * time.Millisecond):
		return errors.New("throttled")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func hangs(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func misconfigured(context.Context, string) error {
	return errors.Join(ratelimit.ErrMisconfigured, errors.New("no such table"))
}

// forKey breaks the calls about one rule.
func forRule(rule ratelimit.Rule, fault func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		if strings.HasPrefix(key, rule.Name+"#") {
			return fault(ctx, key)
		}
		return nil
	}
}

// system is a limiter with what a test looks at.
type system struct {
	*ratelimit.Limiter
	t      testing.TB
	store  *faultyStore
	clock  *capstest.Clock
	log    strings.Builder
	mu     sync.Mutex
	events []string
}

func newSystem(t testing.TB) *system {
	return newSystemOn(t, &faultyStore{Store: memory.New()}, capstest.NewClock(start))
}

func newSystemOn(t testing.TB, store *faultyStore, clock *capstest.Clock) *system {
	t.Helper()
	s := &system{t: t, store: store, clock: clock}
	l, err := ratelimit.New(ratelimit.Config{
		Store: store, Now: clock.Now,
		Logger: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
		Observe: func(_ context.Context, e ratelimit.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e.Rule+" "+e.Result.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Limiter = l
	return s
}

// check asks, and fails the test if that cannot be done.
func (s *system) check(attempts ...ratelimit.Attempt) ratelimit.Decision {
	s.t.Helper()
	d, err := s.Check(s.t.Context(), attempts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *system) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := strings.Join(s.events, ", ")
	s.events = nil
	return told
}
