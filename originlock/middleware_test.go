package originlock_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// echo answers with the names of the headers that it got.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, slices.Sorted(maps.Keys(r.Header)))
})

// raw sends one request with these header lines over a connection of its own, so that
// no client tidies them up.
func raw(t *testing.T, address string, lines ...string) (status int, header http.Header, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := "POST / HTTP/1.1\r\nHost: origin.example\r\nContent-Length: 0\r\nConnection: close\r\n"
	for _, line := range lines {
		request += line + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	response := parseResponse(t, string(answer))
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(b)
}

func TestMiddlewareOnTheWire(t *testing.T) {
	server := httptest.NewServer(staticLock(t, oldSecret, newSecret).Middleware(echo))
	defer server.Close()
	for _, test := range []struct {
		name  string
		lines []string
		want  int
	}{
		{"the secret", []string{"X-Origin-Verify: " + oldSecret}, 200},
		{"the other secret", []string{"X-Origin-Verify: " + newSecret}, 200},
		{"the name in lower case", []string{"x-origin-verify: " + oldSecret}, 200},
		{"the name in capitals", []string{"X-ORIGIN-VERIFY: " + oldSecret}, 200},
		// White space around a value is no part of it (RFC 9110, section 5.5).
		{"white space around the value", []string{"X-Origin-Verify: \t " + oldSecret + " \t"}, 200},
		{"no header", nil, 401},
		{"perfect viewer address, no secret", []string{"CloudFront-Viewer-Address: 198.51.100.10:46532"}, 401},
		{"an empty header", []string{"X-Origin-Verify:"}, 401},
		{"a blank header", []string{"X-Origin-Verify:    "}, 401},
		{"a wrong secret", []string{"X-Origin-Verify: " + wrong}, 401},
		{"a prefix of the secret", []string{"X-Origin-Verify: " + oldSecret[:63]}, 401},
		{"the secret plus one character", []string{"X-Origin-Verify: " + oldSecret + "0"}, 401},
		{"the secret in capitals", []string{"X-Origin-Verify: " + strings.ToUpper(oldSecret)}, 401},
		{"twice", []string{"X-Origin-Verify: " + oldSecret, "X-Origin-Verify: " + oldSecret}, 401},
		{"twice, in two spellings", []string{"X-Origin-Verify: " + oldSecret, "x-origin-verify: " + oldSecret}, 401},
		{"right, then wrong", []string{"X-Origin-Verify: " + oldSecret, "X-Origin-Verify: " + wrong}, 401},
		{"wrong, then right", []string{"X-Origin-Verify: " + wrong, "X-Origin-Verify: " + oldSecret}, 401},
		{"right, then empty", []string{"X-Origin-Verify: " + oldSecret, "X-Origin-Verify:"}, 401},
		{"joined already", []string{"X-Origin-Verify: " + oldSecret + "," + oldSecret}, 401},
		{"with an underscore", []string{"X_Origin_Verify: " + oldSecret}, 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := raw(t, server.Listener.Addr().String(), test.lines...)
			if status != test.want {
				t.Fatalf("status %d, want %d", status, test.want)
			}
			if status == 200 {
				if body != "[Connection Content-Length]" {
					t.Errorf("the inner handler got the headers %s, so the secret too", body)
				}
				return
			}
			if body != `{"error":"not_via_cloudfront"}` {
				t.Errorf("body %s", body)
			}
			if got := header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
			if got := header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q", got)
			}
		})
	}
}

// The secret of a lock may have a comma in it. Sent in two parts it is still wrong.
func TestMiddlewareDoesNotJoinLines(t *testing.T) {
	server := httptest.NewServer(staticLock(t, oldSecret+","+newSecret).Middleware(echo))
	defer server.Close()
	status, _, _ := raw(t, server.Listener.Addr().String(), "X-Origin-Verify: "+oldSecret, "X-Origin-Verify: "+newSecret)
	if status != 401 {
		t.Errorf("status %d, want 401", status)
	}
}

func TestMiddlewareLeavesTheRequestAlone(t *testing.T) {
	h := staticLock(t, oldSecret).Middleware(echo)
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set(originlock.Header, oldSecret)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if r.Header.Get(originlock.Header) != oldSecret {
		t.Error("the header is gone from the outer request too, which is somebody else's")
	}
}

func TestMiddlewareRefusesWhatIsUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		locks := map[string]*originlock.Lock{"zero": {}, "nil": nil, "too old": newLock(t, originlock.Config{Source: src})}
		src.fail(errOutage)
		time.Sleep(maxAge)
		for name, l := range locks {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/", nil)
			r.Header.Set(originlock.Header, oldSecret)
			l.Middleware(echo).ServeHTTP(w, r)
			if w.Code != 401 || w.Body.String() != originlock.Refusal {
				t.Errorf("%s: %d %s, want 401 and the refusal", name, w.Code, w.Body)
			}
		}
	})
}

func parseResponse(t *testing.T, answer string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}
