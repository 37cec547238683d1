// Package upstreamtest has the tests that every provider passes that asks over HTTP: one
// attempt, no redirect, no secret in an error, and nothing given back that may have cost
// something.
package upstreamtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/llm"
)

// Key is a secret that the provider has to be made with, if it takes one.
const Key = "sk-this-is-secret"

// Indiscreet is what a refusal may say and nobody may be told.
const Indiscreet = "key " + Key + " at 127.0.0.1, you said Hello"

// Suite describes a provider.
type Suite struct {
	New        func(t *testing.T, baseURL string) llm.Provider
	Refusal    func(code string) string // the body of a refusal that says [Indiscreet]
	Unreadable []string                 // bodies of successes that are no answers
}

// Request returns a request that says Hello.
func Request() *llm.Request {
	return &llm.Request{Model: "m", MaxOutputTokens: 9, Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "Hello"}}}}}
}

// Say returns a handler that answers with a body of JSON.
func Say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Failure returns err as the error that it has to be, and checks that it gives nothing
// away.
func Failure(t *testing.T, err error) llm.UpstreamError {
	t.Helper()
	var e *llm.UpstreamError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.UpstreamError", err)
	}
	for _, secret := range []string{Key, "127.0.0.1", "Hello"} {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", e, *e, *e), secret) {
			t.Errorf("the error has %q in it: %#v", secret, *e)
		}
	}
	return *e
}

// ask starts an upstream with the handler, asks it and tells the failure. The upstream
// has to be asked once.
func (s Suite) ask(t *testing.T, ctx context.Context, handler http.HandlerFunc) llm.UpstreamError {
	t.Helper()
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler(w, r)
	}))
	defer srv.Close()
	_, err := s.New(t, srv.URL).Complete(ctx, Request())
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	return Failure(t, err)
}

// Run runs the tests.
func (s Suite) Run(t *testing.T) {
	t.Run("refusals", s.refusals)
	t.Run("unreadable", s.unreadable)
	t.Run("lost connection", s.lost)
	t.Run("unreachable", s.unreachable)
	t.Run("redirects", s.redirects)
	t.Run("deadline", s.deadline)
	t.Run("given up", s.givenUp)
	t.Run("endless reply", s.endless)
}

func (s Suite) refusals(t *testing.T) {
	for status, want := range map[int]llm.UpstreamError{
		400: {Status: 422, NothingSpent: true, Message: "The model refused the request."},
		413: {Status: 422, NothingSpent: true, Message: "The model refused the request."},
		422: {Status: 422, NothingSpent: true, Message: "The model refused the request."},
		401: {Status: 502, NothingSpent: true, Message: "The model is not available at the moment."},
		402: {Status: 502, NothingSpent: true, Message: "The model is not available at the moment."},
		403: {Status: 502, NothingSpent: true, Message: "The model is not available at the moment."},
		404: {Status: 502, NothingSpent: true, Message: "The model is not available at the moment."},
		405: {Status: 502, NothingSpent: true, Message: "The model is not available at the moment."},
		429: {Status: 429, NothingSpent: true, Message: "The model gets too many requests at the moment. Try again later."},
		408: {Status: 504, Message: "The model took too long."},
		409: {Status: 502, Message: "The model failed."},
		424: {Status: 502, Message: "The model failed."},
		500: {Status: 502, Message: "The model failed."},
		502: {Status: 502, Message: "The model failed."},
		503: {Status: 502, Message: "The model failed."},
		529: {Status: 502, Message: "The model failed."},
		504: {Status: 504, Message: "The model took too long."},
	} {
		want.Upstream = status
		said := func(body string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Should-Retry", "true") // an SDK would, if it might
				w.Header().Set("Retry-After", "0")
				Say(status, body)(w, r)
			}
		}
		want.Code = "some_code"
		if got := s.ask(t, context.Background(), said(s.Refusal(want.Code))); got != want {
			t.Errorf("%d:\n%#v\nwant\n%#v", status, got, want)
		}
		// What is no error of the API says as much by its status.
		for _, body := range []string{"", "<html>" + Indiscreet, `{"error":`} {
			got := s.ask(t, context.Background(), said(body))
			if want.Code = got.Code; got != want || strings.ContainsAny(got.Code, " <") {
				t.Errorf("%d, %q:\n%#v\nwant\n%#v", status, body, got, want)
			}
		}
	}
}

func (s Suite) unreadable(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"not JSON":   Say(200, `hello`),
		"half of it": Say(200, `{"id":"x","content":[`),
		"a list":     Say(200, `[]`),
		"an object":  Say(200, `{}`),
		"nothing":    Say(200, ``),
		"a page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		},
		"cut off in the middle": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"id":"x","choices":[`)
		},
	}
	for _, body := range s.Unreadable {
		handlers[body] = Say(200, body)
	}
	want := llm.UpstreamError{Status: 502, Upstream: 200, Message: "The model's answer could not be read."}
	for name, handler := range handlers {
		if got := s.ask(t, context.Background(), handler); got != want {
			t.Errorf("%s:\n%#v\nwant\n%#v", name, got, want)
		}
	}
}

func (s Suite) lost(t *testing.T) {
	got := s.ask(t, context.Background(), func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		c, _, _ := http.NewResponseController(w).Hijack()
		c.Close()
	})
	if want := (llm.UpstreamError{Status: 502, Message: "The connection to the model was lost."}); got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}

func (s Suite) unreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	plain := httptest.NewServer(Say(200, "{}"))
	defer plain.Close()
	want := llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The model cannot be reached."}
	for name, base := range map[string]string{
		"nobody listens": "http://" + address,
		"no TLS there":   strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		_, err := s.New(t, base).Complete(context.Background(), Request())
		if got := Failure(t, err); got != want {
			t.Errorf("%s:\n%#v\nwant\n%#v", name, got, want)
		}
	}
}

func (s Suite) redirects(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{other.URL, "/elsewhere"} {
			got := s.ask(t, context.Background(), func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) })
			want := llm.UpstreamError{Status: 502, Upstream: status, Message: "The model's address answered with a redirect, which is not followed."}
			if got != want || elsewhere.Load() != 0 {
				t.Errorf("%d to %s: %d times there\n%#v\nwant\n%#v", status, to, elsewhere.Load(), got, want)
			}
		}
	}
}

func (s Suite) deadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	gone := make(chan struct{})
	got := s.ask(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // the upstream sees its request end
		close(gone)
	})
	<-gone
	if want := (llm.UpstreamError{Status: 504, Message: "The model took too long."}); got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}

func (s Suite) givenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	got := s.ask(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	want := llm.UpstreamError{Status: 502, Message: "The call was given up."}
	if got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
	// Given up before it began.
	_, err := s.New(t, "http://127.0.0.1:1").Complete(ctx, Request())
	want.NothingSpent = true
	if got := Failure(t, err); got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}

// endless is a reply that does not end by itself.
func (s Suite) endless(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	chunk := []byte(strings.Repeat("x", 1<<20))
	got := s.ask(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"`)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if want := (llm.UpstreamError{Status: 502, Upstream: 200, Message: "The model's answer could not be read."}); got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}
