package httpapi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-jose/go-jose/v4"

	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
	"github.com/seed3e88d9a2/spendcap/internal/issuertest"
)

// guarded is a gateway with an open route and one with an authorizer, and the event
// that reached the handler last.
type guarded struct {
	http.Handler
	issuer *issuertest.Issuer
	auth   *httpapi.Authorizer
	clock  time.Time
	seen   *events.APIGatewayV2HTTPRequest
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{issuer: issuertest.New(t), clock: now()}
	clock := func() time.Time { return g.clock }
	g.auth = &httpapi.Authorizer{
		Issuer: g.issuer.URL, Audience: []string{"client-0", issuertest.Audience},
		Keys: httpapi.DiscoverKeys(g.issuer.Client, g.issuer.URL, clock),
	}
	g.Handler = httpapi.New(httpapi.Config{
		Now: clock, Logger: slog.New(slog.DiscardHandler),
		Routes: []httpapi.Route{
			{Key: "$default"},
			{Key: "ANY /api/u/{proxy+}", Authorizer: g.auth},
			{Key: "OPTIONS /api/u/{proxy+}"},
		},
		Handler: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			g.seen = &e
			return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
		},
	})
	return g
}

func (g *guarded) ask(method, path string, headers map[string]string) *httptest.ResponseRecorder {
	g.seen = nil
	r := httptest.NewRequest(method, path, nil)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func TestAuthorizerWritesVerifiedClaims(t *testing.T) {
	g := newGuarded(t)
	token := g.issuer.Token(g.issuer.Claims(g.clock, "user-1", map[string]any{
		"cognito:groups": []string{"pro", "staff"}, "email_verified": true, "auth_time": json.Number("1796040000"),
		"ratio": json.Number("1.50"), "big": json.Number("1e21"), "nickname": nil, "address": map[string]any{"country": "DE", "a": []int{1, 2}},
		"empty": []string{}, "scope": "read write", "looks": "[pro staff]",
	}))
	want := map[string]string{
		"iss": g.issuer.URL, "sub": "user-1", "aud": issuertest.Audience, "iat": "1796039940", "exp": "1796043600",
		"cognito:groups": "[pro staff]", "email_verified": "true", "auth_time": "1796040000",
		"ratio": "1.50", "big": "1e21", "address": "map[a:[1 2] country:DE]", "empty": "[]", "scope": "read write", "looks": "[pro staff]",
	}
	for _, value := range []string{"Bearer " + token, "bearer " + token, token} {
		w := g.ask("POST", "/api/u/v1/messages", map[string]string{"Authorization": value})
		if w.Code != 200 || g.seen == nil {
			t.Fatalf("%d %s %s", w.Code, w.Body, w.Header())
		}
		a := g.seen.RequestContext.Authorizer
		if a == nil || a.JWT == nil || !maps.Equal(a.JWT.Claims, want) || a.JWT.Scopes != nil {
			t.Fatalf("%+v, want %v", a, want)
		}
		if g.seen.RouteKey != "ANY /api/u/{proxy+}" || g.seen.RequestContext.RouteKey != g.seen.RouteKey || g.seen.PathParameters["proxy"] != "v1/messages" {
			t.Errorf("route %q, %q, parameters %v", g.seen.RouteKey, g.seen.RequestContext.RouteKey, g.seen.PathParameters)
		}
		if g.seen.Headers["authorization"] != value {
			t.Errorf("authorization %q", g.seen.Headers["authorization"])
		}
	}
}

func TestAuthorizerRefuses(t *testing.T) {
	g := newGuarded(t)
	for name, headers := range g.issuer.Bad(t, g.clock, "user-1", nil) {
		t.Run(name, func(t *testing.T) {
			w := g.ask("POST", "/api/u/v1/messages", headers)
			if w.Code != 401 || w.Body.String() != `{"message":"Unauthorized"}` || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if g.seen != nil {
				t.Error("the handler saw it")
			}
			challenge := w.Header().Get("WWW-Authenticate")
			if value := strings.TrimSpace(strings.TrimPrefix(headers["Authorization"], "Bearer")); value == "" {
				if challenge != "Bearer" {
					t.Errorf("WWW-Authenticate %q", challenge)
				}
			} else if !strings.HasPrefix(challenge, `Bearer scope="" error="invalid_token" error_description="`) {
				t.Errorf("WWW-Authenticate %q", challenge)
			}

			// The open route takes it, and knows nobody.
			if w := g.ask("POST", "/api/v1/messages", headers); w.Code != 200 || g.seen.RequestContext.Authorizer != nil {
				t.Errorf("the open route: %d, authorizer %+v", w.Code, g.seen.RequestContext.Authorizer)
			}
		})
	}
	// The one description that is documented.
	w := g.ask("POST", "/api/u/v1/messages", bearer(g.issuer.Token(g.issuer.Claims(g.clock, "u", map[string]any{"aud": "x"}))))
	if got := w.Header().Get("WWW-Authenticate"); got != `Bearer scope="" error="invalid_token" error_description="the token does not have a valid audience"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
}

func TestAuthorizerAudience(t *testing.T) {
	g := newGuarded(t)
	for name, changes := range map[string]map[string]any{
		"one of several":    {"aud": []string{"x", issuertest.Audience}},
		"another of ours":   {"aud": "client-0"},
		"client_id instead": {"aud": nil, "client_id": issuertest.Audience},
		"aud decides":       {"client_id": "x"},
	} {
		if w := g.ask("GET", "/api/u/cap", bearer(g.issuer.Token(g.issuer.Claims(g.clock, "u", changes)))); w.Code != 200 {
			t.Errorf("%s: %d %s", name, w.Code, w.Header())
		}
	}
}

func TestAuthorizerScopes(t *testing.T) {
	g := newGuarded(t)
	g.auth.Scopes = []string{"chat", "all"}
	for _, c := range []struct {
		name    string
		changes map[string]any
		status  int
	}{
		{"in scope", map[string]any{"scope": "openid chat"}, 200},
		{"in scp as a list", map[string]any{"scp": []string{"chat"}}, 200},
		{"in scp as a text", map[string]any{"scp": "all x"}, 200},
		{"another", map[string]any{"scope": "openid chats"}, 403},
		{"none", nil, 403},
	} {
		w := g.ask("GET", "/api/u/cap", bearer(g.issuer.Token(g.issuer.Claims(g.clock, "u", c.changes))))
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.status)
		}
		if c.status == 403 && (w.Body.String() != `{"message":"Forbidden"}` || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), `Bearer scope="chat all" error="insufficient_scope"`)) {
			t.Errorf("%s: %s %s", c.name, w.Body, w.Header())
		}
		if c.status == 200 && len(g.seen.RequestContext.Authorizer.JWT.Scopes) == 0 {
			t.Errorf("%s: no scopes in the event", c.name)
		}
	}
}

// A key set is remembered; an unknown key makes the issuer be asked again, but not for
// each request.
func TestAuthorizerRemembersKeys(t *testing.T) {
	g := newGuarded(t)
	try := func(kid string, want int, asked int64) {
		t.Helper()
		token := issuertest.Sign(jose.RS256, g.issuer.Key, kid, g.issuer.Claims(g.clock, "u", nil))
		if w := g.ask("GET", "/api/u/cap", bearer(token)); w.Code != want || g.issuer.Asked.Load() != asked {
			t.Fatalf("%s: %d, asked %d times; want %d, %d", kid, w.Code, g.issuer.Asked.Load(), want, asked)
		}
	}
	for range 3 {
		try(issuertest.KeyID, 200, 1)
	}
	g.issuer.Publish(jose.JSONWebKey{Key: g.issuer.Key.Public(), KeyID: "key-2"})
	try("key-2", 401, 1) // asked a moment ago
	g.clock = g.clock.Add(5 * time.Second)
	try("key-2", 200, 2)
	for range 3 {
		try("key-3", 401, 2)
	}
	g.clock = g.clock.Add(2 * time.Hour)
	try("key-2", 200, 3)
}

func TestKeySources(t *testing.T) {
	i := issuertest.New(t)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := jose.JSONWebKey{Key: i.Key.Public(), KeyID: issuertest.KeyID}
	i.Publish(rsaKey, jose.JSONWebKey{Key: ec.Public(), KeyID: "ec"})
	static, err := httpapi.StaticKeys(i.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]httpapi.KeySource{
		"a file": static, "a URL": httpapi.KeysAt(i.Client, i.URL+"/keys", now), "discovery": httpapi.DiscoverKeys(i.Client, i.URL, now),
	} {
		set, err := source(t.Context(), issuertest.KeyID)
		if err != nil || len(set.Keys) != 1 || set.Keys[0].KeyID != issuertest.KeyID {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
	i.Publish(jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: issuertest.KeyID})
	for name, source := range map[string]httpapi.KeySource{
		"a symmetric key":         httpapi.KeysAt(i.Client, i.URL+"/keys", now),
		"nothing there":           httpapi.KeysAt(i.Client, i.URL+"/nothing", now),
		"not a set":               httpapi.KeysAt(i.Client, i.URL+"/.well-known/openid-configuration", now),
		"another issuer's":        httpapi.DiscoverKeys(i.Client, i.URL+"/", now),
		"no openid-configuration": httpapi.DiscoverKeys(i.Client, i.URL+"/realm", now),
	} {
		if _, err := source(t.Context(), issuertest.KeyID); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := httpapi.StaticKeys([]byte(`{"keys":[]}`)); err == nil {
		t.Error("an empty set: no error")
	}
}
