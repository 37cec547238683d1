package secretsmanager_test

import (
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

func TestRead(t *testing.T) {
	for _, secret := range []string{current, "sk-short", "with a space", `{"json":"too"}`} {
		s := newServer(t, map[string]reply{"AWSCURRENT": value(secret), "AWSPENDING": value(pending), "AWSPREVIOUS": value(previous)})
		got, err := secretsmanager.Read(t.Context(), s.client(), secretID)
		if err != nil || got != secret {
			t.Errorf("Read = %q, %v; want %q", got, err, secret)
		}
		s.wantAsked("AWSCURRENT")
	}
}

func TestReadRefusesWhatIsNoSecret(t *testing.T) {
	for name, test := range brokenCurrent {
		if name == "short" { // how long it has to be is for its user to say
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := strings.Replace(test.want, "the origin secret", "the secret "+secretID, 1)
			s := newServer(t, map[string]reply{"AWSCURRENT": test.current})
			got, err := secretsmanager.Read(t.Context(), s.client(), secretID)
			if got != "" {
				t.Error("there is a value beside the error")
			}
			wantError(t, err, want)
			if !strings.Contains(err.Error(), secretID) {
				t.Errorf("the error %q does not name the secret", err)
			}
		})
	}
}

func TestReadWithWrongArguments(t *testing.T) {
	s := newServer(t, nil)
	if _, err := secretsmanager.Read(t.Context(), nil, secretID); err == nil || !strings.Contains(err.Error(), "there is no Secrets Manager client") {
		t.Errorf("error %v", err)
	}
	if _, err := secretsmanager.Read(t.Context(), s.client(), ""); err == nil || !strings.Contains(err.Error(), "the name of the secret is empty") {
		t.Errorf("error %v", err)
	}
	s.wantAsked()
}
