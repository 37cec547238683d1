package infra

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"regexp"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/bundle"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// Props are the settings of a deployment. The zero Props deploy ./spendcap.yaml.
type Props struct {
	// ConfigFile is the operator's file, spendcap.yaml in the current folder if empty.
	// With a Handler of one's own it is not read unless it is given.
	ConfigFile string

	// Handler is one's own function, to be put in the place of the one that comes with
	// spendcap. It gets events of payload format 2.0, the permissions and the environment
	// of the built-in one, and has to ask the origin lock itself (package originlock).
	Handler awslambda.Function

	// ProviderSecretARN is the complete ARN of an existing secret that holds the
	// provider's API key. Needed with the providers openai and anthropic, and only there.
	ProviderSecretARN string

	// SignIn puts the JWT authorizer on routes that lead to a Handler of one's own. With the
	// built-in one the file's section auth does it.
	SignIn *SignIn

	// AlarmEmail gets the alarms, once its owner has confirmed the subscription. Empty:
	// the alarms go to the topic and nobody reads them.
	AlarmEmail string

	// DeleteTable lets the table of the counts be deleted with the stack. Without it
	// the table is protected and stays.
	DeleteTable bool

	// MonthlyBudgetUSD is the amount at which AWS Budgets reports the bill of the account,
	// the last resort. 0: what the ceiling allows in a month of 31 days where AWS itself
	// bills the model, and 10 for the rest.
	MonthlyBudgetUSD float64

	// RequestsPerSecond and Burst are the fuse of the HTTP API, for everybody together.
	// 0: 50 and 100.
	RequestsPerSecond, Burst int

	// LogDays is how long logs are kept, one of the numbers of days that CloudWatch Logs
	// knows. 0: 30.
	LogDays int

	// RotationDays is how often the origin secret is rotated. 0: 30.
	RotationDays int

	// Service tells the metrics of two deployments in one account apart. Empty: spendcap.
	Service string

	// DomainNames and Certificate, of us-east-1, put the site under names of one's own.
	DomainNames []string
	Certificate awscertificatemanager.ICertificate

	// Existing is a distribution of one's own that takes the place of the one that comes
	// with spendcap; there is then no demo page either. See docs/existing-distribution.md.
	Existing *Existing

	// Architecture is arm64 or amd64. Empty: arm64, which costs less.
	Architecture string

	// Lambdas is a folder in which package bundle has built all functions. Empty: they
	// are built now, with the Go command.
	Lambdas string
}

// Existing is a distribution that is not part of the deployment. It already has an
// origin with the id spendcap-api that leads to the side door and sends X-Origin-Verify
// with the current secret.
type Existing struct {
	DistributionID string // such as E2EXAMPLE3KBJ
	URL            string // of its site, such as https://www.example.com
}

// SignIn says whose tokens the HTTP API accepts, and on which routes. The handler finds
// the verified claims in the event, in requestContext.authorizer.jwt.claims.
type SignIn struct {
	Issuer   string   // such as https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example
	Audience []string // for whom the tokens are issued: aud, or client_id where there is no aud
	Scopes   []string // one of these has to be in the token; none: any token will do

	// Anonymous leaves all routes open but those that begin with /api/u/. Without it all
	// routes ask for a token.
	Anonymous bool
}

// settings are checked Props.
type settings struct {
	Props
	config  *config.Config // nil with a handler of one's own and no file
	content []byte         // of the file
}

