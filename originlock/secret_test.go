package originlock_test

import (
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

func TestCheckSecret(t *testing.T) {
	for _, test := range []struct {
		name, secret, problem string // no problem: usable
	}{
		{"hexadecimal", oldSecret, ""},
		{"shortest", strings.Repeat("x", originlock.MinSecretBytes), ""},
		{"first and last visible character", strings.Repeat("!~", 16), ""},
		{"with punctuation", `{"k":"v,v;v"}` + oldSecret, ""},
		{"empty", "", "is empty"},
		{"one blank", " ", "is blank"},
		{"long and blank", strings.Repeat(" \t", 32), "is blank"},
		{"one byte short", strings.Repeat("x", originlock.MinSecretBytes-1), "is shorter than 32 bytes"},
		{"space before", " " + oldSecret, "has white space around it"},
		{"space after", oldSecret + " ", "has white space around it"},
		{"line end after", oldSecret + "\n", "has white space around it"},
		{"short but for its white space", strings.Repeat("x", 31) + "\n", "has white space around it"},
		{"space inside", oldSecret + " " + oldSecret, "does not carry safely"},
		{"line end inside", oldSecret + "\r\n" + oldSecret, "does not carry safely"},
		{"zero byte", oldSecret + "\x00", "does not carry safely"},
		{"delete", oldSecret + "\x7f", "does not carry safely"},
		{"not ASCII", oldSecret + "é", "does not carry safely"},
		{"enough bytes but not ASCII", strings.Repeat("é", 32), "does not carry safely"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := originlock.CheckSecret(test.secret)
			switch {
			case test.problem == "" && err != nil:
				t.Errorf("%v, want it to be usable", err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("error %v, want one that says %q", err, test.problem)
			case err != nil && strings.Contains(err.Error(), oldSecret):
				t.Errorf("the error %q holds the secret", err)
			}
		})
	}
}
