package rotation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// Secrets is the part of the AWS SDK's Secrets Manager client that is used.
type Secrets interface {
	DescribeSecret(context.Context, *secretsmanager.DescribeSecretInput, ...func(*secretsmanager.Options)) (*secretsmanager.DescribeSecretOutput, error)
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
	UpdateSecretVersionStage(context.Context, *secretsmanager.UpdateSecretVersionStageInput, ...func(*secretsmanager.Options)) (*secretsmanager.UpdateSecretVersionStageOutput, error)
}

// Distributions is the part of the AWS SDK's CloudFront client that is used.
type Distributions interface {
	GetDistribution(context.Context, *cloudfront.GetDistributionInput, ...func(*cloudfront.Options)) (*cloudfront.GetDistributionOutput, error)
	GetDistributionConfig(context.Context, *cloudfront.GetDistributionConfigInput, ...func(*cloudfront.Options)) (*cloudfront.GetDistributionConfigOutput, error)
	UpdateDistribution(context.Context, *cloudfront.UpdateDistributionInput, ...func(*cloudfront.Options)) (*cloudfront.UpdateDistributionOutput, error)
}

// Defaults of [Config].
const (
	// DefaultSpread is the longest that a lock may go without having heard of a new
	// secret, and a margin for the clocks and for a call that began just before.
	DefaultSpread = originlock.MaxTTL + originlock.DefaultTimeout + 12*time.Second

	// DefaultPatience is below the 15 minutes that a Lambda has at most.
	DefaultPatience = 12 * time.Minute

	DefaultGrace   = time.Hour
	DefaultOverdue = 24 * time.Hour
)

// Config is what a [Rotation] is made from. A duration that is 0 has its default.
type Config struct {
	Secrets       Secrets
	Distributions Distributions

	SecretARN      string   // the secret that may be rotated; a call for another one is refused
	DistributionID string   // the distribution that sends it
	OriginIDs      []string // its origins that send it; each has to have the header already

	// EdgeURL is asked with GET through the edge after its secret has changed. It has to
	// be behind the origin lock and cost nothing, such as https://.../api/cap.
	EdgeURL string

	// SideDoorURL is the same at the origin itself. It is asked with the new secret
	// before the edge sends it, and with that a secret that the origin refuses never
	// gets to the edge. Empty: not asked.
	SideDoorURL string

	Spread   time.Duration // how long locks may need to accept a new secret
	Patience time.Duration // how long one call waits for the edge to be deployed
	Grace    time.Duration // how long the old secret stays accepted after the rotation
	Overdue  time.Duration // how old a rotation may be before StepRetire reports it

	HTTP  *http.Client                               // for the two URLs; nil: a client that follows no redirect
	Log   *slog.Logger                               // nil: none
	Now   func() time.Time                           // nil: time.Now
	Sleep func(context.Context, time.Duration) error // nil: a timer, ended early by the context
}

// Rotation carries out the steps. It is safe for concurrent use. Make it with [New].
type Rotation struct{ c Config }

// New checks the configuration. An error names the field.
func New(c Config) (*Rotation, error) {
	missing := func(field string) error { return fmt.Errorf("rotation.Config.%s is missing", field) }
	switch {
	case c.Secrets == nil:
		return nil, missing("Secrets")
	case c.Distributions == nil:
		return nil, missing("Distributions")
	case c.SecretARN == "":
		return nil, missing("SecretARN")
	case c.DistributionID == "":
		return nil, missing("DistributionID")
	case len(c.OriginIDs) == 0:
		return nil, missing("OriginIDs")
	case c.EdgeURL == "":
		return nil, missing("EdgeURL")
	}
	for _, id := range c.OriginIDs {
		if id == "" {
			return nil, errors.New("rotation.Config.OriginIDs has an empty one: remove it")
		}
	}
	for field, address := range map[string]string{"EdgeURL": c.EdgeURL, "SideDoorURL": c.SideDoorURL} {
		if address == "" {
			continue
		}
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, fmt.Errorf("rotation.Config.%s is not a URL such as https://www.example.com/api/cap", field)
		}
	}
	for _, d := range []struct {
		field    string
		value    *time.Duration
		fallback time.Duration
	}{
		{"Spread", &c.Spread, DefaultSpread},
		{"Patience", &c.Patience, DefaultPatience},
		{"Grace", &c.Grace, DefaultGrace},
		{"Overdue", &c.Overdue, DefaultOverdue},
	} {
		if *d.value < 0 {
			return nil, fmt.Errorf("rotation.Config.%s is negative: leave it 0 for %v", d.field, d.fallback)
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{
			Timeout:       15 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return &Rotation{c}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