func (p Props) check() (settings, error) {
	s := settings{Props: p}
	fallback := func(value *int, n int) {
		if *value == 0 {
			*value = n
		}
	}
	fallback(&s.RequestsPerSecond, 50)
	fallback(&s.Burst, 100)
	fallback(&s.LogDays, 30)
	fallback(&s.RotationDays, 30)
	if s.Service == "" {
		s.Service = metrics.DefaultService
	}
	if s.Architecture == "" {
		s.Architecture = bundle.ARM64
	}
	if s.ConfigFile == "" && s.Handler == nil {
		s.ConfigFile = bundle.ConfigName
	}
	if s.ConfigFile != "" {
		var err error
		if s.config, err = config.LoadFile(s.ConfigFile); err != nil {
			return s, err
		}
		if s.content, err = os.ReadFile(s.ConfigFile); err != nil {
			return s, err
		}
	}

	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("infra.Props.%s %s", field, fmt.Sprintf(format, args...)))
	}
	if s.RequestsPerSecond < 0 || s.Burst < 0 {
		bad("RequestsPerSecond", "and Burst cannot be negative: leave them 0 for 50 and 100")
	}
	if _, known := retention[s.LogDays]; !known {
		bad("LogDays", "is %d, which CloudWatch Logs does not offer: 7, 14, 30, 60, 90, 180 or 365", s.LogDays)
	}
	if s.RotationDays < 1 || s.RotationDays > 1000 {
		bad("RotationDays", "is not between 1 and 1000")
	}
	if s.MonthlyBudgetUSD < 0 || math.IsNaN(s.MonthlyBudgetUSD) || math.IsInf(s.MonthlyBudgetUSD, 0) {
		bad("MonthlyBudgetUSD", "is not an amount of dollars")
	}
	if s.AlarmEmail != "" && !email.MatchString(s.AlarmEmail) {
		bad("AlarmEmail", "is not an e-mail address")
	}
	if s.Architecture != bundle.ARM64 && s.Architecture != bundle.AMD64 {
		bad("Architecture", "is neither arm64 nor amd64")
	}
	if (len(s.DomainNames) == 0) != (s.Certificate == nil) {
		bad("DomainNames", "and Certificate go together: give both or none")
	}
	if e := s.Existing; e != nil {
		if !distributionID.MatchString(e.DistributionID) {
			bad("Existing.DistributionID", "is not one such as E2EXAMPLE3KBJ")
		}
		if !siteURL.MatchString(e.URL) {
			bad("Existing.URL", "is not one such as https://www.example.com, without a path")
		}
		if len(s.DomainNames) > 0 {
			bad("DomainNames", "are those of the existing distribution: set them there")
		}
	}
	if s.SignIn != nil && s.Handler == nil {
		bad("SignIn", "is for a handler of one's own: write the section auth into the file instead")
	}
	if a := s.signIn(); a != nil {
		if u, err := url.Parse(a.Issuer); err != nil || u.Scheme != "https" || u.Host == "" || len(a.Audience) == 0 {
			bad("SignIn", "or auth in the file: API Gateway needs an issuer that it can reach with https, and an audience")
		}
	}
	if !service.MatchString(s.Service) {
		bad("Service", "has to be 1 to 100 letters, digits, hyphens or underscores")
	}
	switch keyed := s.needsKey(); {
	case keyed && s.ProviderSecretARN == "":
		bad("ProviderSecretARN", "is missing: llm.provider %s needs an API key; store it with `aws secretsmanager create-secret` and give the ARN", s.config.LLM.Provider)
	case !keyed && s.Handler == nil && s.ProviderSecretARN != "":
		bad("ProviderSecretARN", "is given and no provider of the file needs a key: remove it")
	case s.ProviderSecretARN != "" && !secretARN.MatchString(s.ProviderSecretARN):
		bad("ProviderSecretARN", "is not the complete ARN of a secret, with the six characters at its end")
	}
	return s, errors.Join(errs...)
}

var (
	distributionID = regexp.MustCompile(`^E[A-Z0-9]{5,20}$`)
	siteURL        = regexp.MustCompile(`^https://[A-Za-z0-9.-]+$`)
	email          = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
	service        = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
	secretARN      = regexp.MustCompile(`^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$`)
)

// signIn is who signs in, nil if nobody does.
func (s settings) signIn() *auth.Config {
	if p := s.SignIn; p != nil {
		return &auth.Config{Issuer: p.Issuer, Audience: p.Audience, Scopes: p.Scopes, Anonymous: p.Anonymous}
	}
	if s.config == nil {
		return nil
	}
	return s.config.Auth
}

func (s settings) provider() string {
	if s.config == nil || s.config.LLM == nil {
		return ""
	}
	return s.config.LLM.Provider
}

func (s settings) needsKey() bool {
	return s.provider() == llm.ProviderOpenAI || s.provider() == llm.ProviderAnthropic
}

// bedrockModels are the ids of the models that Bedrock is asked for.
func (s settings) bedrockModels() []string {
	if s.provider() != llm.ProviderBedrock {
		return nil
	}
	var ids []string
	for _, m := range s.config.LLM.Models {
		id := m.Upstream
		if id == "" {
			id = m.Name
		}
		ids = append(ids, id)
	}
	return ids
}

// budget is the monthly amount, in dollars.
func (s settings) budget() float64 {
	if s.MonthlyBudgetUSD > 0 {
		return s.MonthlyBudgetUSD
	}
	const rest = 10
	if s.provider() != llm.ProviderBedrock {
		return rest
	}
	ceiling, limited := s.config.Global.Cap.USD()
	if !limited {
		return rest
	}
	return rest + math.Ceil(31*float64(ceiling)/1e6)
}
