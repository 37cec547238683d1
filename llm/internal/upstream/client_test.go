package upstream

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestARequestIsSentOnce shows what net/http would do by itself: a POST with an
// idempotency key goes out again when a connection that was used before is lost.
func TestARequestIsSentOnce(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key", ""} {
		for own, want := range map[bool]int64{true: 1, false: 2} {
			if header == "" && !own {
				continue
			}
			var asked atomic.Int64
			var lose atomic.Bool
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				asked.Add(1)
				if lose.CompareAndSwap(true, false) {
					c, _, _ := http.NewResponseController(w).Hijack()
					c.Close()
				}
			}))
			client := &http.Client{Transport: new(http.Transport)}
			if own {
				client = NewClient(nil)
			}
			post := func() error {
				r, _ := http.NewRequest("POST", srv.URL, strings.NewReader("x"))
				if header != "" {
					r.Header.Set(header, "k")
				}
				res, err := client.Do(r)
				if err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				return err
			}
			if err := post(); err != nil { // so that there is a connection to reuse
				t.Fatal(err)
			}
			asked.Store(0)
			lose.Store(true)
			err := post()
			if asked.Load() != want || (err == nil) == own {
				t.Errorf("%s, own client %v: sent %d times, %v", header, own, asked.Load(), err)
			}
			client.CloseIdleConnections()
			srv.Close()
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var connections atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(400)
		}
		io.WriteString(w, "{}")
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	client := NewClient(nil)
	for range 5 {
		for _, path := range []string{"/", "/refused"} {
			ctx, _ := Watch(t.Context())
			r, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+path, strings.NewReader("x"))
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
