package assemble_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	claimsmemory "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
)

// keyedSystem is an instance whose provider has a key that read gets, and an upstream
// that counts the calls.
type keyedSystem struct {
	*api.Handler
	*control.Operator
	now   time.Time
	paid  atomic.Int64
	guard *caps.Guard // of the callers
}

func newKeyedSystem(t *testing.T, read func(*keyedSystem) (string, error)) *keyedSystem {
	t.Helper()
	s := &keyedSystem{now: noon()}
	clock := func() time.Time { return s.now }
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.paid.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":6,"total_tokens":10}}`))
	}))
	t.Cleanup(upstream.Close)
	cfg, err := config.Load(strings.NewReader(strings.Replace(fleetFile, "provider: demo", "provider: openai\n  base_url: "+upstream.URL, 1)))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := assemble.ProviderWithKey(*cfg.LLM, func(context.Context) (string, error) { return read(s) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	controls := new(controlmemory.Store)
	if s.Operator, err = control.NewOperator(control.OperatorConfig{Store: controls, By: "ann", Now: clock}); err != nil {
		t.Fatal(err)
	}
	lock := testLock(t, clock)
	store := memory.New(clock)
	if s.guard, err = caps.NewGuard(caps.Config{Store: store, Keyer: testKeyer(t), Caller: cfg.Caller, Now: clock}); err != nil {
		t.Fatal(err)
	}
	s.Handler, err = assemble.Handler(assemble.Parts{
		Config: cfg, Store: store, Control: controls, Claims: claimsmemory.New(), Provider: provider,
		Lock: lock, Keyer: testKeyer(t), Logger: slog.New(slog.DiscardHandler), Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// used is what the viewer of the tests has used.
func (s *keyedSystem) used(t *testing.T) caps.Decision {
	t.Helper()
	caller, err := caps.ViewerCaller("198.51.100.10:1")
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.guard.Usage(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The first paid call of an instance reads the provider's key, which may take as long as
// Secrets Manager likes. A stop that is made meanwhile is obeyed: the call is not made,
// and what was held for it is given back.
func TestStopWhileTheKeyIsRead(t *testing.T) {
	s := newKeyedSystem(t, func(s *keyedSystem) (string, error) {
		if _, err := s.Stop(context.Background(), ""); err != nil {
			return "", err
		}
		s.now = s.now.Add(10 * time.Second)
		return "sk-of-the-provider", nil
	})
	if res := ask(t, s.Handler, "198.51.100.10:1", "POST", chat); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"stopped"`) {
		t.Errorf("%d %s, want what the operator says", res.StatusCode, res.Body)
	}
	if n := s.paid.Load(); n != 0 {
		t.Errorf("%d paid calls ten seconds after the stop", n)
	}
	if d := s.used(t); d.Used.Calls != 0 || d.Held != 0 {
		t.Errorf("%+v is still taken", d)
	}
	if _, err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(control.Promise)
	if res := ask(t, s.Handler, "198.51.100.10:1", "POST", chat); res.StatusCode != 200 || s.paid.Load() != 1 {
		t.Errorf("after the resume: %d %s, %d paid calls", res.StatusCode, res.Body, s.paid.Load())
	}
}

// A key that cannot be read costs nothing, and is read again with the next call.
func TestKeyThatCannotBeRead(t *testing.T) {
	broken := true
	s := newKeyedSystem(t, func(*keyedSystem) (string, error) {
		if broken {
			return "", errors.New("broken on purpose")
		}
		return "sk-of-the-provider", nil
	})
	res := ask(t, s.Handler, "198.51.100.10:1", "POST", chat)
	if res.StatusCode != 502 || res.Headers["X-Spendcap-Cost"] != "0.000000" || s.paid.Load() != 0 {
		t.Errorf("%d %v %s, %d paid calls", res.StatusCode, res.Headers, res.Body, s.paid.Load())
	}
	if d := s.used(t); d.Used.Calls != 0 || d.Held != 0 {
		t.Errorf("%+v is still taken", d)
	}
	broken = false
	if res := ask(t, s.Handler, "198.51.100.10:1", "POST", chat); res.StatusCode != 200 || s.paid.Load() != 1 {
		t.Errorf("%d %s, %d paid calls", res.StatusCode, res.Body, s.paid.Load())
	}
}

// Each provider that needs a key can be made before the key is read.
func TestProvidersBeforeTheirKey(t *testing.T) {
	for _, name := range []string{"openai", "anthropic"} {
		cfg, err := config.Load(strings.NewReader(strings.Replace(fleetFile, "provider: demo", "provider: "+name, 1)))
		if err != nil {
			t.Fatal(err)
		}
		unread := func(context.Context) (string, error) { return "", errors.New("it is read too early") }
		if _, err := assemble.ProviderWithKey(*cfg.LLM, unread, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
