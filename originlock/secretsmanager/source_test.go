package secretsmanager_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	aws_sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

func TestSecrets(t *testing.T) {
	for _, test := range []struct {
		name   string
		stages map[string]reply
		want   []string
	}{
		{"all three", map[string]reply{"AWSPENDING": value(pending), "AWSCURRENT": value(current), "AWSPREVIOUS": value(previous)},
			[]string{pending, current, previous}},
		{"before the first rotation", map[string]reply{"AWSCURRENT": value(current)}, []string{current}},
		{"pending version without a value", map[string]reply{"AWSPENDING": noStage, "AWSCURRENT": value(current), "AWSPREVIOUS": value(previous)},
			[]string{current, previous}},
		{"pending version without a value, said otherwise", map[string]reply{"AWSPENDING": noValue, "AWSCURRENT": value(current)},
			[]string{current}},
		{"pending reply without a value", map[string]reply{"AWSPENDING": {200, `{"Name":"origin"}`}, "AWSCURRENT": value(current)},
			[]string{current}},
		{"pending value null", map[string]reply{"AWSPENDING": {200, `{"SecretString":null}`}, "AWSCURRENT": value(current)},
			[]string{current}},
		{"pending value empty", map[string]reply{"AWSPENDING": value(""), "AWSCURRENT": value(current)}, []string{current}},
		{"pending value blank", map[string]reply{"AWSPENDING": value(strings.Repeat(" ", 64)), "AWSCURRENT": value(current)}, []string{current}},
		{"pending value short", map[string]reply{"AWSPENDING": value(pending[:31]), "AWSCURRENT": value(current)}, []string{current}},
		{"pending value padded", map[string]reply{"AWSPENDING": value(pending + "\n"), "AWSCURRENT": value(current)}, []string{current}},
		{"pending value binary", map[string]reply{"AWSPENDING": {200, `{"SecretBinary":"c2VjcmV0"}`}, "AWSCURRENT": value(current)},
			[]string{current}},
		{"previous value short", map[string]reply{"AWSCURRENT": value(current), "AWSPREVIOUS": value("old")}, []string{current}},
		{"previous value encrypted with a lost key", map[string]reply{"AWSCURRENT": value(current),
			"AWSPREVIOUS": failure(400, "DecryptionFailure", "Secrets Manager can't decrypt the protected secret text")}, []string{current}},
		{"JSON is its text", map[string]reply{"AWSCURRENT": value(`{"secret":"` + current + `"}`)}, []string{`{"secret":"` + current + `"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, test.stages)
			got, err := secretsmanager.New(s.client(), secretID).Secrets(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %d secrets %q, want %q", len(got), got, test.want)
			}
			s.wantAsked(all...)
		})
	}
}

// brokenCurrent are the replies for AWSCURRENT with which nothing can go on.
var brokenCurrent = map[string]struct {
	current reply
	want    string
}{
	"no secret":               {noStage, "ResourceNotFoundException"},
	"marked for deletion":     {failure(400, "InvalidRequestException", "marked for deletion"), "InvalidRequestException"},
	"no permission":           {failure(400, "AccessDeniedException", "not authorized to perform: secretsmanager:GetSecretValue"), "AccessDeniedException"},
	"lost key":                {failure(400, "DecryptionFailure", "can't decrypt"), "DecryptionFailure"},
	"throttled":               {failure(400, "ThrottlingException", "Rate exceeded"), "ThrottlingException"},
	"broken":                  {failure(500, "InternalServiceError", "An error occurred"), "InternalServiceError"},
	"unavailable":             {reply{503, "<html>Service Unavailable</html>"}, "status 503"},
	"no value":                {reply{200, `{"Name":"origin"}`}, "AWSCURRENT of the secret " + secretID + " has no value that is a string"},
	"empty":                   {value(""), "has no value that is a string"},
	"binary":                  {reply{200, `{"SecretBinary":"c2VjcmV0"}`}, "has no value that is a string"},
	"blank":                   {value(strings.Repeat(" ", 64)), "the origin secret is blank"},
	"short":                   {value(current[:31]), "shorter than 32 bytes"},
	"padded":                  {value(current + "\n"), "white space around it"},
	"page instead of a reply": {reply{200, "<html>" + current + "</html>"}, "status 200 is cut or is none of Secrets Manager's"},
	"cut":                     {reply{200, value(current).body[:90]}, "status 200 is cut or is none of Secrets Manager's"},
	"a bare string":           {reply{200, `"` + current + `"`}, "status 200 is cut or is none of Secrets Manager's"},
	"a number as the value":   {reply{200, `{"SecretString":12345678901234567890123456789012}`}, "status 200 is cut or is none of Secrets Manager's"},
	"an object as the value":  {reply{200, `{"SecretString":{"secret":"` + current + `"}}`}, "status 200 is cut or is none of Secrets Manager's"},
	"a list as the value":     {reply{200, `{"SecretString":["` + current + `"]}`}, "status 200 is cut or is none of Secrets Manager's"},
}

func TestWithoutAUsableCurrentSecretThereIsAnError(t *testing.T) {
	for name, test := range brokenCurrent {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, map[string]reply{"AWSPENDING": value(pending), "AWSCURRENT": test.current, "AWSPREVIOUS": value(previous)})
			source := secretsmanager.New(s.client(), secretID)

			secrets, err := source.Secrets(t.Context())
			wantError(t, err, test.want)
			if secrets != nil {
				t.Error("there are secrets beside the error")
			}
			secret, err := source.Current(t.Context())
			wantError(t, err, test.want)
			if secret != "" {
				t.Error("there is a secret beside the error")
			}
			l, err := originlock.New(t.Context(), originlock.Config{Source: source})
			wantError(t, err, test.want)
			if l != nil {
				t.Error("there is a lock beside the error")
			}
			s.wantAsked("AWSPENDING", "AWSCURRENT", "AWSCURRENT", "AWSCURRENT")
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		wantNoSecret(t, e.Error())
	}
}

// A stage that cannot be read may hold a secret that is in use, so the answer without
// it would not be the truth.
func TestStageThatCannotBeReadIsAnError(t *testing.T) {
	for _, stage := range []string{"AWSPENDING", "AWSPREVIOUS"} {
		for name, broken := range map[string]reply{
			"broken":        failure(500, "InternalServiceError", "An error occurred"),
			"throttled":     failure(400, "ThrottlingException", "Rate exceeded"),
			"no permission": failure(400, "AccessDeniedException", "not authorized"),
			"garbage":       {200, "<html>"},
		} {
			t.Run(stage+" "+name, func(t *testing.T) {
				s := newServer(t, map[string]reply{"AWSCURRENT": value(current), stage: broken})
				_, err := secretsmanager.New(s.client(), secretID).Secrets(t.Context())
				wantError(t, err, stage)
			})
		}
	}
}

func TestWrongArgumentsAreErrorsOfTheStart(t *testing.T) {
	s := newServer(t, map[string]reply{"AWSCURRENT": value(current)})
	var none *secretsmanager.Source
	for _, test := range []struct {
		source *secretsmanager.Source
		want   string
	}{
		{secretsmanager.New(nil, secretID), "there is no Secrets Manager client"},
		{secretsmanager.New(s.client(), ""), "the name of the secret is empty"},
		{none, "is nil"},
		{secretsmanager.New((*aws_sm.Client)(nil), secretID), "panicked"},
	} {
		if _, err := originlock.New(t.Context(), originlock.Config{Source: test.source}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one that says %q", err, test.want)
		}
	}
	s.wantAsked()
}

// stages are the replies while the stages hold these secrets; empty is no version.
func stages(pending, current, previous string) map[string]reply {
	m := map[string]reply{"AWSPENDING": noStage, "AWSCURRENT": noStage, "AWSPREVIOUS": noStage}
	for stage, secret := range map[string]string{"AWSPENDING": pending, "AWSCURRENT": current, "AWSPREVIOUS": previous} {
		if secret != "" {
			m[stage] = value(secret)
		}
	}
	return m
}

// While the three stages are read, a rotation finishes, at each place in which it can.
// The secret that was current and the one that becomes it must not be missed: one of
// them is what the edge sends.
func TestRotationThatFinishesBetweenTwoReads(t *testing.T) {
	finished := map[string]map[string]reply{
		"pending label gone": stages("", pending, current),
		"pending label left": stages(pending, pending, current), // until it is removed
	}
	for name, after := range finished {
		for _, at := range all {
			t.Run(name+", before "+at+" is read", func(t *testing.T) {
				s := newServer(t, stages(pending, current, previous))
				s.hook = func(_ *http.Request, stage string) {
					if stage == at {
						s.setAll(after)
					}
				}
				got, err := secretsmanager.New(s.client(), secretID).Secrets(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{pending, current} {
					if !slices.Contains(got, secret) {
						t.Errorf("%s... was missed: got %q", secret[:2], got)
					}
				}
			})
		}
	}
}

// A whole rotation as a lock sees it, from a cold start on.
func TestLockDuringARotation(t *testing.T) {
	s := newServer(t, stages("", current, ""))
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	l, err := originlock.New(t.Context(), originlock.Config{
		Source: secretsmanager.New(s.client(), secretID),
		Now:    func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(secret string, want bool) {
		t.Helper()
		if ok, err := l.Check(t.Context(), secret); ok != want || err != nil {
			t.Errorf("Check = %v, %v; want %v", ok, err, want)
		}
	}
	check(current, true)
	s.wantAsked("AWSCURRENT") // one call stands between a cold start and an answer

	s.setAll(stages(pending, current, ""))
	check(pending, true) // the first answer of a warm instance is right
	s.wantAsked(all...)
	check(current, true)
	check("", false)
	for range 100 {
		check(others[0], false)
	}
	s.wantAsked()

	s.setAll(stages("", pending, current))
	now = now.Add(originlock.MaxTTL)
	check(pending, true)
	s.wantAsked(all...)
	check(current, true)

	s.setAll(stages("", pending, ""))
	now = now.Add(originlock.MaxTTL)
	check(current, false)
	s.wantAsked(all...)
	check(pending, true)
	s.wantAsked()
}

// A fresh instance in the middle of a rotation knows one secret only. The others
// have to pass at once, not after the next refresh.
func TestColdStartDuringARotation(t *testing.T) {
	for _, secret := range []string{pending, previous} {
		s := newServer(t, stages(pending, current, previous))
		l, err := originlock.New(t.Context(), originlock.Config{Source: secretsmanager.New(s.client(), secretID)})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := l.Check(t.Context(), secret); !ok || err != nil {
			t.Errorf("Check = %v, %v; want true", ok, err)
		}
		s.wantAsked("AWSCURRENT", "AWSPENDING", "AWSCURRENT", "AWSPREVIOUS")
	}
}

func TestOutage(t *testing.T) {
	s := newServer(t, stages("", current, ""))
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	failures := 0
	l, err := originlock.New(t.Context(), originlock.Config{
		Source:    secretsmanager.New(s.client(), secretID),
		Now:       func() time.Time { return now },
		OnFailure: func(error) { failures++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := failure(500, "InternalServiceError", "An error occurred")
	s.setAll(map[string]reply{"AWSPENDING": broken, "AWSCURRENT": broken, "AWSPREVIOUS": broken})
	s.wantAsked("AWSCURRENT")

	now = now.Add(originlock.MaxTTL)
	for range 100 {
		if ok, err := l.Check(t.Context(), current); !ok || err != nil {
			t.Fatalf("Check = %v, %v; want true", ok, err)
		}
		ok, err := l.Check(t.Context(), pending)
		if ok {
			t.Fatal("accepted")
		}
		wantError(t, err, "InternalServiceError")
	}
	s.wantAsked("AWSPENDING")
	if failures != 1 {
		t.Errorf("OnFailure was called %d times, want once", failures)
	}

	now = now.Add(originlock.DefaultMaxAge)
	ok, err := l.Check(t.Context(), current)
	if ok {
		t.Error("accepted after MaxAge")
	}
	wantError(t, err, "older than 1h0m0s")
	s.wantAsked("AWSPENDING")

	s.setAll(stages("", current, ""))
	now = now.Add(originlock.DefaultRefreshEvery)
	if ok, err := l.Check(t.Context(), current); !ok || err != nil {
		t.Errorf("Check = %v, %v; want true after the outage", ok, err)
	}
}

// The SDK's own retries repair a single failure and count as one asking.
func TestRetriesOfTheSDKRepairAFailure(t *testing.T) {
	s := newServer(t, stages(pending, current, previous))
	failing := true
	s.hook = func(_ *http.Request, stage string) {
		if stage != "AWSCURRENT" {
			return
		}
		if failing {
			s.set(stage, failure(500, "InternalServiceError", "An error occurred"))
		} else {
			s.set(stage, value(current))
		}
		failing = false
	}
	client := s.client(func(o *aws_sm.Options) { o.RetryMaxAttempts = 3 })
	got, err := secretsmanager.New(client, secretID).Secrets(t.Context())
	if err != nil || !slices.Equal(got, []string{pending, current, previous}) {
		t.Errorf("Secrets = %q, %v", got, err)
	}
	s.wantAsked("AWSPENDING", "AWSCURRENT", "AWSCURRENT", "AWSPREVIOUS")
}

// A server that takes the request and says nothing costs a request the Timeout and no
// more, and an accepted secret stays accepted.
func TestSlowServer(t *testing.T) {
	s := newServer(t, stages("", current, ""))
	l, err := originlock.New(t.Context(), originlock.Config{
		Source:       secretsmanager.New(s.client(), secretID),
		TTL:          time.Nanosecond, // refreshes are due at once
		RefreshEvery: time.Nanosecond,
		Timeout:      50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.hook = func(r *http.Request, _ string) { <-r.Context().Done() }
	s.mu.Unlock()
	if ok, err := l.Check(t.Context(), current); !ok || err != nil {
		t.Errorf("Check = %v, %v; want true", ok, err)
	}
	ok, err := l.Check(t.Context(), pending)
	if ok {
		t.Error("accepted")
	}
	wantError(t, err, "new ones cannot be read")
}

func TestSecretsEndsWithItsContext(t *testing.T) {
	s := newServer(t, stages(pending, current, previous))
	s.hook = func(r *http.Request, _ string) { <-r.Context().Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := secretsmanager.New(s.client(), secretID).Secrets(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}
