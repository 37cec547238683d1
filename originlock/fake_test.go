package originlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// The secrets of the tests, as long as `openssl rand -hex 32` makes them.
var (
	oldSecret = strings.Repeat("0123456789abcdef", 4)
	newSecret = strings.Repeat("fedcba9876543210", 4)
	wrong     = strings.Repeat("0123456789abcdee", 4)
)

var errOutage = errors.New("the outage of the test")

// source is a Source whose answer can be changed and which counts how often it is asked.
type source struct {
	mu      sync.Mutex
	secrets []string
	err     error
	before  func(context.Context) error // runs in each call, without the mutex
	calls   int
}

func newSource(secrets ...string) *source { return &source{secrets: secrets} }

func (s *source) set(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets, s.err = secrets, nil
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) Secrets(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	s.calls++
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets, s.err
}

// wantCalls checks how often the source was asked since the last wantCalls.
func (s *source) wantCalls(t *testing.T, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls != want {
		t.Errorf("the source was asked %d times, want %d", s.calls, want)
	}
	s.calls = 0
}

// starter is a source that can give the first of its secrets alone.
type starter struct {
	*source
	starts int
}

func (s *starter) Current(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	if s.err != nil || len(s.secrets) == 0 {
		return "", s.err
	}
	return s.secrets[0], nil
}

func newLock(t testing.TB, c originlock.Config) *originlock.Lock {
	t.Helper()
	l, err := originlock.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func staticLock(t testing.TB, secrets ...string) *originlock.Lock {
	t.Helper()
	s, err := originlock.NewStatic(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return newLock(t, originlock.Config{Source: s})
}

func accept(t *testing.T, l *originlock.Lock, value string) {
	t.Helper()
	if ok, err := l.Check(t.Context(), value); !ok || err != nil {
		t.Errorf("Check = %v, %v; want true", ok, err)
	}
}

func refuse(t *testing.T, l *originlock.Lock, value string) {
	t.Helper()
	if ok, err := l.Check(t.Context(), value); ok || err != nil {
		t.Errorf("Check = %v, %v; want false", ok, err)
	}
}

// undecided wants a refusal with an error that has the given text and no secret.
func undecided(t *testing.T, l *originlock.Lock, value, text string) {
	t.Helper()
	ok, err := l.Check(t.Context(), value)
	if ok || err == nil {
		t.Errorf("Check = %v, %v; want an error", ok, err)
		return
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the error %q does not say %q", err, text)
	}
	if strings.Contains(err.Error(), oldSecret) || strings.Contains(err.Error(), newSecret) ||
		len(value) > 1 && strings.Contains(err.Error(), value) {
		t.Errorf("the error %q holds a secret", err)
	}
}
