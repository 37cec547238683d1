package edge_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/edge"
)

// Each row is what a viewer sends under one name and what the origin gets under it, the
// lines joined by "|"; VIEWER stands for the address of the viewer's connection.
func TestHeaderRules(t *testing.T) {
	for _, c := range []struct{ name, sent, want string }{
		{"CloudFront-Viewer-Address", "", "VIEWER"},
		{"CloudFront-Viewer-Address", "203.0.113.99:1", "VIEWER"},
		{"CloudFront-Viewer-Address", "203.0.113.99:1|203.0.113.98:1", "VIEWER"},
		{"CloudFront-Viewer-Address", "|", "VIEWER"},
		{"CloudFront-Viewer-Country", "DE", ""},
		{"CloudFront-Is-Desktop-Viewer", "true|false", ""},
		{"CloudFront_Viewer_Address", "203.0.113.99:1", "203.0.113.99:1"}, // another header
		{"CloudFrontier", "1", "1"},
		{"X-Origin-Verify", "", secret},
		{"X-Origin-Verify", "guess", secret},
		{"X-Origin-Verify", "guess|" + secret, secret},
		{"X_Origin_Verify", "guess", "guess"},
		{"X-Forwarded-For", "", "127.0.0.1"},
		{"X-Forwarded-For", "203.0.113.99", "203.0.113.99, 127.0.0.1"},
		{"X-Forwarded-For", "203.0.113.99,203.0.113.98", "203.0.113.99,203.0.113.98, 127.0.0.1"},
		{"X-Forwarded-For", "203.0.113.99|203.0.113.98", "203.0.113.99, 203.0.113.98, 127.0.0.1"},
		{"X-Forwarded-For", "unknown", "unknown, 127.0.0.1"},
		{"X-Forwarded-Host", "other.example", "other.example"},
		{"X-Forwarded-Proto", "https", ""},
		{"Forwarded", "for=203.0.113.99", "for=203.0.113.99"},
		{"X-Real-IP", "203.0.113.99", ""},
		{"X-Edge-Location", "FRA", ""},
		{"Via", "", "1.1 local.cloudfront.net (CloudFront)"},
		{"Via", "1.1 proxy.example", "1.1 proxy.example|1.1 local.cloudfront.net (CloudFront)"},
		{"Expect", "100-continue", ""},
		{"Upgrade", "websocket", ""},
		{"TE", "trailers", ""},
		{"Trailer", "X-Checksum", ""},
		{"Keep-Alive", "timeout=5", ""},
		{"Proxy-Authorization", "Basic x", ""},
		{"Proxy-Connection", "keep-alive", ""},
		{"Connection", "close", ""},
		{"Connection", "Upgrade", ""},
		{"Authorization", "Bearer key", "Bearer key"},
		{"Cookie", "a=1; b=2", "a=1; b=2"},
		{"Origin", "https://site.example", "https://site.example"},
		{"Idempotency-Key", "k1", "k1"},
		{"X-Idempotency-Key", "k1|k2", "k1|k2"},
		{"User-Agent", "curl/8", "curl/8"},
		{"Accept-Encoding", "", ""},
		{"Accept-Encoding", "gzip", "gzip"},
		{"X-Anything", "1|2", "1|2"},
	} {
		for spelling, spell := range map[string]func(string) string{
			"as written": func(s string) string { return s },
			"lower":      strings.ToLower,
			"upper":      strings.ToUpper,
		} {
			t.Run(c.name+" "+c.sent+" "+spelling, func(t *testing.T) {
				_, addr, requests := newEdge(t, "127.0.0.1:0")
				var lines string
				if c.sent != "" {
					for value := range strings.SplitSeq(c.sent, "|") {
						lines += spell(c.name) + ": " + value + "\n"
					}
				}
				status, client := raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\n"+lines+"Content-Length: 0\n\n")
				if status != 200 {
					t.Fatalf("status %d", status)
				}
				want := strings.ReplaceAll(c.want, "VIEWER", client)
				if got := strings.Join((<-requests).header.Values(c.name), "|"); got != want {
					t.Errorf("the origin got %q, want %q", got, want)
				}
			})
		}
	}
}

// A viewer that names a header in Connection asks every proxy to drop it. That must not
// reach what the edge itself writes.
func TestConnectionDropsNothingOfTheEdge(t *testing.T) {
	for _, named := range []string{"CloudFront-Viewer-Address", "X-Origin-Verify", "X-Forwarded-For", "Via", "X-Amz-Cf-Id"} {
		t.Run(named, func(t *testing.T) {
			_, addr, requests := newEdge(t, "127.0.0.1:0")
			_, client := raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\nConnection: "+named+", close, "+strings.ToLower(named)+
				"\nX-Mine: 1\nConnection: x-mine\n"+named+": forged\nContent-Length: 0\n\n")
			h := (<-requests).header
			if v := h["Cloudfront-Viewer-Address"]; len(v) != 1 || v[0] != client {
				t.Errorf("CloudFront-Viewer-Address %q, want %q", v, client)
			}
			if v := h["X-Origin-Verify"]; len(v) != 1 || v[0] != secret {
				t.Errorf("X-Origin-Verify %q", v)
			}
			if v := h.Get("X-Forwarded-For"); !strings.HasSuffix(v, "127.0.0.1") {
				t.Errorf("X-Forwarded-For %q", v)
			}
			if v := h.Get("Via"); v != "1.1 local.cloudfront.net (CloudFront)" {
				t.Errorf("Via %q", v)
			}
			if v := h["X-Amz-Cf-Id"]; len(v) != 1 || v[0] == "forged" {
				t.Errorf("X-Amz-Cf-Id %q", v)
			}
			if v, ok := h["X-Mine"]; ok {
				t.Errorf("X-Mine %q, which Connection names", v)
			}
		})
	}
}

