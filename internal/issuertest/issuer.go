// Package issuertest plays an OpenID Connect issuer for tests: it draws RSA keys, serves
// its discovery document and key set on loopback, and signs tokens, good and bad.
package issuertest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// KeyID is the kid of the key that the issuer signs with.
const KeyID = "key-1"

// Issuer is one issuer. Its keys are new with every one.
type Issuer struct {
	URL    string // iss
	Client *http.Client
	Key    *rsa.PrivateKey
	Asked  atomic.Int64 // how often its key set was asked for

	set atomic.Pointer[jose.JSONWebKeySet]
}

// New starts an issuer, which ends with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{Key: DrawKey(t)}
	i.Publish(jose.JSONWebKey{Key: i.Key.Public(), KeyID: KeyID, Algorithm: string(jose.RS256), Use: "sig"})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Asked.Add(1)
		w.Write(i.JWKS())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL, i.Client = server.URL, server.Client()
	return i
}

// DrawKey returns a new RSA key.
func DrawKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Publish replaces the key set.
func (i *Issuer) Publish(keys ...jose.JSONWebKey) {
	i.set.Store(&jose.JSONWebKeySet{Keys: keys})
}

// JWKS returns the key set in the form in which it is served.
func (i *Issuer) JWKS() []byte {
	b, err := json.Marshal(i.set.Load())
	if err != nil {
		panic(err) // public keys always have a JSON form
	}
	return b
}

// Audience is the one that [Issuer.Claims] has.
const Audience = "client-1"

// Claims returns those of a good token of a user, valid for an hour around now, with
// what is in changes put in their place; nil takes a claim away.
func (i *Issuer) Claims(now time.Time, user string, changes map[string]any) map[string]any {
	claims := map[string]any{
		"iss": i.URL, "sub": user, "aud": Audience,
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// Token returns a good token with these claims.
func (i *Issuer) Token(claims map[string]any) string {
	return Sign(jose.RS256, i.Key, KeyID, claims)
}

// Sign returns a token that is signed with any key in any way.
func Sign(alg jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	options := new(jose.SignerOptions).WithType("JWT")
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		panic(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

// Unsigned returns a token of the algorithm none.
func Unsigned(claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT","kid":"`+KeyID+`"}`)) + "." + encode(payload) + "."
}

// WithPayload returns the token with other claims and its old signature.
func WithPayload(token string, claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	parts := strings.Split(token, ".")
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2]
}
