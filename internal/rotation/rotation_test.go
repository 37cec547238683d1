package rotation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/rotation"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

func TestRotation(t *testing.T) {
	for _, prepared := range []bool{true, false} {
		w := newWorld(t)
		if prepared {
			w.secrets.begin(token(1))
		}
		began := w.clock()
		ok(t, w.step(rotation.StepCreate, token(1)))
		if w.cloud.sent()[0] != firstSecret {
			t.Fatal("createSecret changed the edge")
		}
		ok(t, w.step(rotation.StepSet, token(1)))
		if waited := w.clock().Sub(began); waited < originlock.MaxTTL+originlock.DefaultTimeout {
			t.Errorf("the edge was changed after %v, before every lock has heard of the secret", waited)
		}
		config, _ := w.cloud.current()
		before := decode(t, strings.Replace(distributionXML, "SECRET", w.cloud.sent()[0], 1))
		if diff := difference(before, decode(t, config)); diff != "" {
			t.Errorf("the update changed more than the secret: %s", diff)
		}
		want(t, w.step(rotation.StepFinish, token(1)), "does not send the pending secret yet")
		ok(t, w.step(rotation.StepTest, token(1)))
		ok(t, w.step(rotation.StepFinish, token(1)))
		w.finished(token(1), firstSecret)
		if _, updates := w.cloud.current(); updates != 1 {
			t.Errorf("%d updates of the distribution", updates)
		}
	}
}

func TestStepsRepeated(t *testing.T) {
	w := newWorld(t)
	for _, step := range steps {
		for range 3 {
			ok(t, w.step(step, token(1)))
		}
	}
	w.finished(token(1), firstSecret)
	secret := w.secrets.valueAt("AWSCURRENT")
	for _, step := range steps { // and all again when it is over
		ok(t, w.step(step, token(1)))
	}
	w.finished(token(1), firstSecret)
	if _, updates := w.cloud.current(); updates != 1 || w.secrets.puts != 1 || w.secrets.valueAt("AWSCURRENT") != secret {
		t.Errorf("%d updates, %d secrets made", updates, w.secrets.puts)
	}
}

func TestStepsOutOfOrder(t *testing.T) {
	w := newWorld(t)
	w.secrets.begin(token(1))
	want(t, w.step(rotation.StepSet, token(1)), "has no value")
	want(t, w.step(rotation.StepFinish, token(1)), "has no value")
	ok(t, w.step(rotation.StepTest, token(1))) // Secrets Manager's trial of a new schedule
	ok(t, w.step(rotation.StepCreate, token(1)))
	want(t, w.step(rotation.StepTest, token(1)), "setSecret comes first")
	want(t, w.step(rotation.StepFinish, token(1)), "setSecret and testSecret come first")
	for _, step := range []string{rotation.StepSet, rotation.StepTest, rotation.StepFinish} {
		want(t, w.step(step, token(2)), "createSecret comes first")
	}
	if w.cloud.sent()[0] != firstSecret || w.secrets.versionAt("AWSCURRENT") != "v0" {
		t.Fatal("a step out of its order changed something")
	}
	ok(t, w.rotate(token(1)))
	w.finished(token(1), firstSecret)

	ok(t, w.rotate(token(2)))
	for _, step := range []string{rotation.StepCreate, rotation.StepSet, rotation.StepFinish} { // late retries of the first
		want(t, w.step(step, token(1)), "is over or was cancelled")
	}
	w.finished(token(2), w.secrets.valueAt("AWSPREVIOUS"))
}

func TestInterruptedAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		n := int64(1)
		for ; ; n++ {
			w := newWorld(t)
			w.cloud.deploy = 30 * time.Second
			w.secrets.begin(token(1))
			w.failAt, w.applied = n, applied
			ok(t, w.rotate(token(1)))
			w.finished(token(1), firstSecret)
			w.pass(2 * time.Hour)
			if w.step(rotation.StepRetire, "") != nil {
				ok(t, w.step(rotation.StepRetire, ""))
			}
			if w.secrets.versionAt("AWSPREVIOUS") != "" {
				t.Fatal("the old secret is still accepted")
			}
			w.check()
			if _, updates := w.cloud.current(); updates != 1 {
				t.Errorf("interrupted at call %d (applied: %v): %d updates", n, applied, updates)
			}
			if w.calls.Load() < n { // the interruption never came
				break
			}
		}
		if n < 20 {
			t.Fatalf("only %d calls: the interruptions did not reach the end", n)
		}
	}
}

