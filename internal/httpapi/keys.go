package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFor is how long keys are remembered: "API Gateway can cache the public key for
	// two hours".
	keysFor = 2 * time.Hour

	// keysAgain is how soon an unknown key may make the issuer be asked again, so that
	// unknown keys cost it nothing.
	keysAgain = 5 * time.Second

	keysTimeout  = 5 * time.Second
	keysMaxBytes = 1 << 20
)

// StaticKeys returns the keys of a JSON Web Key Set (RFC 7517 section 5).
func StaticKeys(jwks []byte) (KeySource, error) {
	set, err := readKeys(jwks)
	if err != nil {
		return nil, err
	}
	return func(context.Context, string) (*jose.JSONWebKeySet, error) { return set, nil }, nil
}

// KeysAt returns the keys of the set at a URL. The real one finds the URL by itself; see
// [DiscoverKeys].
func KeysAt(client *http.Client, url string, now func() time.Time) KeySource {
	return remember(now, func(ctx context.Context) (*jose.JSONWebKeySet, error) {
		body, err := get(ctx, client, url)
		if err != nil {
			return nil, err
		}
		return readKeys(body)
	})
}

// DiscoverKeys returns the keys at the jwks_uri that the issuer's
// /.well-known/openid-configuration names (OpenID Connect Discovery 1.0 section 4).
func DiscoverKeys(client *http.Client, issuer string, now func() time.Time) KeySource {
	return remember(now, func(ctx context.Context) (*jose.JSONWebKeySet, error) {
		body, err := get(ctx, client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
		if err != nil {
			return nil, err
		}
		var found struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(body, &found); err != nil || found.JWKSURI == "" {
			return nil, errors.New("the issuer's openid-configuration names no jwks_uri")
		}
		if found.Issuer != issuer {
			return nil, fmt.Errorf("the issuer's openid-configuration is that of %q: auth.issuer has to be written the same way", found.Issuer)
		}
		if body, err = get(ctx, client, found.JWKSURI); err != nil {
			return nil, err
		}
		return readKeys(body)
	})
}

// readKeys reads a set. Keys of kinds that are not known are left out, as RFC 7517
// section 5 says, and so are those that are not RSA.
func readKeys(body []byte) (*jose.JSONWebKeySet, error) {
	var found struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, errors.New("not a JSON Web Key Set")
	}
	set := new(jose.JSONWebKeySet)
	for _, raw := range found.Keys {
		var kind struct {
			Kty string `json:"kty"`
		}
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &kind) == nil && kind.Kty == "RSA" && json.Unmarshal(raw, &key) == nil && key.IsPublic() {
			set.Keys = append(set.Keys, key)
		}
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("the JSON Web Key Set has no public RSA key")
	}
	return set, nil
}

// remember keeps what ask returned.
func remember(now func() time.Time, ask func(context.Context) (*jose.JSONWebKeySet, error)) KeySource {
	var mu sync.Mutex
	var set *jose.JSONWebKeySet
	var asked time.Time
	return func(ctx context.Context, kid string) (*jose.JSONWebKeySet, error) {
		mu.Lock()
		defer mu.Unlock()
		age := now().Sub(asked)
		if set != nil && age < keysFor && (len(set.Key(kid)) > 0 || age < keysAgain) {
			return set, nil
		}
		fresh, err := ask(ctx)
		if err != nil {
			return nil, fmt.Errorf("the issuer's keys cannot be read: %w", err)
		}
		set, asked = fresh, now()
		return set, nil
	}
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, keysMaxBytes))
}
