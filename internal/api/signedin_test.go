package api_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
)

// signedIn adds claims as the authorizer of a route writes them.
func signedIn(e events.APIGatewayV2HTTPRequest, claims map[string]string) events.APIGatewayV2HTTPRequest {
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims},
	}
	return e
}

var anna = map[string]string{"iss": "https://issuer.example.com", "sub": "anna"}

// withAuth gives signed-in callers a guard of their own, with a cap of 7 calls.
func withAuth(anonymous bool) func(*api.Config) {
	return func(c *api.Config) {
		c.Auth = &auth.Config{Issuer: anna["iss"], Anonymous: anonymous, UserClaim: "sub", Default: "free", Tiers: []auth.Tier{{Name: "free"}}}
		keyer, err := caps.NewKeyer([]byte(hmacKey))
		if err != nil {
			panic(err)
		}
		guard, err := caps.NewGuard(caps.Config{Store: &countingStore{}, Keyer: keyer, Caller: caps.Budget{Name: "user", Cap: caps.Calls(7)}})
		if err != nil {
			panic(err)
		}
		c.Tiers = map[string]*caps.Guard{"free": guard}
	}
}

// What the caller step answers, also where a route of the gateway is missing or open by
// mistake: then there are no claims, and it fails closed.
func TestCallerStepOfSignedInCallers(t *testing.T) {
	const notSignedIn = `{"error":"not_signed_in"}`
	for _, c := range []struct {
		name      string
		anonymous bool
		method    string
		path      string
		claims    map[string]string // nil: no authorizer
		status    int
		body      string // a part
	}{
		{"anonymous", true, "GET", "/api/cap", nil, 200, `"countedAs":"198.51.100.10"`},
		{"no claims on a signed-in path", true, "GET", "/api/u/cap", nil, 401, notSignedIn},
		{"no claims where anonymous is refused", false, "GET", "/api/cap", nil, 401, notSignedIn},
		{"no claims on either", false, "GET", "/api/u/cap", nil, 401, notSignedIn},
		{"nothing there and no claims", false, "GET", "/api/nothing", nil, 401, notSignedIn},
		{"preflight", false, "OPTIONS", "/api/cap", nil, 204, ""},
		{"preflight on a signed-in path", true, "OPTIONS", "/api/u/cap", nil, 204, ""},
		{"no sub", true, "GET", "/api/u/cap", map[string]string{"iss": anna["iss"]}, 401, `{"error":"no_user"}`},
		{"another issuer", true, "GET", "/api/u/cap", map[string]string{"iss": "https://other.example.com", "sub": "anna"}, 401, `{"error":"no_user"}`},
		{"empty claims", false, "GET", "/api/cap", map[string]string{}, 401, `{"error":"no_user"}`},
		{"not a signed-in path", true, "GET", "/api/uu/cap", nil, 404, "not_found"},
	} {
		s := newSystem(t, withAuth(c.anonymous))
		e := event(c.method, c.path)
		if c.claims != nil {
			e = signedIn(e, c.claims)
		}
		if res := s.send(t, e); res.StatusCode != c.status || !strings.Contains(res.Body, c.body) {
			t.Errorf("%s: %d %s, want %d %s", c.name, res.StatusCode, res.Body, c.status, c.body)
		}
		if strings.Contains(s.log.String(), "anna") {
			t.Errorf("%s: the log names the user: %s", c.name, s.log)
		}
	}
	// An address is needed all the same.
	s := newSystem(t, withAuth(true))
	e := signedIn(event("GET", "/api/u/cap"), anna)
	delete(e.Headers, "cloudfront-viewer-address")
	want(t, s.send(t, e), 401, `{"error":"no_viewer_address"}`)
}

// Without auth in the file an authorizer's claims are nobody's business.
func TestClaimsWithoutAuth(t *testing.T) {
	s := newSystem(t)
	if res := s.send(t, signedIn(event("GET", "/api/cap"), anna)); res.StatusCode != 200 || !strings.Contains(res.Body, `"countedAs":"198.51.100.10"`) {
		t.Errorf("%d %s", res.StatusCode, res.Body)
	}
	want(t, s.send(t, signedIn(event("GET", "/api/u/cap"), anna)), 404, `{"error":"not_found"}`)
}

func TestNewWantsAGuardForEachTier(t *testing.T) {
	s := newSystem(t)
	c := s.Config
	withAuth(true)(&c)
	c.Tiers = nil
	if _, err := api.New(c); err == nil || !strings.Contains(err.Error(), "no guard for the tier free") {
		t.Errorf("%v", err)
	}
}