func TestInterruptedAndAnotherBegun(t *testing.T) {
	t.Parallel()
	for n := int64(1); n < 30; n++ {
		w := newWorld(t)
		w.cloud.deploy = 30 * time.Second
		w.failAt, w.applied = n, n%2 == 0
		for _, step := range steps {
			if w.step(step, token(1)) != nil {
				break
			}
		}
		ok(t, w.rotate(token(2)))
		w.finished(token(2), w.secrets.valueAt("AWSPREVIOUS"))
	}
}

func TestSDKRetriesChangeNothingTwice(t *testing.T) {
	t.Parallel()
	for n := int64(1); ; n++ {
		w := newWorld(t)
		w.cloud.deploy = 30 * time.Second
		w.config.Secrets, w.config.Distributions = secretsClient(w.urls[0], 3), cloudClient(w.urls[1], 3)
		w.rebuild()
		w.failAt, w.applied = n, true
		for _, step := range steps {
			ok(t, w.step(step, token(1)))
		}
		w.finished(token(1), firstSecret)
		w.pass(2 * time.Hour)
		ok(t, w.step(rotation.StepRetire, ""))
		if w.secrets.versionAt("AWSPREVIOUS") != "" {
			t.Fatal("the old secret was not retired")
		}
		if _, updates := w.cloud.current(); updates != 1 {
			t.Errorf("the reply of call %d lost: %d updates", n, updates)
		}
		if w.calls.Load() < n {
			break
		}
	}
}

func TestEdgeBusyStaleAndRefusing(t *testing.T) {
	t.Parallel()
	t.Run("somebody else updates", func(t *testing.T) {
		w := newWorld(t)
		w.cloud.meddle = 3
		ok(t, w.rotate(token(1)))
		w.finished(token(1), firstSecret)
	})
	t.Run("all the time", func(t *testing.T) {
		w := newWorld(t)
		w.cloud.meddle = 1000
		ok(t, w.step(rotation.StepCreate, token(1)))
		want(t, w.step(rotation.StepSet, token(1)), "changed by others during 5 attempts")
		w.check()
		w.cloud.meddle = 0
		ok(t, w.rotate(token(1)))
		w.finished(token(1), firstSecret)
	})
	t.Run("InvalidIfMatchVersion", func(t *testing.T) {
		w := newWorld(t)
		w.cloud.refuse = []string{"InvalidIfMatchVersion"}
		ok(t, w.step(rotation.StepCreate, token(1)))
		ok(t, w.step(rotation.StepSet, token(1)))
		ok(t, w.rotate(token(1)))
		w.finished(token(1), firstSecret)
	})
	for _, code := range []string{"AccessDenied", "TooManyDistributions", "ServiceUnavailable"} {
		t.Run(code, func(t *testing.T) {
			w := newWorld(t)
			w.cloud.refuse = []string{code, code}
			ok(t, w.step(rotation.StepCreate, token(1)))
			want(t, w.step(rotation.StepSet, token(1)), "cannot be updated")
			if len(w.cloud.refuse) != 1 {
				t.Error("an update was retried that met no conflict")
			}
			w.viewers()
			w.cloud.refuse = nil
			ok(t, w.rotate(token(1)))
			w.finished(token(1), firstSecret)
		})
	}
	t.Run("stale", func(t *testing.T) {
		for stale := range 12 {
			w := newWorld(t)
			ok(t, w.step(rotation.StepCreate, token(1)))
			ok(t, w.step(rotation.StepSet, token(1)))
			w.cloud.stale = stale
			ok(t, w.rotate(token(1)))
			w.finished(token(1), firstSecret)
		}
	})
	t.Run("slower than one call may last", func(t *testing.T) {
		w := newWorld(t)
		w.cloud.deploy = 40 * time.Minute
		ok(t, w.step(rotation.StepCreate, token(1)))
		ok(t, w.step(rotation.StepSet, token(1)))
		began := w.clock()
		want(t, w.step(rotation.StepTest, token(1)), "not been deployed within")
		if took := w.clock().Sub(began); took > rotation.DefaultPatience {
			t.Errorf("the step took %v", took)
		}
		want(t, w.step(rotation.StepFinish, token(1)), "does not send the pending secret yet")
		ok(t, w.rotate(token(1)))
		w.finished(token(1), firstSecret)
		if _, updates := w.cloud.current(); updates != 1 {
			t.Errorf("%d updates", updates)
		}
	})
	t.Run("no header to change", func(t *testing.T) {
		w := newWorld(t)
		w.config.OriginIDs = []string{"site"}
		w.rebuild()
		ok(t, w.step(rotation.StepCreate, token(1)))
		want(t, w.step(rotation.StepSet, token(1)), `no origin "site" with the header X-Origin-Verify`)
	})
}

