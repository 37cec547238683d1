package originlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

func TestOnlyTheWholeSecretPasses(t *testing.T) {
	// The letters tell the cases apart, and the comma is what joins headers.
	secret := "aBcD,efgh" + oldSecret
	l := staticLock(t, secret, newSecret)
	accept(t, l, secret)
	accept(t, l, newSecret)

	for name, value := range map[string]string{
		"nothing":                           "",
		"blank":                             strings.Repeat(" ", len(secret)),
		"prefix without the last character": secret[:len(secret)-1],
		"prefix of the least length":        secret[:originlock.MinSecretBytes],
		"first half":                        secret[:len(secret)/2],
		"one character":                     secret[:1],
		"suffix":                            secret[1:],
		"plus one character":                secret + "x",
		"plus its own last character":       secret + secret[len(secret)-1:],
		"plus a zero byte":                  secret + "\x00",
		"one character before it":           "x" + secret,
		"last character changed":            secret[:len(secret)-1] + "x",
		"first character changed":           "x" + secret[1:],
		"other case":                        strings.ToUpper(secret),
		"lower case":                        strings.ToLower(secret),
		"space before":                      " " + secret,
		"space after":                       secret + " ",
		"tab after":                         secret + "\t",
		"line end after":                    secret + "\n",
		"quoted":                            `"` + secret + `"`,
		"sent twice":                        secret + "," + secret,
		"sent twice, joined with a space":   secret + ", " + secret,
		"after a wrong one":                 wrong + "," + secret,
		"before a wrong one":                secret + "," + wrong,
		"after an empty one":                "," + secret,
		"before an empty one":               secret + ",",
		"both secrets":                      secret + "," + newSecret,
		"both secrets, nothing between":     secret + newSecret,
		"another of the same length":        strings.Repeat("x", len(secret)),
		"very long":                         strings.Repeat(secret, 1000),
	} {
		t.Run(name, func(t *testing.T) { refuse(t, l, value) })
	}
	accept(t, l, secret)
	accept(t, l, newSecret)
}

// A comparison that stops at the first secret that fits, or at the first that does
// not, would show in what passes here only at the ends; all places are tried.
func TestEachOfManySecretsPasses(t *testing.T) {
	var secrets []string
	for _, c := range "abcdefgh" {
		secrets = append(secrets, strings.Repeat(string(c), 40))
	}
	l := staticLock(t, secrets...)
	for _, secret := range secrets {
		accept(t, l, secret)
	}
	refuse(t, l, strings.Repeat("i", 40))
}

// A secret is accepted no more often than it is given: given twice, a sum of matches
// would be 2, and neither true nor false.
func TestSecretGivenTwice(t *testing.T) {
	l := staticLock(t, oldSecret, oldSecret)
	accept(t, l, oldSecret)
	refuse(t, l, wrong)
}

func TestNewWithoutAUsableSecretFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		source  originlock.Source
		problem string
	}{
		{"no source", nil, "Config.Source is missing"},
		{"zero Static", originlock.Static{}, "has no secrets"},
		{"no secret", newSource(), "the source has no secret"},
		{"an empty secret", newSource(""), "the origin secret is empty"},
		{"a blank secret", newSource(strings.Repeat(" ", 40)), "the origin secret is blank"},
		{"a short secret", newSource(oldSecret[:31]), "is shorter than 32 bytes"},
		{"a padded secret", newSource(oldSecret + "\n"), "white space around it"},
		{"several, none usable", newSource("", oldSecret[:31], " "), "the source has no usable secret"},
		{"an outage", &source{secrets: []string{oldSecret}, err: errOutage}, errOutage.Error()},
		{"an empty current secret", &starter{source: newSource()}, "the origin secret is empty"},
		{"a short current secret", &starter{source: newSource(oldSecret[:31], newSecret)}, "is shorter than 32 bytes"},
		{"an outage of the current secret", &starter{source: &source{err: errOutage}}, errOutage.Error()},
		{"a panic", &source{before: func(context.Context) error { panic(oldSecret) }}, "the source panicked with a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := originlock.New(t.Context(), originlock.Config{Source: test.source})
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want one that says %q", err, test.problem)
			}
			if err != nil && strings.Contains(err.Error(), oldSecret[:31]) {
				t.Errorf("the error %q holds a secret", err)
			}
			if l != nil {
				t.Error("there is a lock beside the error")
			}
			for _, value := range []string{"", " ", oldSecret, oldSecret[:31], oldSecret + "\n"} {
				undecided(t, l, value, "refuses everything")
			}
		})
	}
}

func TestNewKeepsTheCauseOfAFailure(t *testing.T) {
	_, err := originlock.New(t.Context(), originlock.Config{Source: &source{err: errOutage}})
	if !errors.Is(err, errOutage) {
		t.Errorf("the error %v is not the source's", err)
	}
}

func TestZeroLockRefusesEverything(t *testing.T) {
	for _, l := range []*originlock.Lock{nil, {}} {
		for _, value := range []string{"", " ", oldSecret} {
			undecided(t, l, value, "make it with originlock.New")
		}
	}
}

func TestUnusableSecretsAreNotAccepted(t *testing.T) {
	src := newSource("", oldSecret[:31], oldSecret+" ", newSecret, strings.Repeat(" ", 40))
	l := newLock(t, originlock.Config{Source: src})
	accept(t, l, newSecret)
	for _, value := range src.secrets {
		if value != newSecret {
			refuse(t, l, value)
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	src := newSource(oldSecret)
	for _, test := range []struct {
		config originlock.Config
		want   string
	}{
		{originlock.Config{TTL: -1}, "originlock.Config.TTL is negative"},
		{originlock.Config{RefreshEvery: -1}, "originlock.Config.RefreshEvery is negative"},
		{originlock.Config{MaxAge: -1}, "originlock.Config.MaxAge is negative"},
		{originlock.Config{Timeout: -1}, "originlock.Config.Timeout is negative"},
		{originlock.Config{TTL: originlock.MaxTTL + 1}, "originlock.Config.TTL is above 1m0s"},
		{originlock.Config{TTL: time.Second}, "originlock.Config.RefreshEvery is above TTL"},
		{originlock.Config{MaxAge: time.Second}, "originlock.Config.MaxAge is below TTL"},
	} {
		test.config.Source = src
		if _, err := originlock.New(t.Context(), test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one that says %q", err, test.want)
		}
	}
	src.wantCalls(t, 0)
}

// What can never fit is no reason to ask: most junk has no header at all.
func TestTooShortValuesCostNoRefresh(t *testing.T) {
	src := newSource(oldSecret)
	l := newLock(t, originlock.Config{Source: src})
	src.wantCalls(t, 1)
	refuse(t, l, "")
	refuse(t, l, " ")
	refuse(t, l, oldSecret[:originlock.MinSecretBytes-1])
	src.wantCalls(t, 0)
}