// An HTTP API speaks no WebSocket; the proxy by itself would pass the wish on.
func TestNoUpgrade(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	status, _ := raw(t, addr, "GET /api/x HTTP/1.1\nHost: site.example\nConnection: Upgrade\nUpgrade: websocket\n\n")
	h := (<-requests).header
	if status != 200 || h.Values("Connection") != nil || h.Values("Upgrade") != nil {
		t.Errorf("%d, Connection %q, Upgrade %q", status, h.Values("Connection"), h.Values("Upgrade"))
	}
}

func TestATrailerIsNotPassedOn(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	status, client := raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\nTrailer: X-Origin-Verify, CloudFront-Viewer-Address\n"+
		"Transfer-Encoding: chunked\n\n2\nhi\n0\nX-Origin-Verify: guess\nCloudFront-Viewer-Address: 203.0.113.99:1\n\n")
	got := <-requests
	if status != 200 || len(got.trailer) != 0 {
		t.Errorf("status %d, trailer %v", status, got.trailer)
	}
	if v := got.header.Values("X-Origin-Verify"); len(v) != 1 || v[0] != secret {
		t.Errorf("X-Origin-Verify %q", v)
	}
	if v := got.header.Values("CloudFront-Viewer-Address"); len(v) != 1 || v[0] != client {
		t.Errorf("CloudFront-Viewer-Address %q", v)
	}
}

// What a viewer sends ahead on one connection is of no use to the request behind it.
func TestPipelinedRequestsAreApart(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	one := "POST /api/one HTTP/1.1\nHost: site.example\nCloudFront-Viewer-Address: 203.0.113.99:1\nX-Origin-Verify: guess\nX-Forwarded-For: 203.0.113.99\nContent-Length: 2\n\nhi"
	two := "POST /api/two HTTP/1.1\nHost: site.example\nContent-Length: 0\n\n"
	statuses, client := pipeline(t, addr, one, two)
	if statuses != [2]int{200, 200} {
		t.Errorf("statuses %v", statuses)
	}
	for _, want := range []struct{ uri, forwarded string }{{"/api/one", "203.0.113.99, 127.0.0.1"}, {"/api/two", "127.0.0.1"}} {
		got := <-requests
		if got.uri != want.uri || got.header.Get("X-Forwarded-For") != want.forwarded {
			t.Errorf("%s with X-Forwarded-For %q, want %s with %q", got.uri, got.header.Get("X-Forwarded-For"), want.uri, want.forwarded)
		}
		if v := got.header.Values("CloudFront-Viewer-Address"); len(v) != 1 || v[0] != client {
			t.Errorf("%s: CloudFront-Viewer-Address %q, want %q", got.uri, v, client)
		}
		if v := got.header.Values("X-Origin-Verify"); len(v) != 1 || v[0] != secret {
			t.Errorf("%s: X-Origin-Verify %q", got.uri, v)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	seen := make(map[string]bool)
	for range 3 {
		raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\nX-Amz-Cf-Id: mine\nContent-Length: 0\n\n")
		id := (<-requests).header.Values("X-Amz-Cf-Id")
		if len(id) != 1 || !regexp.MustCompile(`^[A-Za-z0-9_=-]{32}$`).MatchString(id[0]) || seen[id[0]] {
			t.Errorf("X-Amz-Cf-Id %q", id)
		}
		seen[id[0]] = true
	}
}

// The address is CloudFront's spelling of the peer, whatever net/http calls it.
func TestViewerAddressIsWrittenAsCloudFrontDoes(t *testing.T) {
	for remote, want := range map[string]string{
		"198.51.100.10:46532":                             "198.51.100.10:46532",
		"[2600:1700:6640:e4d0:29c0:9cf7:9107:5eca]:50235": "2600:1700:6640:e4d0:29c0:9cf7:9107:5eca:50235",
		"[2001:db8::1]:443":                               "2001:db8::1:443",
		"[::ffff:198.51.100.7]:443":                       "198.51.100.7:443",
		"[fe80::1%eth0]:443":                              "fe80::1:443",
		"@":                                               "",
		"":                                                "",
		"198.51.100.10":                                   "",
		"proxy.example:443":                               "",
		"198.51.100.10:http":                              "",
		"198.51.100.10:46532, other":                      "",
	} {
		t.Run(remote, func(t *testing.T) {
			var got http.Header
			origin := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
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
			r := httptest.NewRequest("POST", "/api/x", nil)
			r.RemoteAddr = remote
			r.Header.Set("CloudFront-Viewer-Address", "203.0.113.99:1")
			r.Header.Set("X-Forwarded-For", "203.0.113.99")
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			if v := got.Get("CloudFront-Viewer-Address"); w.Code != 200 || v != want {
				t.Errorf("%d, CloudFront-Viewer-Address %q, want %q", w.Code, v, want)
			}
			forwarded := "203.0.113.99"
			if want != "" {
				forwarded += ", " + want[:strings.LastIndexByte(want, ':')]
			}
			if v := got.Get("X-Forwarded-For"); v != forwarded {
				t.Errorf("X-Forwarded-For %q, want %q", v, forwarded)
			}
		})
	}
}
