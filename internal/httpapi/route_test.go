package httpapi_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
)

func TestRoutes(t *testing.T) {
	var seen events.APIGatewayV2HTTPRequest
	handler := func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		seen = e
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}
	keys := []string{"ANY /{proxy+}", "$default", "OPTIONS /api/u/{proxy+}", "ANY /api/u/{proxy+}", "GET /api/u/cap", "ANY /api/u/cap"}
	var routes []httpapi.Route
	for _, key := range keys {
		routes = append(routes, httpapi.Route{Key: key})
	}
	g := httpapi.New(httpapi.Config{Handler: handler, Routes: routes})
	for _, c := range []struct{ method, path, key, proxy string }{
		{"POST", "/api/u/v1/messages", "ANY /api/u/{proxy+}", "v1/messages"},
		{"OPTIONS", "/api/u/v1/messages", "OPTIONS /api/u/{proxy+}", "v1/messages"},
		{"GET", "/api/u/cap", "GET /api/u/cap", ""},
		{"POST", "/api/u/cap", "ANY /api/u/cap", ""},
		{"OPTIONS", "/api/u/cap", "ANY /api/u/cap", ""},
		{"POST", "/api/u/", "ANY /{proxy+}", "api/u/"},
		{"POST", "/api/U/cap", "ANY /{proxy+}", "api/U/cap"},
		{"POST", "/api/%75/x", "ANY /api/u/{proxy+}", "x"},
		{"GET", "/", "$default", ""},
	} {
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil))
		if seen.RouteKey != c.key || seen.RequestContext.RouteKey != c.key || seen.PathParameters["proxy"] != c.proxy {
			t.Errorf("%s %s: %q, %q; want %q, %q", c.method, c.path, seen.RouteKey, seen.PathParameters["proxy"], c.key, c.proxy)
		}
	}
	w := httptest.NewRecorder()
	httpapi.New(httpapi.Config{Handler: handler, Routes: []httpapi.Route{{Key: "POST /x"}}}).ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if w.Code != 404 || w.Body.String() != `{"message":"Not Found"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
