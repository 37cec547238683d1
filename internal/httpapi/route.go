package httpapi

import (
	"net/http"
	"strings"

	"github.com/seed3e88d9a2/spendcap/internal/auth"
)

// Route is one route of the API.
type Route struct {
	// Key is "$default", or a method or ANY and a path, such as "ANY /api/u/{proxy+}". Of
	// path variables only {proxy+} at the end is played; any other is taken literally.
	Key string

	// Authorizer lets requests through or refuses them; nil: the route is open.
	Authorizer *Authorizer
}

const (
	defaultRoute = "$default"
	greedy       = "{proxy+}"
)

// match returns the route of a request, and what its path variable stands for. It is
// the most specific one: a full path, then the longest greedy one, then $default; for the
// same path, the method before ANY
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html).
// Paths are compared decoded and byte for byte.
func match(routes []Route, r *http.Request) (found *Route, proxy string, ok bool) {
	best := -1
	for i := range routes {
		fit, rest := routes[i].fit(r.Method, r.URL.Path)
		if fit > best {
			best, found, proxy = fit, &routes[i], rest
		}
	}
	return found, proxy, found != nil
}

// fit tells how specific the route is for a request, -1 if it is not the request's.
func (r *Route) fit(method, path string) (specific int, proxy string) {
	if r.Key == defaultRoute {
		return 0, ""
	}
	own, pattern, _ := strings.Cut(r.Key, " ")
	if own != method && own != "ANY" {
		return -1, ""
	}
	// An empty rest does not match a greedy variable.
	if prefix, ok := strings.CutSuffix(pattern, greedy); ok {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok || rest == "" {
			return -1, ""
		}
		specific, proxy = 2*len(prefix), rest
	} else if pattern == path {
		specific = 1 << 30
	} else {
		return -1, ""
	}
	if own == method {
		specific++
	}
	return specific, proxy
}

// Routes are those of the deployment that an operator's file describes: keys are the
// issuer's.
func Routes(c *auth.Config, keys KeySource) []Route {
	var routes []Route
	for _, r := range c.Routes() {
		route := Route{Key: r.Key}
		if r.SignedIn {
			route.Authorizer = &Authorizer{Issuer: c.Issuer, Audience: c.Audience, Scopes: c.Scopes, Keys: keys}
		}
		routes = append(routes, route)
	}
	return routes
}
