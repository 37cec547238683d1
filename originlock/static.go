package originlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// Static is a Source whose secrets never change, for a local system, for tests, and
// for a server that is restarted with new ones. The zero Static has none, so that no
// lock can be made from it. It prints without its secrets.
type Static struct {
	// secrets is a function because package fmt, given what holds a Static in a field
	// of its own, prints around the methods below, but never into a function.
	secrets func() []string
}

// NewStatic returns a Source of the given secrets, at least one. An error says which
// of them, counted from 1, [CheckSecret] refuses and why.
func NewStatic(secrets ...string) (Static, error) {
	if len(secrets) == 0 {
		return Static{}, errors.New("no origin secret is given: " + drawOne)
	}
	for i, secret := range secrets {
		if err := CheckSecret(secret); err != nil {
			return Static{}, fmt.Errorf("secret %d of %d: %w", i+1, len(secrets), err)
		}
	}
	kept := slices.Clone(secrets)
	return Static{func() []string { return slices.Clone(kept) }}, nil
}

// Secrets implements [Source].
func (s Static) Secrets(context.Context) ([]string, error) {
	if s.secrets == nil {
		return nil, errors.New("the originlock.Static has no secrets: make it with NewStatic")
	}
	return s.secrets(), nil
}

// String keeps the secrets out of whatever prints the source.
func (Static) String() string { return "(secrets)" }

// GoString keeps the secrets out of %#v.
func (Static) GoString() string { return "(secrets)" }

// LogValue keeps the secrets out of logs written with log/slog.
func (Static) LogValue() slog.Value { return slog.StringValue("(secrets)") }
