package rotation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/internal/rotation"
	"github.com/seed3e88d9a2/spendcap/originlock"
	lockSource "github.com/seed3e88d9a2/spendcap/originlock/secretsmanager"
)

const firstSecret = "the-first-secret-0123456789-0123456789"

// world is everything that a rotation has to do with: Secrets Manager, CloudFront, the
// edge and warm instances with an origin lock each, all on one clock that stands still
// except while the rotation waits.
type world struct {
	t       testing.TB
	secrets *secretsFake
	cloud   *cloudFake
	locks   []*originlock.Lock
	r       *rotation.Rotation
	config  rotation.Config

	mu  sync.Mutex
	now time.Time

	urls    [2]string    // of the two APIs
	calls   atomic.Int64 // of the AWS APIs, by the rotation
	failAt  int64        // this call is interrupted
	applied bool         // after it has taken effect
	broken  atomic.Bool  // the API answers 401 whatever it is sent
	onSleep func()
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)}
	w.secrets = newSecretsFake(w.clock, firstSecret)
	w.cloud = newCloudFake(w.clock, firstSecret)
	w.cloud.deploy = 4 * time.Minute
	w.secrets.onChange = w.check
	w.cloud.onChange = func(string) { w.check() }

	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	for range 3 {
		lock, err := originlock.New(t.Context(), originlock.Config{
			Source: lockSource.New(secretsClient(serve(w.secrets), 3), secretARN),
			Now:    w.clock,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.locks = append(w.locks, lock)
	}
	var turn atomic.Int64
	api := func(secret string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			lock := w.locks[int(turn.Add(1))%len(w.locks)]
			if secret != "" {
				r.Header.Set(originlock.Header, secret)
			}
			if w.broken.Load() {
				http.Error(rw, originlock.Refusal, http.StatusUnauthorized)
				return
			}
			lock.Middleware(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.Write([]byte(`{}`)) })).ServeHTTP(rw, r)
		}
	}
	w.urls = [2]string{serve(w.interrupt(w.secrets)), serve(w.interrupt(w.cloud))}
	w.config = rotation.Config{
		Secrets:        secretsClient(w.urls[0], 1),
		Distributions:  cloudClient(w.urls[1], 1),
		SecretARN:      secretARN,
		DistributionID: distributionID,
		OriginIDs:      []string{apiOrigin},
		SideDoorURL:    serve(api("")),
		EdgeURL: serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			sent := w.cloud.sent()
			api(sent[int(turn.Add(1))%len(sent)])(rw, r)
		})),
		Now:   w.clock,
		Sleep: w.sleep,
	}
	w.rebuild()
	return w
}

func (w *world) rebuild() {
	r, err := rotation.New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.r = r
}

func awsConfig(url string) aws.Config {
	return aws.Config{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
}

func secretsClient(url string, attempts int) *secretsmanager.Client {
	return secretsmanager.NewFromConfig(awsConfig(url), func(o *secretsmanager.Options) { o.RetryMaxAttempts = attempts })
}

func cloudClient(url string, attempts int) *cloudfront.Client {
	return cloudfront.NewFromConfig(awsConfig(url), func(o *cloudfront.Options) { o.RetryMaxAttempts = attempts })
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// sleep lets time pass while viewers call.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	for ; d > 0; d -= 5 * time.Second {
		w.pass(min(d, 5*time.Second))
		w.viewers()
		if w.onSleep != nil {
			w.onSleep()
		}
	}
	return ctx.Err()
}

// viewers calls every instance with everything that a part of the edge sends now.
func (w *world) viewers() {
	w.t.Helper()
	for _, secret := range w.cloud.sent() {
		for i, lock := range w.locks {
			if ok, err := lock.Check(w.t.Context(), secret); !ok || err != nil {
				w.t.Errorf("instance %d refuses a viewer at %v: %v", i, w.clock(), err)
			}
		}
	}
}

// check asserts that what is sent is accepted by a lock that asks now.
func (w *world) check() {
	w.t.Helper()
	accepted := w.secrets.accepted()
	for _, secret := range w.cloud.sent() {
		if !slices.Contains(accepted, secret) {
			w.t.Errorf("the edge sends what no label holds")
		}
	}
	for _, secret := range accepted {
		if err := originlock.CheckSecret(secret); err != nil {
			w.t.Error(err)
		}
	}
	if config, _ := w.cloud.current(); originHeader(config, otherOrigin) != otherSecret {
		w.t.Error("the header of another origin was changed")
	}
}

// interrupt cuts the connection at call number failAt, before or after its effect.
func (w *world) interrupt(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if n := w.calls.Add(1); n == w.failAt {
			if w.applied {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(rw, r)
	})
}

func (w *world) step(step, token string) error {
	return w.r.Handle(w.t.Context(), events.SecretsManagerSecretRotationEvent{Step: step, SecretID: secretARN, ClientRequestToken: token})
}

var steps = []string{rotation.StepCreate, rotation.StepSet, rotation.StepTest, rotation.StepFinish}

// rotate does what Secrets Manager does: the steps in order, all of them again from
// the first after a failure.
func (w *world) rotate(token string) error {
	var last error
	for range 5 {
		last = nil
		for _, step := range steps {
			if last = w.step(step, token); last != nil {
				break
			}
		}
		if last == nil {
			return nil
		}
		w.sleep(w.t.Context(), time.Minute)
	}
	return last
}

// finished asserts the end of a rotation.
func (w *world) finished(token, previous string) {
	w.t.Helper()
	w.check()
	w.viewers()
	if got := w.secrets.versionAt("AWSCURRENT"); got != token {
		w.t.Fatalf("AWSCURRENT is %s, not %s", got, token)
	}
	if got := w.secrets.valueAt("AWSPREVIOUS"); got != previous {
		w.t.Errorf("AWSPREVIOUS holds %q", got)
	}
	if sent := w.cloud.sent(); len(sent) != 1 || sent[0] != w.secrets.valueAt("AWSCURRENT") {
		w.t.Errorf("the edge sends %d values, or not the current one", len(sent))
	}
	if len(w.secrets.valueAt("AWSCURRENT")) != 64 {
		w.t.Error("the new secret is not 32 random bytes in hexadecimal")
	}
}

func want(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("the error is %v, want one with %q", err, text)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errCancelled = errors.New("cancelled")

func token(n int) string { return fmt.Sprintf("token-%032d", n) }
