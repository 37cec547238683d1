package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Authorizer is a JWT authorizer whose identity source is the header Authorization. What
// it checks is from
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html:
// a signature of the RSA family by the key of the issuer that kid names; iss; aud, or
// client_id where there is no aud; exp, nbf and iat; and of the scopes in scope or scp
// one that the route asks for.
//
// A request without a good token is answered 401 and the handler does not see it, so
// there is no route on which signing in is optional.
type Authorizer struct {
	Issuer   string   // iss has to be this, byte for byte
	Audience []string // aud or client_id has to be one of these
	Scopes   []string // one of these has to be in the token; none: any token will do
	Keys     KeySource
}

// KeySource returns the keys that the issuer signs with. kid is the one that is looked
// for, which a source that remembers keys may take as a reason to ask again.
type KeySource func(ctx context.Context, kid string) (*jose.JSONWebKeySet, error)

// algorithms are the signatures that are accepted: "only RSA-based algorithms". None of
// them can be made with the public key, as an HMAC could.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512}

// refusal is what a request without a good token is answered.
type refusal struct {
	status      int
	description string // empty: there is no token
	cause       error  // for the log; never has the token
}

// authorize checks the token of a request.
func (a *Authorizer) authorize(r *http.Request, now time.Time) (*events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription, *refusal) {
	// A header that is sent twice is one wrong value, as everywhere.
	token := strings.Join(r.Header.Values("Authorization"), ",")
	if scheme, rest, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	if token == "" {
		return nil, &refusal{status: http.StatusUnauthorized}
	}
	invalid := func(description string, cause error) (*events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription, *refusal) {
		return nil, &refusal{http.StatusUnauthorized, description, cause}
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return invalid("the token is malformed or has an unsupported algorithm", errors.New("not a signed token, or not with RSA"))
	}
	key, err := a.key(r.Context(), parsed.Headers[0])
	if err != nil {
		return invalid("the token's key is unknown", err)
	}
	var std jwt.Claims
	var own struct {
		ClientID string          `json:"client_id"`
		Scope    json.RawMessage `json:"scope"`
		Scp      json.RawMessage `json:"scp"`
	}
	var raw map[string]json.RawMessage
	if err := parsed.Claims(key, &std, &own, &raw); err != nil {
		return invalid("the signature is invalid", err)
	}
	switch err := std.ValidateWithLeeway(jwt.Expected{Issuer: a.Issuer, Time: now}, 0); {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return invalid("the token does not have a valid issuer", err)
	case std.Expiry == nil || !now.Before(std.Expiry.Time()):
		return invalid("the token has expired", jwt.ErrExpired)
	case err != nil:
		return invalid("the token is not valid yet", err)
	}
	audience := []string(std.Audience)
	if raw["aud"] == nil {
		audience = []string{own.ClientID}
	}
	if !slices.ContainsFunc(audience, func(s string) bool { return s != "" && slices.Contains(a.Audience, s) }) {
		return invalid("the token does not have a valid audience", jwt.ErrInvalidAudience)
	}
	scopes := append(scopeList(own.Scope), scopeList(own.Scp)...)
	if len(a.Scopes) > 0 && !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(a.Scopes, s) }) {
		return nil, &refusal{http.StatusForbidden, "the token has none of the route's scopes", errors.New("no scope of the route")}
	}
	claims, err := claimStrings(raw)
	if err != nil {
		return invalid("the claims cannot be read", err)
	}
	out := &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims}
	if len(a.Scopes) > 0 {
		out.Scopes = scopes
	}
	return out, nil
}

// key returns the issuer's RSA key that the token names.
func (a *Authorizer) key(ctx context.Context, header jose.Header) (*jose.JSONWebKey, error) {
	if header.KeyID == "" {
		return nil, errors.New("the token names no key (kid)")
	}
	set, err := a.Keys(ctx, header.KeyID)
	if err != nil {
		return nil, err
	}
	for _, k := range set.Key(header.KeyID) {
		if k.Use != "enc" && (k.Algorithm == "" || k.Algorithm == header.Algorithm) {
			return &k, nil
		}
	}
	return nil, fmt.Errorf("the issuer has no such key for %s", header.Algorithm)
}

// scopeList reads scopes, which stand in a token as one text or as a list.
func scopeList(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.Fields(text)
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// refuse answers as the real one does: the body says nothing, the header says why. Which
// descriptions there are is not documented, except one.
func refuse(w http.ResponseWriter, log *slog.Logger, a *Authorizer, no *refusal) {
	challenge, text := "Bearer", "Unauthorized"
	if no.description != "" {
		code := "invalid_token"
		if no.status == http.StatusForbidden {
			code, text = "insufficient_scope", "Forbidden"
		}
		challenge = fmt.Sprintf(`Bearer scope="%s" error="%s" error_description="%s"`, strings.Join(a.Scopes, " "), code, no.description)
		log.Info("the authorizer refused a token", "reason", no.description, "cause", no.cause)
	}
	w.Header().Set("WWW-Authenticate", challenge)
	message(w, no.status, text)
}
