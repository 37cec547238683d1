package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
)

// exchange sends requests byte by byte on one connection, so that nothing tidies their
// headers, and returns the events that they became and the answers.
func exchange(t *testing.T, requests ...string) (got []events.APIGatewayV2HTTPRequest, bodies []string) {
	t.Helper()
	server := httptest.NewServer(httpapi.New(httpapi.Config{Now: now, Handler: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		got = append(got, e)
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "answer"}, nil
	}}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(strings.Join(requests, ""), "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for _, request := range requests {
		method, _, _ := strings.Cut(request, " ")
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%d, %v", res.StatusCode, err)
		}
		bodies = append(bodies, string(body))
	}
	return got, bodies
}

func TestHeadersOnTheWire(t *testing.T) {
	got, _ := exchange(t, "POST /api/x HTTP/1.1\nHost: api.example\n"+
		"X-ORIGIN-verify: one\nx-origin-VERIFY: two\n"+
		"CloudFront-Viewer-Address: 198.51.100.10:46532\nCLOUDFRONT-VIEWER-ADDRESS: 203.0.113.9:1\n"+
		"X_Origin_Verify: three\nCloudFront_Viewer_Address: 203.0.113.8:1\n"+
		"X-Forwarded-For: 203.0.113.99\nX-Forwarded-For: 198.51.100.10\nX-Forwarded-Proto: https\nX-Forwarded-Port: 443\n"+
		"cookie: a=1; b=2\nContent-Length: 2\n\nhi")
	headers := got[0].Headers
	for name, want := range map[string]string{
		"x-origin-verify":           "one,two",
		"cloudfront-viewer-address": "198.51.100.10:46532,203.0.113.9:1",
		"x_origin_verify":           "three",
		"cloudfront_viewer_address": "203.0.113.8:1",
		"x-forwarded-for":           "203.0.113.99, 198.51.100.10, 127.0.0.1",
		"x-forwarded-proto":         "http",
		"x-forwarded-port":          "80",
		"host":                      "api.example",
		"content-length":            "2",
	} {
		if headers[name] != want {
			t.Errorf("%s: %q, want %q", name, headers[name], want)
		}
		delete(headers, name)
	}
	if len(headers) != 0 {
		t.Errorf("also %v", headers)
	}
	if c := strings.Join(got[0].Cookies, "|"); c != "a=1|b=2" {
		t.Errorf("cookies %q", c)
	}
	if ip := got[0].RequestContext.HTTP.SourceIP; ip != "127.0.0.1" {
		t.Errorf("sourceIp %q", ip)
	}
}

func TestATrailerIsNoHeader(t *testing.T) {
	got, _ := exchange(t, "POST /api/x HTTP/1.1\nHost: api.example\nTrailer: X-Origin-Verify\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX-Origin-Verify: guess\n\n")
	if v, ok := got[0].Headers["x-origin-verify"]; ok {
		t.Errorf("x-origin-verify %q out of the trailer", v)
	}
	if l := got[0].Headers["content-length"]; l != "2" {
		t.Errorf("content-length %q of a chunked body, want 2", l)
	}
}

func TestRequestsOnOneConnectionAreApart(t *testing.T) {
	got, bodies := exchange(t,
		"POST /api/x HTTP/1.1\nHost: api.example\nX-Origin-Verify: one\nContent-Length: 2\n\nhi",
		"HEAD /api/x HTTP/1.1\nHost: api.example\n\n",
		"POST /api/x HTTP/1.1\nHost: api.example\nContent-Length: 0\n\n")
	if v, ok := got[2].Headers["x-origin-verify"]; ok {
		t.Errorf("x-origin-verify %q from the request before", v)
	}
	if want := []string{"answer", "", "answer"}; strings.Join(bodies, "|") != strings.Join(want, "|") {
		t.Errorf("answers %q, want %q", bodies, want)
	}
}
