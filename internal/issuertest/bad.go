package issuertest

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Bad returns headers with what is no proof of being the user: forgeries, tokens of
// others, and tokens that are not valid now. Each comes with its name.
func (i *Issuer) Bad(t testing.TB, now time.Time, user string, changes map[string]any) map[string]map[string]string {
	t.Helper()
	good := i.Claims(now, user, changes)
	with := func(name string, value any) map[string]any {
		claims := i.Claims(now, user, changes)
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
		return claims
	}
	other := DrawKey(t)
	der, err := x509.MarshalPKIXPublicKey(i.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own := i.Token(i.Claims(now, "somebody-else", nil))

	bad := make(map[string]map[string]string)
	for name, token := range map[string]string{
		"a forged signature":                    Sign(jose.RS256, other, KeyID, good),
		"the claims of another under one's own": WithPayload(own, good),
		"alg none":                              Unsigned(good),
		"an HMAC with the public key in PEM":    Sign(jose.HS256, public, KeyID, good),
		"an HMAC with the public key in DER":    Sign(jose.HS256, der, KeyID, good),
		"a wrong iss":                           i.Token(with("iss", "https://issuer.example.com")),
		"no iss":                                i.Token(with("iss", nil)),
		"a slash more than iss":                 i.Token(with("iss", i.URL+"/")),
		"a wrong aud":                           i.Token(with("aud", "another-client")),
		"a wrong aud and the right client_id":   i.Token(i.Claims(now, user, map[string]any{"aud": "another-client", "client_id": Audience})),
		"no aud":                                i.Token(with("aud", nil)),
		"an empty aud":                          i.Token(with("aud", "")),
		"expired":                               i.Token(with("exp", now.Add(-time.Second).Unix())),
		"expired now":                           i.Token(with("exp", now.Unix())),
		"no exp":                                i.Token(with("exp", nil)),
		"not valid yet":                         i.Token(with("nbf", now.Add(time.Minute).Unix())),
		"issued in the future":                  i.Token(with("iat", now.Add(time.Minute).Unix())),
		"an unknown kid":                        Sign(jose.RS256, i.Key, "key-2", good),
		"no kid":                                Sign(jose.RS256, i.Key, "", good),
		"another algorithm than the key's":      Sign(jose.RS512, i.Key, KeyID, good),
		"a signature cut off":                   i.Token(good)[:len(i.Token(good))-8],
		"garbage":                               "a.b.c",
		"an API key":                            "sk-unused",
		"two tokens":                            i.Token(good) + "," + i.Token(good),
	} {
		bad[name] = map[string]string{"Authorization": "Bearer " + token}
	}
	token := i.Token(good)
	for name, headers := range map[string]map[string]string{
		"no token":                         {},
		"an empty token":                   {"Authorization": "Bearer "},
		"a token in X-Api-Key":             {"X-Api-Key": token},
		"a token in X-Authorization":       {"X-Authorization": "Bearer " + token},
		"a token in a cookie":              {"Cookie": "Authorization=" + token + "; token=" + token},
		"a token as Basic":                 {"Authorization": "Basic " + token},
		"claims as headers of the gateway": {"X-Amzn-Oidc-Identity": user, "X-Amzn-Oidc-Data": token, "X-Amzn-Request-Context": `{"authorizer":{"jwt":{"claims":{"sub":"` + user + `"}}}}`},
		"claims as headers of their names": {"Sub": user, "X-User": user, "X-Forwarded-User": user, "Requestcontext.authorizer.jwt.claims.sub": user},
	} {
		bad[name] = headers
	}
	return bad
}
