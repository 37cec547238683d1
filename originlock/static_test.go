package originlock_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

func TestNewStaticRefusesWhatCannotBeASecret(t *testing.T) {
	for _, test := range []struct {
		name    string
		secrets []string
		problem string
	}{
		{"none", nil, "no origin secret is given"},
		{"empty", []string{""}, "secret 1 of 1: the origin secret is empty"},
		{"blank", []string{strings.Repeat(" ", 64)}, "secret 1 of 1: the origin secret is blank"},
		{"short", []string{oldSecret[:31]}, "secret 1 of 1: the origin secret is shorter"},
		{"padded", []string{oldSecret + "\n"}, "secret 1 of 1: the origin secret has white space"},
		{"the second empty", []string{oldSecret, ""}, "secret 2 of 2: the origin secret is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := originlock.NewStatic(test.secrets...)
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Fatalf("error %v, want one that says %q", err, test.problem)
			}
			if strings.Contains(err.Error(), oldSecret[:31]) {
				t.Errorf("the error %q holds a secret", err)
			}
			if l, err := originlock.New(t.Context(), originlock.Config{Source: s}); err == nil {
				t.Errorf("New made the lock %v from it", l)
			}
		})
	}
}

func TestStaticKeepsItsSecretsApart(t *testing.T) {
	given := []string{oldSecret}
	s, err := originlock.NewStatic(given...)
	if err != nil {
		t.Fatal(err)
	}
	given[0] = wrong
	first, _ := s.Secrets(t.Context())
	first[0] = wrong
	second, err := s.Secrets(t.Context())
	if err != nil || len(second) != 1 || second[0] != oldSecret {
		t.Errorf("the secrets changed with somebody else's slice (error %v)", err)
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	s, err := originlock.NewStatic(oldSecret)
	if err != nil {
		t.Fatal(err)
	}
	config := originlock.Config{Source: s}
	l := newLock(t, config)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("text", "source", s, "config", config)
	slog.New(slog.NewTextHandler(&log, nil)).Info("text", "source", s, "config", config, "lock", l)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{s, &s, config, &config, l} {
			fmt.Fprintf(&log, verb+"\n", value)
		}
	}
	for _, form := range []string{oldSecret, fmt.Sprintf("%x", oldSecret)} {
		if strings.Contains(log.String(), form) {
			t.Errorf("a secret was printed in:\n%s", log.String())
		}
	}
}
