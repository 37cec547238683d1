package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
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
			r.Header.Add("Cookie", "c=3;")
			return r
		},
		"percent-encoded-path":     func() *http.Request { return httptest.NewRequest("GET", "/api/%63ap%20x%2Fy", nil) },
		"percent-encoded-question": func() *http.Request { return httptest.NewRequest("GET", "/api/cap%3Fx=1?q=%C3%A9+%zz", nil) },
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

const internalServerError = `{"message":"Internal Server Error"}`

func answers(status int, err error) httpapi.Handler {
	return func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: status, Body: "eA==", IsBase64Encoded: true,
			Headers: map[string]string{"x-a": "1"}, MultiValueHeaders: map[string][]string{"x-multi": {"1"}}, Cookies: []string{"c=1", "d=2"}}, err
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler httpapi.Handler
		status  int
		body    string
		logged  string
	}{
		{"decoded once", answers(201, nil), 201, "x", ""},
		{"no status", answers(0, nil), 500, internalServerError, ""},
		{"a status that is none", answers(1000, nil), 500, internalServerError, ""},
		{"an interim status", answers(100, nil), 500, internalServerError, ""},
		{"not base64", func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "?", IsBase64Encoded: true}, nil
		}, 500, internalServerError, ""},
		{"error", answers(200, errors.New("broken")), 500, internalServerError, "the handler failed"},
		{"panic", func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			panic("broken")
		}, 500, internalServerError, "the handler panicked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			w := httptest.NewRecorder()
			g := httpapi.New(httpapi.Config{Handler: c.handler, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			g.ServeHTTP(w, httptest.NewRequest("POST", "/api/demo/cap", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.body)
			}
			if w.Code < 300 && (w.Header().Get("X-A") != "1" || strings.Join(w.Header()["Set-Cookie"], ";") != "c=1;d=2") {
				t.Errorf("headers %v", w.Header())
			}
			if multi := w.Header()["X-Multi"]; multi != nil {
				t.Errorf("a format 2.0 response has multiValueHeaders %q, which the real one does not read", multi)
			}
			if c.logged == "" && log.Len() > 0 || !strings.Contains(log.String(), c.logged) {
				t.Errorf("logged %q, want %q", log.String(), c.logged)
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

// The function's own timeout and the gateway's are told apart by the status.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name     string
		function time.Duration // 0: the deployed one's
		took     time.Duration
		status   int
		body     string
	}{
		{"deployed", 0, 29 * time.Second, 500, internalServerError},
		{"short", time.Second, time.Second, 500, internalServerError},
		{"beyond the gateway's", 45 * time.Second, 30 * time.Second, 503, `{"message":"Service Unavailable"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				function := c.function
				if function == 0 {
					function = 29 * time.Second
				}
				g := httpapi.New(httpapi.Config{Timeout: c.function, Logger: slog.New(slog.DiscardHandler),
					Handler: func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
						if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(started) != function {
							t.Errorf("the handler has until %v, %v; want %v after the start", deadline.Sub(started), ok, function)
						}
						time.Sleep(time.Minute)
						return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
					}})
				w := httptest.NewRecorder()
				g.ServeHTTP(w, httptest.NewRequest("POST", "/api/demo/cap", nil))
				if took := time.Since(started); w.Code != c.status || w.Body.String() != c.body || took != c.took {
					t.Errorf("%d %s after %v, want %d %s after %v", w.Code, w.Body, took, c.status, c.body, c.took)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// Which bodies are text was read off the real one; see the package's comment.
func TestBodyEncoding(t *testing.T) {
	for _, c := range []struct {
		contentType, body, want string
		encoded                 bool
	}{
		{"application/json", "{}", "{}", false},
		{"Application/JSON; charset=utf-8", "{}", "{}", false},
		{"application/xml", "<a/>", "<a/>", false},
		{"application/javascript", "x", "x", false},
		{"text/plain", "x", "x", false},
		{"text/csv", "x", "x", false},
		{"text/plain", "\xff", "/w==", true},
		{"application/json", "\xff", "/w==", true},
		{"application/problem+json", "{}", "e30=", true},
		{"application/x-www-form-urlencoded", "x", "eA==", true},
		{"application/octet-stream", "x", "eA==", true},
		{"image/png", "x", "eA==", true},
		{"", "x", "eA==", true},
		{"application/json", "", "", false},
		{"application/octet-stream", "", "", false},
	} {
		t.Run(c.contentType+" "+c.body, func(t *testing.T) {
			var event events.APIGatewayV2HTTPRequest
			g := httpapi.New(httpapi.Config{Handler: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
				event = e
				return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
			}})
			r := httptest.NewRequest("POST", "/api/demo/cap", strings.NewReader(c.body))
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			g.ServeHTTP(httptest.NewRecorder(), r)
			if event.Body != c.want || event.IsBase64Encoded != c.encoded {
				t.Errorf("%q, encoded %v; want %q, %v", event.Body, event.IsBase64Encoded, c.want, c.encoded)
			}
		})
	}
}

func TestInvocationGoesOnWithoutTheClient(t *testing.T) {
	entered, leave, noticed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	g := httpapi.New(httpapi.Config{Handler: func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		close(entered)
		<-leave
		ended <- ctx.Err()
		return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
	}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(noticed) })
		g.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "POST /api/demo/cap HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	<-entered
	conn.Close()
	<-noticed
	close(leave)
	if err := <-ended; err != nil {
		t.Errorf("the invocation ended with its client: %v", err)
	}
}
