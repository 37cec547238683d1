// Package api is the request path of the guarded API: from an event of the API
// Gateway HTTP API to its answer. The order of the steps stands in path.go.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Config is what a [Handler] is made from.
type Config struct {
	Lock *originlock.Lock
	Mask caps.Mask   // which addresses are one caller
	Demo *caps.Guard // counts POST /api/demo/cap; nil: there is no such endpoint
	Paid *caps.Guard // guards the paid calls, and answers GET /api/cap; nil: there are none

	// Auth says who is signed in; nil: nobody. Tiers has the guard of each of its tiers, in
	// the place of Paid for signed-in callers.
	Auth  *auth.Config
	Tiers map[string]*caps.Guard

	// KeysInForce is asked before a caller is counted. An error means that the callers'
	// keys may not be those of today. nil: they never change.
	KeysInForce func(context.Context) error

	LLM          *llm.Service        // makes the paid calls; nil: there are none
	MaxBodyBytes int                 // of a paid call's request, decoded
	Idempotency  *idempotency.Keeper // nil: Idempotency-Key is ignored

	// Control tells what the operator has stopped and whom it has blocked; nil: nothing and
	// nobody. The guards' caps in force are its too.
	Control *control.Watcher

	Rates *Rates // limits on bursts; nil: there are none

	// Sealed keeps the addresses of blocked callers for the operator; nil: none are kept.
	Sealed *sealed.Keeper

	// AllowedOrigins may call from a browser on another site, as exact origins such as
	// https://example.com. The site behind the same edge needs no entry.
	AllowedOrigins []string

	Metrics *metrics.Metrics // nil: none are written
	Logger  *slog.Logger     // nil: slog.Default()
	Now     func() time.Time // nil: time.Now
}

// Handler answers requests. It is safe for concurrent use.
type Handler struct {
	Config
	routes  map[string]route
	origins map[string]bool
}

// New returns a handler, or an error that names what is missing.
func New(c Config) (*Handler, error) {
	if c.Lock == nil {
		return nil, errors.New("api.Config.Lock is missing: without it the side door would be open")
	}
	if c.Demo == nil && c.Paid == nil {
		return nil, errors.New("api.Config has neither Demo nor Paid: there is nothing to guard")
	}
	if c.LLM != nil && (c.Paid == nil || c.MaxBodyBytes < 1) {
		return nil, errors.New("api.Config.LLM needs Paid and MaxBodyBytes: without a guard every call would be free")
	}
	if c.Auth != nil && c.Paid != nil {
		for _, t := range c.Auth.Tiers {
			if c.Tiers[t.Name] == nil {
				return nil, fmt.Errorf("api.Config.Tiers has no guard for the tier %s: every call of it would be free", t.Name)
			}
		}
	}
	if c.Rates != nil {
		if err := c.Rates.check(); err != nil {
			return nil, err
		}
	}
	if err := c.Mask.Check(); err != nil {
		return nil, fmt.Errorf("api.Config.Mask: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &Handler{Config: c, origins: make(map[string]bool, len(c.AllowedOrigins))}
	for _, origin := range c.AllowedOrigins {
		h.origins[origin] = true
	}
	h.routes = h.routeTable()
	return h, nil
}

// request is one request on its way.
type request struct {
	*Handler
	event   *events.APIGatewayV2HTTPRequest
	metrics *metrics.Request
	log     *slog.Logger

	// From the caller step on.
	caller  caps.Caller // who is counted: the address, or the signed-in user
	address caps.Caller
	tier    string      // of a signed-in user
	guard   *caps.Guard // of the caller's paid calls
	path    string      // of the endpoint, the same for signed-in callers

	steps []step // of the endpoint, from the route step on
	paid  paid   // of a guarded call

	demo *caps.Reservation  // of a demo call, from the count step on
	stop *control.Stop      // told to whoever reads its own bucket
	rate ratelimit.Decision // from the rate limit step on
}

// Handle answers one event. The error is always nil: whatever goes wrong is an
// answer, because an error would make API Gateway write one of its own. A panic is
// answered 500, and what was reserved stays held.
func (h *Handler) Handle(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	r := &request{Handler: h, event: &event, metrics: h.Metrics.Request()}
	r.log = h.Logger.With("gatewayRequestId", event.RequestContext.RequestID)
	ctx = metrics.NewContext(ctx, r.metrics)
	defer r.metrics.Flush()

	a := r.walk(ctx)
	r.addRate(a)
	r.addCORS(a)
	return a.response(), nil
}

func (r *request) walk(ctx context.Context) (a *answer) {
	defer func() {
		if p := recover(); p != nil {
			// The value may quote what it was working on, so only its type is logged.
			r.log.ErrorContext(ctx, "panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			a = failure(500, "internal_error")
		}
	}()
	for _, s := range gate {
		if a := s.run(r, ctx); a != nil {
			return a
		}
	}
	for _, s := range r.steps {
		if a := s.run(r, ctx); a != nil {
			return a
		}
	}
	panic("the last step of an endpoint gave no answer")
}
