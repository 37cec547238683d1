package api_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/api"
)

func TestOriginLock(t *testing.T) {
	for name, value := range map[string]string{
		"missing":       "",
		"prefix":        originSecret[:len(originSecret)-1],
		"one more":      originSecret + "x",
		"sent twice":    originSecret + "," + originSecret,
		"other case":    strings.ToUpper(originSecret),
		"spaces":        " " + originSecret,
		"the HMAC key":  hmacKey,
		"quoted":        `"` + originSecret + `"`,
		"null":          "null",
		"an empty pair": ",",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t)
			e := event("POST", "/api/demo/cap")
			e.Headers["x-origin-verify"] = value
			if name == "missing" {
				delete(e.Headers, "x-origin-verify")
			}
			want(t, s.send(t, e), 401, `{"error":"not_via_cloudfront"}`)
			if n := s.store.calls(); n != 0 {
				t.Errorf("%d store calls, want none", n)
			}
		})
	}
}

func TestNoViewerAddress(t *testing.T) {
	for _, value := range []string{"", "unknown", "198.51.100.10", "2001:db8::1", "198.51.100.10:99999", "198.51.100.10:46532,203.0.113.9:1", "fe80::1%eth0:443"} {
		t.Run(value, func(t *testing.T) {
			s := newSystem(t)
			e := event("POST", "/api/demo/cap")
			e.Headers["x-real-ip"] = "203.0.113.99"
			e.Headers["cloudfront-viewer-address"] = value
			if value == "" {
				delete(e.Headers, "cloudfront-viewer-address")
			}
			want(t, s.send(t, e), 401, `{"error":"no_viewer_address"}`)
			if n := s.store.calls(); n != 0 {
				t.Errorf("%d store calls, want none", n)
			}
		})
	}
}

// The order is seen by what wins when several things are wrong at once.
func TestOrderOfTheGate(t *testing.T) {
	s := newSystem(t)
	s.store.fail(errBroken)
	e := event("DELETE", "/nowhere")
	e.Headers = map[string]string{}
	want(t, s.send(t, e), 401, `{"error":"not_via_cloudfront"}`)
	e.Headers["x-origin-verify"] = originSecret
	want(t, s.send(t, e), 401, `{"error":"no_viewer_address"}`)
	e.Headers["cloudfront-viewer-address"] = viewer
	want(t, s.send(t, e), 404, `{"error":"not_found"}`)
	e.RawPath = "/api/demo/cap"
	want(t, s.send(t, e), 405, `{"error":"method_not_allowed"}`)
	if n := s.store.calls(); n != 0 {
		t.Errorf("%d store calls in the gate, want none", n)
	}
	e.RequestContext.HTTP.Method = "POST"
	e.Headers["sec-fetch-site"] = "cross-site"
	want(t, s.send(t, e), 401, `{"error":"cross_origin"}`)
	delete(e.Headers, "sec-fetch-site")
	want(t, s.send(t, e), 503, `{"error":"store_unavailable"}`)
}

func TestMethodsAndPaths(t *testing.T) {
	s := newSystem(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/api/demo/cap", 405, "POST, OPTIONS"},
		{"HEAD", "/api/demo/cap", 405, "POST, OPTIONS"},
		{"DELETE", "/api/demo/cap", 405, "POST, OPTIONS"},
		{"PUT", "/api/demo/cap", 405, "POST, OPTIONS"},
		{"POST", "/api/cap", 405, "GET, OPTIONS"},
		{"post", "/api/demo/cap", 405, "POST, OPTIONS"},
		{"POST", "/prod/api/demo/cap", 404, ""}, // a stage in the path: the template pins $default
		{"POST", "/api/demo/cap/", 404, ""},
		{"POST", "//api/demo/cap", 404, ""},
		{"POST", "/api/demo/CAP", 404, ""},
		{"POST", "/api/demo/../demo/cap", 404, ""},
		{"POST", "", 404, ""},
	} {
		res := s.send(t, event(c.method, c.path))
		if res.StatusCode != c.status || res.Headers["Allow"] != c.allow {
			t.Errorf("%s %s: %d, Allow %q, want %d, %q", c.method, c.path, res.StatusCode, res.Headers["Allow"], c.status, c.allow)
		}
	}
	if n := s.store.calls(); n != 0 {
		t.Errorf("%d store calls, want none", n)
	}
}

