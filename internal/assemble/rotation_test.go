package assemble_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
	claims "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
)

// TestHMACKeyRotates changes the secret of the caller keys under two instances of the
// whole request path, of which one cannot read it: nobody's count starts again in the
// middle of a day, the day after has keys of the new version on both, a block outlives the
// change, and a retry over midnight is not paid twice.
func TestHMACKeyRotates(t *testing.T) {
	clock := capstest.NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	midnight := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	cfg, err := config.Load(strings.NewReader(`
demo: {calls: 100}
caps: {caller: {calls: 10, usd: 1}, global: {usd: 5}}
llm:
  provider: demo
  max_input_bytes: 1000
  models: [{name: small, input_usd_per_million: 0.000001, output_usd_per_million: 10, max_output_tokens: 100}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var bill caps.MicroUSD
	store, keys, board := memory.New(clock.Now), claims.New(), new(controlmemory.Store)
	kept, down := hmacKey, errors.New("the secret store is down")
	var cut [2]bool // instances that cannot read
	instance := func(i int) *api.Handler {
		lock := testLock(t, clock.Now)
		ring, err := hmackey.New(t.Context(), hmackey.Config{Now: clock.Now, Read: func(context.Context) (string, error) {
			if cut[i] {
				return "", down
			}
			return kept, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := assemble.Handler(assemble.Parts{
			Config: cfg, Store: store, Claims: keys, Control: board, Lock: lock, Keyer: ring.Keyer(), KeysInForce: ring.Check,
			Provider: meter{price: 10, rng: rand.New(rand.NewPCG(1, 2)), bill: &bill},
			Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)), Now: clock.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	instances := []*api.Handler{instance(0), instance(1)}
	send := func(i int, viewer, path string, header map[string]string) events.APIGatewayV2HTTPResponse {
		t.Helper()
		e := events.APIGatewayV2HTTPRequest{RawPath: path, Headers: map[string]string{
			"x-origin-verify": originSecret, "cloudfront-viewer-address": viewer + ":1",
		}}
		for name, value := range header {
			e.Headers[name] = value
		}
		if strings.HasPrefix(path, "/api/v1") {
			e.Body = `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
		}
		e.RequestContext.HTTP.Method = "POST"
		res, err := instances[i].Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	const ann, bob = "198.51.100.10", "198.51.100.11"
	counts := func(i int, want string) {
		t.Helper()
		if res := send(i, ann, "/api/demo/cap", nil); res.StatusCode != 200 || !strings.Contains(res.Body, `"count":`+want+`,`) {
			t.Errorf("at %v instance %d answers %d %s; want count %s", clock.Now(), i, res.StatusCode, res.Body, want)
		}
	}
	counts(0, "1")
	counts(1, "2")

	operator, err := control.NewOperator(control.OperatorConfig{Store: board, By: "ann", Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := caps.ViewerCaller(bob + ":1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Block(t.Context(), control.AddressBlock(testKeyer(t), caller, caps.DayOf(clock.Now()))); err != nil {
		t.Fatal(err)
	}
	cut[1] = true
	rotation, err := hmackey.Plan(kept, clock.Now(), nil)
	if err != nil || rotation.From != caps.DayOf(midnight) {
		t.Fatal(rotation, err)
	}
	kept = rotation.Value

	clock.Set(midnight.Add(-2 * time.Minute))
	counts(0, "3")
	counts(1, "4")
	key := map[string]string{"idempotency-key": "retry-1"}
	first := send(0, ann, "/api/v1/chat/completions", key)
	if first.StatusCode != 200 || bill == 0 {
		t.Fatalf("%d %s", first.StatusCode, first.Body)
	}
	paid := bill

	clock.Set(midnight)
	counts(0, "1")
	if res := send(1, ann, "/api/demo/cap", nil); res.StatusCode != 503 {
		t.Errorf("the instance that has not read answers %d %s", res.StatusCode, res.Body)
	}
	if again := send(0, ann, "/api/v1/chat/completions", key); again.Body != first.Body || again.Headers["Idempotent-Replayed"] != "true" || bill != paid {
		t.Errorf("the retry over midnight: %d %s, paid %d and then %d", again.StatusCode, again.Body, paid, bill)
	}
	if res := send(0, bob, "/api/demo/cap", nil); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"blocked"`) {
		t.Errorf("who was blocked before the change: %d %s", res.StatusCode, res.Body)
	}
	cut[1] = false
	clock.Advance(10 * time.Second)
	counts(1, "2")
	counts(0, "3")
	if res := send(1, bob, "/api/demo/cap", nil); res.StatusCode != 429 {
		t.Errorf("who was blocked before the change: %d %s", res.StatusCode, res.Body)
	}

	instances[1] = instance(1) // a cold start
	counts(1, "4")
}
