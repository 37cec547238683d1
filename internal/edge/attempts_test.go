package edge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/edge"
)

// breakingOrigin answers the first good requests, all on kept connections, and breaks
// the connection of each later one after it has arrived.
func breakingOrigin(t *testing.T, good int64) (e *edge.Edge, arrived *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	arrived = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					if arrived.Add(1) > good {
						return
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	e, err = edge.New(edge.Config{Origin: &url.URL{Scheme: "http", Host: l.Addr().String()}, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, arrived
}

// A POST reaches the origin once, also where net/http would send it again: on a kept
// connection, without a body, with an idempotency key.
func TestAttempts(t *testing.T) {
	for _, c := range []struct {
		method, header string
		reached        int64
	}{
		{"GET", "", 3},
		{"HEAD", "", 3},
		{"POST", "", 1},
		{"POST", "Idempotency-Key", 1},
		{"POST", "X-Idempotency-Key", 1},
		{"PUT", "", 1},
		{"DELETE", "", 1},
	} {
		t.Run(c.method+" "+c.header, func(t *testing.T) {
			e, arrived := breakingOrigin(t, 0)
			w := httptest.NewRecorder()
			r := httptest.NewRequest(c.method, "/api/x", nil)
			if c.header != "" {
				r.Header.Set(c.header, "k1")
			}
			e.ServeHTTP(w, r)
			if w.Code != 502 || arrived.Load() != c.reached {
				t.Errorf("%d after %d attempts, want 502 after %d", w.Code, arrived.Load(), c.reached)
			}
		})
	}
}

func TestAPostIsNotSentAgainOnAKeptConnection(t *testing.T) {
	for _, header := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
		t.Run(header, func(t *testing.T) {
			e, arrived := breakingOrigin(t, 1)
			var last int
			for range 2 {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("POST", "/api/x", nil)
				if header != "" {
					r.Header.Set(header, "k1")
				}
				e.ServeHTTP(w, r)
				last = w.Code
			}
			if last != 502 || arrived.Load() != 2 {
				t.Errorf("%d after %d arrivals of two POSTs, want 502 after 2", last, arrived.Load())
			}
		})
	}
}

func TestAGetThatFailsOnceSucceeds(t *testing.T) {
	failed := false
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !failed {
			failed = true
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "answer")
	}))
	defer origin.Close()
	target, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.New(edge.Config{Origin: target, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/api/x", nil))
	if w.Code != 200 || w.Body.String() != "answer" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOriginDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	e, err := edge.New(edge.Config{Origin: &url.URL{Scheme: "http", Host: addr}, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, "/api/x", nil))
		if w.Code != 502 {
			t.Errorf("%s: %d, want 502", method, w.Code)
		}
	}
}

func TestOriginTooSlow(t *testing.T) {
	for method, reached := range map[string]int{"GET": 3, "POST": 1} {
		t.Run(method, func(t *testing.T) {
			arrived, release := make(chan struct{}, 16), make(chan struct{})
			origin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				arrived <- struct{}{}
				<-release
			}))
			defer origin.Close()
			defer close(release)
			target, err := url.Parse(origin.URL)
			if err != nil {
				t.Fatal(err)
			}
			e, err := edge.New(edge.Config{Origin: target, Secret: secret, ResponseTimeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(method, "/api/x", nil))
			if w.Code != 504 {
				t.Errorf("%d, want 504", w.Code)
			}
			for n := range reached {
				select {
				case <-arrived:
				case <-time.After(10 * time.Second):
					t.Fatalf("%d attempts, want %d", n, reached)
				}
			}
			if len(arrived) != 0 {
				t.Errorf("more than %d attempts", reached)
			}
		})
	}
}
