// Package auth is about signed-in callers: which routes of the HTTP API have its JWT
// authorizer, and who a request's verified claims stand for.
//
// API Gateway verifies the token and writes its claims into the event; nothing else is
// ever read to find a user, no header and no token. A route has the authorizer or it has
// not, and one that has refuses a request without a good token. So where anonymous
// callers are allowed there are two sets of routes, which lead to the same endpoints:
// the signed-in ones begin with [Prefix].
package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/identity"
)

// Config is what the operator's file says about signed-in callers.
type Config struct {
	Issuer   string   // whose tokens are accepted: the claim iss, byte for byte
	Audience []string // for whom they were issued: aud, or client_id where there is no aud
	Scopes   []string // one of these has to be in the token; none: any token will do

	// Anonymous lets callers without a token in, counted by address.
	Anonymous bool

	UserClaim string // names the user within the issuer, such as sub
	TierClaim string // names the tier; empty: everybody has the Default
	Default   string // the tier of a user whose claim names none; empty: refused
	Tiers     []Tier
}

// Tier is one kind of signed-in callers.
type Tier struct {
	Name  string
	Claim string // the value of the tier claim that stands for it; empty: only as the default
	Cap   caps.Cap
}

// Prefix is where the signed-in routes are.
const Prefix = "/api/u/"

// Route is one route of the HTTP API.
type Route struct {
	Key      string // such as "$default" or "ANY /api/u/{proxy+}"
	SignedIn bool   // it has the authorizer
}

// Routes are those of the HTTP API. Of a nil Config it is one, which is open.
//
// A preflight request carries no token, so OPTIONS is always open
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html).
func (c *Config) Routes() []Route {
	switch {
	case c == nil:
		return []Route{{Key: "$default"}}
	case c.Anonymous:
		return []Route{{Key: "$default"}, {"ANY " + Prefix + "{proxy+}", true}, {Key: "OPTIONS " + Prefix + "{proxy+}"}}
	default:
		return []Route{{"$default", true}, {Key: "OPTIONS /{proxy+}"}}
	}
}

// Path returns the path of the endpoint that a request is for, and whether it came in
// on one of the signed-in paths.
func Path(raw string) (path string, signedIn bool) {
	if rest, ok := strings.CutPrefix(raw, Prefix); ok {
		return "/api/" + rest, true
	}
	return raw, false
}

// Claims returns the claims that the authorizer of the request's route has verified;
// false if there are none.
func Claims(event *events.APIGatewayV2HTTPRequest) (map[string]string, bool) {
	a := event.RequestContext.Authorizer
	if a == nil || a.JWT == nil {
		return nil, false
	}
	return a.JWT.Claims, true
}

// ErrNoTier says that the claims name no tier, and that there is no default.
var ErrNoTier = errors.New("the claims name no tier")

// User returns who verified claims stand for and the name of the tier. The error is
// [ErrNoTier] or wraps [caps.ErrNoIdentity]; it never has a claim in it.
func (c *Config) User(claims map[string]string) (user caps.Caller, tier string, err error) {
	if claims["iss"] != c.Issuer {
		return caps.Caller{}, "", fmt.Errorf("%w: the claim iss is not the issuer of the configuration", caps.ErrNoIdentity)
	}
	if user, err = identity.Subject(claims["iss"], claims[c.UserClaim]); err != nil {
		return caps.Caller{}, "", err
	}
	if tier = c.tier(claims); tier == "" {
		return caps.Caller{}, "", ErrNoTier
	}
	return user, tier, nil
}

// tier returns the first tier of the file that the claim names. The claim may be a list,
// which the gateway writes as [a b].
func (c *Config) tier(claims map[string]string) string {
	if c.TierClaim == "" {
		return c.Default
	}
	value := claims[c.TierClaim]
	named := []string{value}
	if inner, ok := strings.CutPrefix(value, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			named = append(named, strings.Split(inner, " ")...)
		}
	}
	for _, t := range c.Tiers {
		if t.Claim != "" && slices.Contains(named, t.Claim) {
			return t.Name
		}
	}
	return c.Default
}