func TestPreflightAndCORS(t *testing.T) {
	s := newSystem(t, func(c *api.Config) { c.AllowedOrigins = []string{"https://app.example"} })
	preflight := func(origin string) events.APIGatewayV2HTTPResponse {
		e := event("OPTIONS", "/api/demo/cap")
		e.Headers["origin"] = origin
		e.Headers["access-control-request-method"] = "POST"
		e.Headers["access-control-request-headers"] = "content-type,idempotency-key"
		return s.send(t, e)
	}
	res := preflight("https://app.example")
	want(t, res, 204, "")
	wantHeaders(t, res, map[string]string{
		"Access-Control-Allow-Origin":  "https://app.example",
		"Access-Control-Allow-Methods": "POST, OPTIONS",
		"Access-Control-Allow-Headers": "content-type,idempotency-key",
		"Access-Control-Max-Age":       "600",
		"Vary":                         "Origin",
		"Content-Type":                 "",
	})
	for _, origin := range []string{"https://evil.example", "https://app.example.evil.example", "http://app.example", "null", ""} {
		res := preflight(origin)
		want(t, res, 204, "")
		wantHeaders(t, res, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin"})
	}
	if n := s.store.calls(); n != 0 {
		t.Errorf("%d store calls, want none", n)
	}

	e := event("POST", "/api/demo/cap")
	e.Headers["origin"] = "https://app.example"
	res = s.send(t, e)
	wantHeaders(t, res, map[string]string{"Access-Control-Allow-Origin": "https://app.example"})
	for _, name := range []string{"Retry-After", "RateLimit", "X-Spendcap-Held", "X-Spendcap-Cost"} {
		if !strings.Contains(res.Headers["Access-Control-Expose-Headers"], name) {
			t.Errorf("a script cannot read %s: %q", name, res.Headers["Access-Control-Expose-Headers"])
		}
	}

	e = event("OPTIONS", "/api/demo/cap")
	e.Headers["access-control-request-headers"] = "x\r\nset-cookie: a=b"
	if got := s.send(t, e).Headers["Access-Control-Allow-Headers"]; strings.ContainsAny(got, "\r\n:") {
		t.Errorf("a header list that is none was granted: %q", got)
	}
}

func TestCORSIsClosedByDefault(t *testing.T) {
	s := newSystem(t)
	e := event("POST", "/api/demo/cap")
	e.Headers["origin"] = "https://app.example"
	wantHeaders(t, s.send(t, e), map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": ""})
}

// No log line may hold an address, whatever goes wrong.
func TestNoAddressInTheLog(t *testing.T) {
	s := newSystem(t)
	for _, err := range []error{nil, errBroken} {
		s.store.fail(err)
		for _, value := range []string{viewer, "198.51.100.10", "198.51.100.10:99999", "2001:db8:77::1:443", "198.51.100.10:1,203.0.113.99:2"} {
			for _, path := range []string{"/api/demo/cap", "/api/cap", "/nowhere"} {
				for _, method := range []string{"GET", "POST"} {
					e := event(method, path)
					e.Headers["cloudfront-viewer-address"] = value
					s.send(t, e)
				}
			}
		}
	}
	log := s.log.String()
	if !strings.Contains(log, "broken on purpose") {
		t.Fatal("the store's error is not in the log")
	}
	for _, address := range []string{"198.51.100", "203.0.113", "64.252.1", "2001:db8"} {
		if strings.Contains(log, address) {
			t.Errorf("the log has %s:\n%s", address, log)
		}
	}
}