func TestUnusableSecrets(t *testing.T) {
	for _, value := range []string{"", " ", "tiny", "line\nbreak-0123456789-0123456789-0123456789"} {
		w := newWorld(t)
		w.secrets.begin(token(1))
		v := w.secrets.versions[token(1)]
		v.value, v.has = value, true
		for _, step := range steps {
			err := w.step(step, token(1))
			want(t, err, "cannot be used")
			if len(value) > 1 && strings.Contains(err.Error(), value) {
				t.Error("the error quotes the secret")
			}
		}
		if w.cloud.sent()[0] != firstSecret {
			t.Fatal("the edge sends an unusable secret")
		}
	}
}

func TestOriginThatRefusesThePendingSecret(t *testing.T) {
	t.Run("before the edge changes", func(t *testing.T) {
		w := newWorld(t)
		ok(t, w.step(rotation.StepCreate, token(1)))
		w.broken.Store(true)
		want(t, w.step(rotation.StepSet, token(1)), "the origin lock refuses it")
		if w.cloud.sent()[0] != firstSecret {
			t.Fatal("the edge was changed all the same")
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		w := newWorld(t)
		ok(t, w.step(rotation.StepCreate, token(1)))
		ok(t, w.step(rotation.StepSet, token(1)))
		w.broken.Store(true)
		want(t, w.step(rotation.StepTest, token(1)), "the origin lock refuses it")
		if w.cloud.sent()[0] != firstSecret || w.secrets.versionAt("AWSCURRENT") != "v0" {
			t.Fatal("the edge did not get the current secret back")
		}
		w.broken.Store(false)
		ok(t, w.rotate(token(1)))
		w.finished(token(1), firstSecret)
	})
}

func TestCancelledDuringTheWait(t *testing.T) {
	w := newWorld(t)
	ok(t, w.step(rotation.StepCreate, token(1)))
	w.onSleep = func() {
		w.secrets.mu.Lock()
		defer w.secrets.mu.Unlock()
		w.secrets.move("AWSPENDING", "")
	}
	w.config.SideDoorURL = ""
	w.rebuild()
	if w.step(rotation.StepSet, token(1)) == nil || w.cloud.sent()[0] != firstSecret {
		t.Fatal("the edge got a secret whose label is gone")
	}
}

func TestContextEnds(t *testing.T) {
	w := newWorld(t)
	ok(t, w.step(rotation.StepCreate, token(1)))
	w.config.Sleep = func(context.Context, time.Duration) error { return errCancelled }
	w.rebuild()
	want(t, w.step(rotation.StepSet, token(1)), "cancelled")
	if w.cloud.sent()[0] != firstSecret {
		t.Fatal("the edge was changed without the wait")
	}
}

func TestRetire(t *testing.T) {
	w := newWorld(t)
	ok(t, w.step(rotation.StepRetire, ""))
	ok(t, w.rotate(token(1)))
	w.pass(59 * time.Minute)
	ok(t, w.step(rotation.StepRetire, ""))
	if w.secrets.versionAt("AWSPREVIOUS") != "v0" {
		t.Fatal("the old secret was retired before its time")
	}
	w.pass(time.Minute)
	ok(t, w.step(rotation.StepRetire, ""))
	if w.secrets.versionAt("AWSPREVIOUS") != "" {
		t.Fatal("the old secret was not retired")
	}
	w.sleep(t.Context(), 2*time.Minute)
	for i, lock := range w.locks {
		if pass, err := lock.Check(t.Context(), firstSecret); pass || err != nil {
			t.Errorf("instance %d: %v %v", i, pass, err)
		}
	}
	ok(t, w.step(rotation.StepRetire, ""))
	ok(t, w.rotate(token(2)))
	w.finished(token(2), w.secrets.valueAt("AWSPREVIOUS"))
}

func TestRetireWhatADeploymentPutBack(t *testing.T) {
	w := newWorld(t)
	ok(t, w.rotate(token(1)))
	w.cloud.mu.Lock()
	w.cloud.put(strings.Replace(distributionXML, "SECRET", firstSecret, 1))
	w.cloud.mu.Unlock()
	w.pass(2 * time.Hour)
	ok(t, w.step(rotation.StepRetire, ""))
	if w.cloud.sent()[0] != w.secrets.valueAt("AWSCURRENT") || w.secrets.versionAt("AWSPREVIOUS") != "v0" {
		t.Fatal("the edge has to send the current secret before the previous one is retired")
	}
	ok(t, w.step(rotation.StepRetire, "")) // still being deployed
	if w.secrets.versionAt("AWSPREVIOUS") != "v0" {
		t.Fatal("a part of the edge still sends the previous secret")
	}
	w.pass(time.Hour)
	ok(t, w.step(rotation.StepRetire, ""))
	if w.secrets.versionAt("AWSPREVIOUS") != "" {
		t.Fatal("the old secret was not retired")
	}
	w.check()
}

func TestRetireReportsAStuckRotation(t *testing.T) {
	w := newWorld(t)
	ok(t, w.rotate(token(1)))
	for _, create := range []bool{false, true} {
		w.secrets.begin(token(2))
		if create {
			ok(t, w.step(rotation.StepCreate, token(2)))
		}
		w.pass(23 * time.Hour)
		ok(t, w.step(rotation.StepRetire, ""))
		w.pass(2 * time.Hour)
		want(t, w.step(rotation.StepRetire, ""), "has not finished for 25h")
	}
	if w.secrets.versionAt("AWSPREVIOUS") != "v0" {
		t.Fatal("a label was taken away during a rotation")
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for text, e := range map[string]events.SecretsManagerSecretRotationEvent{
		"another secret":        {Step: rotation.StepCreate, SecretID: "arn:other", ClientRequestToken: token(1)},
		"no ClientRequestToken": {Step: rotation.StepCreate, SecretID: secretARN},
		"no such step":          {Step: "dropSecret", SecretID: secretARN, ClientRequestToken: token(1)},
	} {
		want(t, w.r.Handle(t.Context(), e), text)
	}
	if n := w.calls.Load(); n != 0 {
		t.Errorf("%d calls of AWS", n)
	}
}

func TestConfig(t *testing.T) {
	good := newWorld(t).config
	for field, spoil := range map[string]func(*rotation.Config){
		"Secrets is missing":             func(c *rotation.Config) { c.Secrets = nil },
		"Distributions is missing":       func(c *rotation.Config) { c.Distributions = nil },
		"SecretARN is missing":           func(c *rotation.Config) { c.SecretARN = "" },
		"DistributionID is missing":      func(c *rotation.Config) { c.DistributionID = "" },
		"OriginIDs is missing":           func(c *rotation.Config) { c.OriginIDs = nil },
		"OriginIDs has an empty one":     func(c *rotation.Config) { c.OriginIDs = []string{""} },
		"EdgeURL is missing":             func(c *rotation.Config) { c.EdgeURL = "" },
		"EdgeURL is not a URL":           func(c *rotation.Config) { c.EdgeURL = "www.example.com/api/cap" },
		"SideDoorURL is not a URL":       func(c *rotation.Config) { c.SideDoorURL = "ftp://x" },
		"Config.Grace is negative":       func(c *rotation.Config) { c.Grace = -1 },
		"Config.Spread is negative":      func(c *rotation.Config) { c.Spread = -1 },
		"Config.Patience is negative":    func(c *rotation.Config) { c.Patience = -1 },
		"rotation.Config.Overdue is neg": func(c *rotation.Config) { c.Overdue = -1 },
	} {
		c := good
		spoil(&c)
		_, err := rotation.New(c)
		want(t, err, field)
	}
}
