// Package assemble builds the request path from the operator's file and from what
// differs between AWS and one machine: the store, the lock's secrets and the provider.
package assemble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Parts are what a handler is built from.
type Parts struct {
	Config  *config.Config
	Store   caps.Store
	Control control.Reader // what the operator sets while the system runs

	// Sealed keeps the addresses of blocked callers, if the file has sealed_addresses. nil:
	// there is no place from which an operator could read them, and none are kept.
	Sealed sealed.Store
	Lock   *originlock.Lock
	Keyer  *caps.Keyer

	// KeysInForce tells whether the Keyer has the versions that can serve today. nil: it
	// always has.
	KeysInForce func(context.Context) error

	// Rates counts bursts. It is needed if the file has rate limits.
	Rates ratelimit.Store

	// Provider makes the paid calls, and Claims remembers their Idempotency-Keys. Both
	// are needed if the file has an llm.
	Provider llm.Provider
	Claims   idempotency.Store

	Metrics *metrics.Metrics // nil: none are written
	Logger  *slog.Logger
	Now     func() time.Time // nil: time.Now
}

// Handler returns the request path, or an error that names what is wrong.
func Handler(p Parts) (*api.Handler, error) {
	logger := p.Logger
	if logger == nil {
		logger = slog.Default()
	}
	if p.Control == nil {
		return nil, errors.New("assemble.Parts.Control is missing: nobody could stop the calls")
	}
	watcher, err := control.NewWatcher(control.WatcherConfig{
		Reader: metrics.Control(p.Control),
		Keyer:  p.Keyer,
		Now:    p.Now,
		OnFailure: func(err error) {
			logger.Error("the operator's controls cannot be read; the last ones are obeyed for a few seconds, then all calls are refused", "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	store := metrics.Store(p.Store)
	// limited is the caller's budget by the name under which an operator limits it.
	guard := func(caller, limited, address, global caps.Budget) (*caps.Guard, error) {
		if caller == (caps.Budget{}) {
			return nil, nil
		}
		inForce := func(b caps.Budget, day caps.Day) caps.Cap {
			if b.Name == caller.Name {
				b = limited
			}
			return watcher.Cap(b, day)
		}
		return caps.NewGuard(caps.Config{Store: store, Keyer: p.Keyer, Caller: caller, Address: address, Global: global, InForce: inForce, Now: p.Now})
	}
	none := caps.Budget{}
	demo, err := guard(p.Config.Demo, p.Config.Demo, none, none)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	paid, err := guard(p.Config.Caller, p.Config.Caller, none, p.Config.Global)
	if err != nil {
		return nil, fmt.Errorf("caps: %w", err)
	}
	tiers := make(map[string]*caps.Guard)
	if p.Config.Auth != nil && paid != nil {
		for _, t := range p.Config.Auth.Tiers {
			if tiers[t.Name], err = guard(p.Config.User(t), p.Config.Tier(t), p.Config.Address, p.Config.Global); err != nil {
				return nil, fmt.Errorf("tiers: %s: %w", t.Name, err)
			}
		}
	}
	var sealer *sealed.Keeper
	if p.Config.SealTo != nil && p.Sealed != nil {
		sealer = &sealed.Keeper{Key: *p.Config.SealTo, Store: p.Sealed, Now: p.Now}
	}
	c := api.Config{
		Lock:           p.Lock,
		Mask:           p.Config.Mask,
		Demo:           demo,
		Paid:           paid,
		Auth:           p.Config.Auth,
		Tiers:          tiers,
		KeysInForce:    p.KeysInForce,
		Control:        watcher,
		Sealed:         sealer,
		AllowedOrigins: p.Config.AllowedOrigins,
		Metrics:        p.Metrics,
		Logger:         logger,
		Now:            p.Now,
	}
	if p.Config.RateLimits != nil {
		if c.Rates, err = rates(p, logger); err != nil {
			return nil, fmt.Errorf("rate_limits: %w", err)
		}
	}
	if p.Config.LLM != nil {
		if c.LLM, err = llm.New(*p.Config.LLM, p.Provider); err != nil {
			return nil, err
		}
		c.LLM.Now = p.Now
		c.MaxBodyBytes = escaped*p.Config.LLM.MaxInputBytes + envelope
		c.Idempotency, err = idempotency.New(idempotency.Config{
			Store: p.Claims, Keyer: p.Keyer, Lease: deadlines.Lambda + leaseMargin, Now: p.Now,
		})
		if err != nil {
			return nil, fmt.Errorf("idempotency: %w", err)
		}
	}
	return api.New(c)
}

// A body is bounded before it is read: JSON may write a byte as six (\u0061), and has
// names and punctuation around what counts.
const (
	escaped  = 6
	envelope = 64 << 10
)

// leaseMargin is by how much a claim of an Idempotency-Key outlives the longest
// invocation, so that clocks that differ a little do not make two paid calls of one.
const leaseMargin = 6 * time.Second
