package auth_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/identity"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
)

const issuer = "https://issuer.example.com"

func config() *auth.Config {
	return &auth.Config{
		Issuer: issuer, UserClaim: "sub", TierClaim: "groups", Default: "free",
		Tiers: []auth.Tier{{Name: "free"}, {Name: "team", Claim: "team"}, {Name: "paid", Claim: "pro"}},
	}
}

func TestTier(t *testing.T) {
	for claim, want := range map[string]string{
		"": "free", "pro": "paid", "team": "team", "[pro]": "paid", "[staff pro]": "paid",
		"[pro team]": "team", // the first in the file
		"paid":       "free", // the claim's value counts, not the tier's name
		"Pro":        "free", " pro": "free", "pro team": "free", "[pro": "free", "pro]": "free", "[]": "free",
		"map[pro:true]": "free", "[[pro]]": "free", "[a,pro]": "free",
	} {
		if _, tier, err := config().User(map[string]string{"iss": issuer, "sub": "u", "groups": claim}); tier != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", claim, tier, err, want)
		}
	}
	strict := config()
	strict.Default = ""
	for _, claims := range []map[string]string{{"iss": issuer, "sub": "u"}, {"iss": issuer, "sub": "u", "groups": "gold"}} {
		if user, _, err := strict.User(claims); !errors.Is(err, auth.ErrNoTier) || !user.IsZero() {
			t.Errorf("%v: %v, %v", claims, user, err)
		}
	}
	everybody := config()
	everybody.TierClaim = ""
	if _, tier, err := everybody.User(map[string]string{"iss": issuer, "sub": "u", "groups": "pro", "": "pro"}); tier != "free" || err != nil {
		t.Errorf("without a tier claim: %q, %v", tier, err)
	}
}

func TestUser(t *testing.T) {
	c := config()
	c.UserClaim = "email"
	user, _, err := c.User(map[string]string{"iss": issuer, "sub": "u", "email": "a@example.com"})
	if want, _ := identity.Subject(issuer, "a@example.com"); user != want || err != nil {
		t.Errorf("%v, %v", user, err)
	}
	for _, claims := range []map[string]string{
		nil, {"iss": issuer, "sub": "u"}, {"iss": issuer, "email": ""}, {"iss": issuer, "email": " a"},
		{"email": "a"}, {"iss": issuer + "/", "email": "a"},
	} {
		if user, _, err := c.User(claims); !errors.Is(err, caps.ErrNoIdentity) || !user.IsZero() {
			t.Errorf("%v: %v, %v", claims, user, err)
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		config *auth.Config
		want   []auth.Route
	}{
		{nil, []auth.Route{{Key: "$default"}}},
		{&auth.Config{Anonymous: true}, []auth.Route{{Key: "$default"}, {Key: "ANY /api/u/{proxy+}", SignedIn: true}, {Key: "OPTIONS /api/u/{proxy+}"}}},
		{&auth.Config{}, []auth.Route{{Key: "$default", SignedIn: true}, {Key: "OPTIONS /{proxy+}"}}},
	} {
		if got := c.config.Routes(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.config, got, c.want)
		}
	}
}

func TestPath(t *testing.T) {
	for raw, want := range map[string]struct {
		path     string
		signedIn bool
	}{
		"/api/v1/messages": {"/api/v1/messages", false}, "/api/u/v1/messages": {"/api/v1/messages", true}, "/api/u/cap": {"/api/cap", true},
		"/api/u/u/cap": {"/api/u/cap", true}, "/api/u": {"/api/u", false}, "/api/U/cap": {"/api/U/cap", false}, "//api/u/cap": {"//api/u/cap", false},
	} {
		if path, signedIn := auth.Path(raw); path != want.path || signedIn != want.signedIn {
			t.Errorf("%s: %s, %v", raw, path, signedIn)
		}
	}
}

func TestClaims(t *testing.T) {
	event := new(events.APIGatewayV2HTTPRequest)
	if _, ok := auth.Claims(event); ok {
		t.Error("claims without an authorizer")
	}
	// What an authorizer of another kind writes is not a verified token.
	event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: map[string]any{"sub": "u"}}
	if _, ok := auth.Claims(event); ok {
		t.Error("claims of a Lambda authorizer")
	}
	event.RequestContext.Authorizer.JWT = &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "u"}}
	if claims, ok := auth.Claims(event); !ok || claims["sub"] != "u" {
		t.Error(claims, ok)
	}
}

// An event as API Gateway sends it, from its documentation of format 2.0.
func TestClaimsOfAnEvent(t *testing.T) {
	var event events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal([]byte(`{"version":"2.0","routeKey":"ANY /api/u/{proxy+}","rawPath":"/api/u/cap","headers":{"authorization":"Bearer x"},
		"requestContext":{"accountId":"123456789012","authorizer":{"jwt":{"claims":{"iss":"https://issuer.example.com","sub":"u","groups":"[staff pro]","exp":"1796043600","email_verified":"true"},"scopes":null}},
		"http":{"method":"GET","path":"/api/u/cap"},"routeKey":"ANY /api/u/{proxy+}","stage":"$default"},"pathParameters":{"proxy":"cap"},"isBase64Encoded":false}`), &event); err != nil {
		t.Fatal(err)
	}
	claims, ok := auth.Claims(&event)
	if !ok {
		t.Fatal("no claims")
	}
	if _, tier, err := config().User(claims); tier != "paid" || err != nil {
		t.Errorf("%q, %v", tier, err)
	}
}
