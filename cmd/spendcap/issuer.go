package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
)

// localRoutes are the routes of the side door. jwks, a file or a URL, takes the place of
// what the issuer publishes.
func localRoutes(c *auth.Config, jwks string) ([]httpapi.Route, error) {
	switch {
	case c == nil && jwks != "":
		return nil, errors.New("--jwks: the file has no auth, so nobody is signed in")
	case c == nil:
		return httpapi.Routes(nil, nil), nil
	case jwks == "":
		return httpapi.Routes(c, httpapi.DiscoverKeys(http.DefaultClient, c.Issuer, time.Now)), nil
	case strings.HasPrefix(jwks, "http://"), strings.HasPrefix(jwks, "https://"):
		return httpapi.Routes(c, httpapi.KeysAt(http.DefaultClient, jwks, time.Now)), nil
	}
	set, err := os.ReadFile(jwks)
	if err != nil {
		return nil, fmt.Errorf("--jwks: %w", err)
	}
	keys, err := httpapi.StaticKeys(set)
	if err != nil {
		return nil, fmt.Errorf("--jwks %s: %w", jwks, err)
	}
	return httpapi.Routes(c, keys), nil
}
