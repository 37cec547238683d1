package smoke

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// aws plays a deployment: CloudFront with TLS, and the API's own URL. Each field breaks
// one promise.
type aws struct {
	believesForwardedFor, believesViewerAddress, passesSecretOn bool
	openSideDoor, cachesErrors, errorPages, plainHTTP           bool
	notCloudFront, countsV6Whole, forgets                       bool

	counts map[string]int
	calls  int
}

func (s *aws) serve(w http.ResponseWriter, r *http.Request) {
	s.calls++
	if !s.notCloudFront {
		w.Header().Set("X-Amz-Cf-Id", "id")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Apigw-Requestid", fmt.Sprint(s.calls))
	refuse := func(status int, code string) {
		if s.errorPages {
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>oops")
			return
		}
		if s.cachesErrors {
			w.Header().Set("Apigw-Requestid", "the first")
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q}`, code)
	}
	if s.passesSecretOn && r.Header.Get("X-Origin-Verify") != "" {
		refuse(401, "not_via_cloudfront")
		return
	}
	if r.URL.Path != demo {
		refuse(404, "not_found")
		return
	}
	if r.Method != http.MethodPost {
		refuse(405, "method_not_allowed")
		return
	}
	viewer := "198.51.100.10"
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	if strings.Contains(host, ":") {
		if viewer = "2001:db8::/64"; s.countsV6Whole {
			viewer = "2001:db8::1"
		}
	}
	if s.believesForwardedFor && r.Header.Get("X-Forwarded-For") != "" || s.believesViewerAddress && r.Header.Get("CloudFront-Viewer-Address") != "" {
		viewer = forged
	}
	if s.counts == nil || s.forgets {
		s.counts = map[string]int{}
	}
	if s.counts[viewer] == 5 {
		w.WriteHeader(429)
		fmt.Fprintf(w, `{"capped":true,"countedAs":%q,"count":5}`, viewer)
		return
	}
	s.counts[viewer]++
	fmt.Fprintf(w, `{"capped":false,"countedAs":%q,"count":%d}`, viewer, s.counts[viewer])
}

func try(t *testing.T, s *aws) (bool, string) {
	t.Helper()
	edge := httptest.NewTLSServer(http.HandlerFunc(s.serve))
	defer edge.Close()
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.openSideDoor {
			s.serve(w, r)
			return
		}
		w.WriteHeader(401)
		fmt.Fprint(w, `{"error":"not_via_cloudfront"}`)
	}))
	defer door.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.plainHTTP {
			s.serve(w, r)
			return
		}
		w.WriteHeader(403)
	}))
	defer plain.Close()
	u, err := url.Parse(edge.URL)
	if err != nil {
		t.Fatal(err)
	}
	six := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	var out strings.Builder
	r := &run{edge: u, sideDoor: door.URL, plain: plain.URL, v4: edge.Client(), say: func(p Promise) error {
		_, err := fmt.Fprintln(&out, p)
		return err
	}}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		six.Listener = l
		six.StartTLS()
		defer six.Close()
		r.v6 = six.Client()
		r.v6.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp6", l.Addr().String())
		}
	} else {
		r.v6 = client("tcp6")
	}
	ok, err := r.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ok, out.String()
}

func TestEverythingKept(t *testing.T) {
	ok, text := try(t, &aws{})
	if !ok || strings.Contains(text, "FAIL") || strings.Count(text, "pass ")+strings.Count(text, "---- ") != 8 {
		t.Error(text)
	}
}

func TestEachPromiseBroken(t *testing.T) {
	for promise, s := range map[string]*aws{
		"a forged X-Forwarded-For is the same bucket":                            {believesForwardedFor: true},
		"a forged CloudFront-Viewer-Address through the edge is the same bucket": {believesViewerAddress: true},
		"the edge puts its own X-Origin-Verify in the place of a viewer's":       {passesSecretOn: true},
		"the side door is shut": {openSideDoor: true},
		"errors are not kept for other viewers, and no page takes their place": {cachesErrors: true},
		"errors are not kept for other viewers, and no page":                   {errorPages: true},
		"HTTPS only": {plainHTTP: true},
		"the demo endpoint answers through CloudFront": {notCloudFront: true},
		"a forged X-Forwarded-For is the same":         {forgets: true},
	} {
		ok, text := try(t, s)
		if ok || !strings.Contains(text, "FAIL "+promise) {
			t.Errorf("%s:\n%s", promise, text)
		}
	}
}

func TestIPv6(t *testing.T) {
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Log("this machine has no IPv6; the promise is then reported as not tried")
		if ok, text := try(t, &aws{}); !ok || !strings.Contains(text, "---- a viewer with IPv6") {
			t.Error(text)
		}
		return
	} else {
		l.Close()
	}
	if ok, text := try(t, &aws{countsV6Whole: true}); ok || !strings.Contains(text, "FAIL a viewer with IPv6") {
		t.Error(text)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, u := range []string{"", "d.cloudfront.net", "https://d.cloudfront.net/api", "ftp://d", "https://u:p@d"} {
		if _, err := Run(t.Context(), u, "", nil); err == nil || !strings.Contains(err.Error(), "outputs of the stack") {
			t.Errorf("%q: %v", u, err)
		}
	}
	if _, err := Run(t.Context(), "https://d.cloudfront.net", "nothing", nil); err == nil {
		t.Error("a side door that is no URL")
	}
	if _, err := Run(t.Context(), "http://127.0.0.1:1", "", nil); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}
