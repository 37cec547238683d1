package assemble

import (
	"log/slog"

	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// rates are the limits on bursts that the file has.
func rates(p Parts, logger *slog.Logger) (*api.Rates, error) {
	limiter, err := ratelimit.New(ratelimit.Config{Store: p.Rates, Logger: logger, Observe: metrics.RateLimit, Now: p.Now})
	if err != nil {
		return nil, err
	}
	return &api.Rates{Rules: p.Config.RateLimits, Limiter: limiter, Keyer: p.Keyer}, nil
}
