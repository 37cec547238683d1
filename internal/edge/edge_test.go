package edge_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/edge"
)

const secret = "the secret of the edge, which is long enough"

// seen is what reached the origin.
type seen struct {
	header  http.Header
	trailer http.Header
	host    string
	uri     string
}

func newEdge(t *testing.T, listen string) (e *edge.Edge, addr string, requests chan seen) {
	t.Helper()
	requests = make(chan seen, 16)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Header.Clone(), r.Trailer.Clone(), r.Host, r.RequestURI}
		w.Write(body)
	}))
	t.Cleanup(origin.Close)
	target, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	e, err = edge.New(edge.Config{Origin: target, Secret: secret, Site: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the site")
	})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	front := &httptest.Server{Listener: l, Config: &http.Server{Handler: e}}
	front.Start()
	t.Cleanup(func() { front.Close(); e.Close() })
	return e, l.Addr().String(), requests
}

// raw sends a request byte by byte, so that nothing tidies its headers, and returns
// the status and the client's own address.
func raw(t *testing.T, addr, request string) (status int, client string) {
	t.Helper()
	statuses, client := send(t, addr, request)
	return statuses[0], client
}

// pipeline sends two requests at once on one connection.
func pipeline(t *testing.T, addr, one, two string) (statuses [2]int, client string) {
	t.Helper()
	got, client := send(t, addr, one, two)
	return [2]int(got), client
}

func send(t *testing.T, addr string, requests ...string) (statuses []int, client string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(strings.Join(requests, ""), "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for range requests {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		statuses = append(statuses, res.StatusCode)
	}
	return statuses, conn.LocalAddr().String()
}

func TestForgedHeadersAreReplaced(t *testing.T) {
	for name, forged := range map[string]string{
		"none":         "",
		"plain":        "CloudFront-Viewer-Address: 203.0.113.99:1\nX-Origin-Verify: guess\n",
		"twice":        "CloudFront-Viewer-Address: 203.0.113.99:1\nCloudFront-Viewer-Address: 203.0.113.98:1\nX-Origin-Verify: guess\nX-Origin-Verify: again\n",
		"other case":   "cLOUDfRONT-vIEWER-aDDRESS: 203.0.113.99:1\nx-oRIGIN-vERIFY: guess\n",
		"hop by hop":   "Connection: CloudFront-Viewer-Address, X-Origin-Verify, X-Forwarded-For\nCloudFront-Viewer-Address: 203.0.113.99:1\n",
		"more of them": "CloudFront-Viewer-Country: DE\nCloudFront-Forwarded-Proto: https\n",
		"trailer":      "Trailer: X-Origin-Verify\nTE: trailers\n",
		"upgrade":      "Connection: Upgrade, X-Origin-Verify\nUpgrade: websocket\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, addr, requests := newEdge(t, "127.0.0.1:0")
			status, client := raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\n"+forged+"Content-Length: 0\n\n")
			got := <-requests
			if status != 200 {
				t.Errorf("status %d, want 200", status)
			}
			for header, want := range map[string]string{
				"Cloudfront-Viewer-Address": client,
				"X-Origin-Verify":           secret,
				"X-Forwarded-For":           "127.0.0.1",
			} {
				if v := got.header.Values(header); len(v) != 1 || v[0] != want {
					t.Errorf("%s: %q, want %q once", header, v, want)
				}
			}
			for header := range got.header {
				if strings.HasPrefix(header, "Cloudfront-") && header != "Cloudfront-Viewer-Address" {
					t.Errorf("the viewer's %s reached the origin", header)
				}
			}
			if got.host == "site.example" {
				t.Error("the viewer's Host reached the origin")
			}
		})
	}
}

func TestForwardedForIsAppendedTo(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	raw(t, addr, "POST /api/x?a=1;b=%zz HTTP/1.1\nHost: site.example\nX-Forwarded-For: 203.0.113.99\nX-Forwarded-For: 203.0.113.98\nContent-Length: 0\n\n")
	got := <-requests
	if v := got.header.Values("X-Forwarded-For"); len(v) != 1 || v[0] != "203.0.113.99, 203.0.113.98, 127.0.0.1" {
		t.Errorf("X-Forwarded-For %q", v)
	}
	if got.uri != "/api/x?a=1;b=%zz" {
		t.Errorf("the origin was asked for %q", got.uri)
	}
}

func TestIPv6ViewerHasNoBrackets(t *testing.T) {
	_, addr, requests := newEdge(t, "[::1]:0")
	_, client := raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\nContent-Length: 0\n\n")
	got := <-requests
	_, port, _ := net.SplitHostPort(client)
	if v := got.header.Get("CloudFront-Viewer-Address"); v != "::1:"+port {
		t.Errorf("CloudFront-Viewer-Address %q, want %q", v, "::1:"+port)
	}
}

func TestViewersOfDifferentAddresses(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	for i := 2; i < 5; i++ {
		ip := fmt.Sprintf("127.0.0.%d", i)
		client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext}}
		res, err := client.Post("http://"+addr+"/api/x", "text/plain", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		client.CloseIdleConnections()
		if got := (<-requests).header.Get("CloudFront-Viewer-Address"); !strings.HasPrefix(got, ip+":") {
			t.Errorf("CloudFront-Viewer-Address %q, want %s", got, ip)
		}
	}
}

func TestSecretChangesWithTheNextRequest(t *testing.T) {
	e, addr, requests := newEdge(t, "127.0.0.1:0")
	e.SetSecret("another secret, which is also long enough")
	raw(t, addr, "POST /api/x HTTP/1.1\nHost: site.example\nContent-Length: 0\n\n")
	if got := (<-requests).header.Get("X-Origin-Verify"); got != "another secret, which is also long enough" {
		t.Errorf("X-Origin-Verify %q", got)
	}
}

func TestWhatTheOriginNeverSees(t *testing.T) {
	_, addr, requests := newEdge(t, "127.0.0.1:0")
	for request, status := range map[string]int{
		"GET / HTTP/1.1\nHost: x\n\n":                                             200, // the site
		"GET /apix HTTP/1.1\nHost: x\n\n":                                         200,
		"GET /api/x HTTP/1.1\nHost: x\nContent-Length: 1\n\nx":                    403,
		"GET /api/x HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n": 403,
		"TRACE /api/x HTTP/1.1\nHost: x\n\n":                                      403,
		"BREW /api/x HTTP/1.1\nHost: x\nContent-Length: 0\n\n":                    403,
	} {
		if got, _ := raw(t, addr, request); got != status {
			t.Errorf("%q: %d, want %d", request, got, status)
		}
	}
	if n := len(requests); n != 0 {
		t.Errorf("%d requests reached the origin, want none", n)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]edge.Config{
		"no origin": {Secret: secret},
		"no secret": {Origin: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}},
	} {
		if _, err := edge.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
