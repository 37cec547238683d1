package edge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/edge"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
)

// newSystem returns the URLs of an edge and of the side door behind it.
func newSystem(t testing.TB, handler httpapi.Handler) (edgeURL, sideDoor string) {
	t.Helper()
	return newSystemWith(t, httpapi.New(httpapi.Config{Handler: handler}))
}

func newSystemWith(t testing.TB, gateway http.Handler) (edgeURL, sideDoor string) {
	t.Helper()
	origin := httptest.NewServer(gateway)
	t.Cleanup(origin.Close)
	target, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.New(edge.Config{Origin: target, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(e)
	t.Cleanup(func() { front.Close(); e.Close() })
	return front.URL, origin.URL
}

// The whole way a header goes, from a viewer's socket to the event.
func TestEventBehindTheEdge(t *testing.T) {
	got := make(chan events.APIGatewayV2HTTPRequest, 1)
	edgeURL, sideDoor := newSystem(t, func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		got <- e
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	})
	viewer := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext}}
	defer viewer.CloseIdleConnections()
	req, err := http.NewRequest("POST", edgeURL+"/api/%63ap%20x%2Fy?a=1&a=%32&b=;", strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type":              {"application/json"},
		"Cookie":                    {"a=1; b=2"},
		"X-Forwarded-For":           {"203.0.113.99"},
		"X-Origin-Verify":           {"guess", secret},
		"Cloudfront-Viewer-Address": {"203.0.113.99:1"},
	}
	res, err := viewer.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	e := <-got
	if res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
	for name, want := range map[string]string{
		"x-origin-verify": secret,
		"x-forwarded-for": "203.0.113.99, 127.0.0.9, 127.0.0.1",
		"host":            strings.TrimPrefix(sideDoor, "http://"),
		"content-length":  "7",
	} {
		if e.Headers[name] != want {
			t.Errorf("%s: %q, want %q", name, e.Headers[name], want)
		}
	}
	if v := e.Headers["cloudfront-viewer-address"]; !strings.HasPrefix(v, "127.0.0.9:") || strings.Contains(v, ",") {
		t.Errorf("cloudfront-viewer-address %q", v)
	}
	if ip := e.RequestContext.HTTP.SourceIP; ip != "127.0.0.1" {
		t.Errorf("sourceIp %q, want the edge's", ip)
	}
	if e.RawPath != "/api/cap x/y" || e.RawQueryString != "a=1&a=%32&b=;" || e.QueryStringParameters["a"] != "1,2" {
		t.Errorf("path %q, query %q, %v", e.RawPath, e.RawQueryString, e.QueryStringParameters)
	}
	if e.Body != `{"a":1}` || e.IsBase64Encoded || strings.Join(e.Cookies, "|") != "a=1|b=2" {
		t.Errorf("body %q %v, cookies %q", e.Body, e.IsBase64Encoded, e.Cookies)
	}
}

// A paid call must be settled although its viewer has gone.
func TestInvocationGoesOnWithoutTheViewer(t *testing.T) {
	entered, leave, noticed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	gateway := httpapi.New(httpapi.Config{Handler: func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		close(entered)
		<-leave
		ended <- ctx.Err()
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}})
	edgeURL, _ := newSystemWith(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(noticed) })
		gateway.ServeHTTP(w, r)
	}))
	ctx, goAway := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, "POST", edgeURL+"/api/x", nil)
		if err == nil {
			_, err = http.DefaultClient.Do(req)
		}
		gone <- err
	}()
	<-entered
	goAway()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the viewer got %v", err)
	}
	<-noticed
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("the invocation ended with its viewer: %v", err)
	}
}

func TestBodyLimitThroughTheEdge(t *testing.T) {
	invoked := make(chan int, 2)
	edgeURL, _ := newSystem(t, func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		invoked <- len(e.Body)
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	})
	body := bytes.Repeat([]byte("a"), httpapi.MaxBodyBytes+1)
	for _, c := range []struct {
		body   []byte
		status int
	}{{body[1:], 200}, {body, 413}} {
		res, err := http.Post(edgeURL+"/api/x", "text/plain", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.status || c.status == 413 && string(text) != `{"message":"Request Entity Too Large"}` {
			t.Errorf("%d bytes: %d %s, want %d", len(c.body), res.StatusCode, text, c.status)
		}
	}
	if n := <-invoked; n != httpapi.MaxBodyBytes || len(invoked) != 0 {
		t.Errorf("invoked with %d bytes and %d times more", n, len(invoked))
	}
}

func TestHeadHasNoBody(t *testing.T) {
	edgeURL, _ := newSystem(t, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 405, Headers: map[string]string{"Allow": "POST"}, Body: "no"}, nil
	})
	res, err := http.Head(edgeURL + "/api/x")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || len(body) != 0 || res.StatusCode != 405 || res.Header.Get("Allow") != "POST" {
		t.Errorf("%d, Allow %q, body %q, %v", res.StatusCode, res.Header.Get("Allow"), body, err)
	}
}
