package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
)

var update = flag.Bool("update", false, "write the golden events")

func now() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// The events stand in testdata as the handler gets them.
func TestEvents(t *testing.T) {
	for name, request := range map[string]func() *http.Request{
		"get-with-query-and-duplicates": func() *http.Request {
			r := httptest.NewRequest("GET", "/api/cap?b=2&a=1&b=3", nil)
			r.Header.Add("X-Origin-Verify", "one")
			r.Header.Add("X-Origin-Verify", "two")
			r.Header.Set("CloudFront-Viewer-Address", "198.51.100.10:46532")
			r.Header.Set("X-Forwarded-For", "203.0.113.99, 198.51.100.10")
			return r
		},
		"post-json": func() *http.Request {
			r := httptest.NewRequest("POST", "/api/v1/messages", strings.NewReader(`{"text":"é"}`))
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
			return r
		},
		"post-binary": func() *http.Request {
			r := httptest.NewRequest("POST", "/api/demo/cap", bytes.NewReader([]byte{0xff, 0, 1}))
			r.Header.Set("Content-Type", "application/octet-stream")
			return r
		},
		"post-form": func() *http.Request {
			r := httptest.NewRequest("POST", "/api/demo/cap", strings.NewReader("a=1"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return r
		},
		"cookies": func() *http.Request {
			r := httptest.NewRequest("POST", "/api/demo/cap", nil)
			r.Header.Add("Cookie", "a=1; b=2")
			r.Header.Add("Cookie", "c=3")
			return r
		},
		"percent-encoded-path": func() *http.Request { return httptest.NewRequest("GET", "/api/%63ap%20x", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var event events.APIGatewayV2HTTPRequest
			g := httpapi.New(httpapi.Config{Now: now, Handler: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
				event = e
				return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
			}})
			g.ServeHTTP(httptest.NewRecorder(), request())
			if event.RequestContext.RequestID == "" {
				t.Error("no request ID")
			}
			event.RequestContext.RequestID = "drawn for each request"
			got, err := json.MarshalIndent(event, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

func answers(status int, err error) httpapi.Handler {
	return func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: status, Body: "eA==", IsBase64Encoded: true,
			Headers: map[string]string{"x-a": "1"}, Cookies: []string{"c=1", "d=2"}}, err
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler httpapi.Handler
		status  int
		body    string
	}{
		{"decoded once", answers(201, nil), 201, "x"},
		{"no status", answers(0, nil), 200, "x"},
		{"error", answers(200, errors.New("broken")), 500, `{"message":"Internal Server Error"}`},
		{"panic", func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			panic("broken")
		}, 500, `{"message":"Internal Server Error"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			httpapi.New(httpapi.Config{Handler: c.handler}).ServeHTTP(w, httptest.NewRequest("POST", "/api/demo/cap", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.body)
			}
			if w.Code < 300 && (w.Header().Get("X-A") != "1" || strings.Join(w.Header()["Set-Cookie"], ";") != "c=1;d=2") {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	var size int
	g := httpapi.New(httpapi.Config{Handler: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		size = len(e.Body)
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}})
	for n, status := range map[int]int{httpapi.MaxBodyBytes: 200, httpapi.MaxBodyBytes + 1: 413} {
		size = -1
		r := httptest.NewRequest("POST", "/api/demo/cap", bytes.NewReader(bytes.Repeat([]byte("a"), n)))
		r.Header.Set("Content-Type", "text/plain")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != status || status == 200 && size != n || status == 413 && size != -1 {
			t.Errorf("%d bytes: %d, handler saw %d, want %d", n, w.Code, size, status)
		}
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		g := httpapi.New(httpapi.Config{Handler: func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			time.Sleep(time.Minute)
			return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
		}})
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("POST", "/api/demo/cap", nil))
		if took := time.Since(started); w.Code != 503 || took != 29*time.Second {
			t.Errorf("%d after %v, want 503 after 29s", w.Code, took)
		}
		time.Sleep(time.Minute)
	})
}

func TestInvocationGoesOnWithoutTheClient(t *testing.T) {
	entered, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(httpapi.New(httpapi.Config{Handler: func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		close(entered)
		<-leave
		ended <- ctx.Err()
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "POST /api/demo/cap HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	<-entered
	conn.Close()
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("the invocation ended with its client: %v", err)
	}
}
