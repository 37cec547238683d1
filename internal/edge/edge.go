// Package edge plays CloudFront on one machine: what it does to headers between the
// viewer and the origin, with the managed policies that the deployment uses
// (CachingDisabled, AllViewerExceptHostHeader) and the custom header of the origin.
//
// What it does as the real one
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/RequestAndResponseBehaviorCustomOrigin.html):
// every CloudFront-* header of a viewer is dropped and CloudFront-Viewer-Address
// written from the connection, IPv6 without brackets; a viewer's X-Origin-Verify is
// replaced by the secret; the viewer is appended to X-Forwarded-For; Host becomes the
// origin's; a GET with a body is refused; paths outside /api/ go to the site.
//
// What it does not: TLS, caching, compression, HTTP/2 and 3, WAF, limits on header
// sizes, and error pages. The real one tries an origin up to three times for GET and
// HEAD, never for POST; this one tries once.
package edge

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// Config is what an edge is made from.
type Config struct {
	Origin *url.URL     // the side door
	Secret string       // goes to the origin in X-Origin-Verify
	Site   http.Handler // answers outside /api/; nil: 404
	Logger *slog.Logger // nil: slog.Default()
}

// Edge is the distribution. It is safe for concurrent use.
type Edge struct {
	secret atomic.Pointer[string]
	proxy  httputil.ReverseProxy
	site   http.Handler
}

// New returns an edge, or an error that names the setting that is wrong.
func New(c Config) (*Edge, error) {
	if c.Origin == nil || c.Origin.Host == "" {
		return nil, errors.New("edge.Config.Origin is missing")
	}
	if c.Secret == "" {
		return nil, errors.New("edge.Config.Secret is empty: an edge that sends none would be refused")
	}
	if c.Site == nil {
		c.Site = http.NotFoundHandler()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	e := &Edge{site: c.Site}
	e.SetSecret(c.Secret)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1024
	transport.ResponseHeaderTimeout = deadlines.Edge
	transport.DisableCompression = true
	transport.Proxy = nil
	e.proxy = httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { e.rewrite(r, c.Origin) },
		Transport:  transport,
		BufferPool: new(buffers),
		ErrorLog:   slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				status = http.StatusGatewayTimeout
			}
			http.Error(w, "the origin could not be reached", status)
		},
	}
	return e, nil
}

// SetSecret changes what the edge sends from the next request on, as a rotation does.
func (e *Edge) SetSecret(secret string) { e.secret.Store(&secret) }

func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "DELETE":
	default:
		http.Error(w, "this method is not supported", http.StatusForbidden)
		return
	}
	if (r.Method == "GET" || r.Method == "HEAD") && r.ContentLength != 0 {
		http.Error(w, "a GET request has no body", http.StatusForbidden)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		e.proxy.ServeHTTP(w, r)
		return
	}
	e.site.ServeHTTP(w, r)
}

// rewrite runs after the proxy has removed the hop-by-hop headers, so a viewer that
// names ours in Connection removes nothing.
func (e *Edge) rewrite(p *httputil.ProxyRequest, origin *url.URL) {
	p.SetURL(origin)
	p.Out.URL.RawQuery = p.In.URL.RawQuery // as it came, also what does not parse
	h := p.Out.Header
	for name := range h {
		if strings.HasPrefix(name, "Cloudfront-") {
			delete(h, name)
		}
	}
	viewer := viewerAddress(p.In.RemoteAddr)
	h["Cloudfront-Viewer-Address"] = []string{viewer}
	h["X-Origin-Verify"] = []string{*e.secret.Load()}

	ip := viewer[:strings.LastIndexByte(viewer, ':')]
	if sent := p.In.Header.Values("X-Forwarded-For"); len(sent) > 0 {
		ip = strings.Join(sent, ", ") + ", " + ip
	}
	h["X-Forwarded-For"] = []string{ip}
	h["Via"] = append(h["Via"], "1.1 local.cloudfront.net (CloudFront)")
	h["X-Amz-Cf-Id"] = []string{requestID()}
}

// viewerAddress writes the peer as CloudFront does: ip:port, without brackets.
func viewerAddress(remote string) string {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	addr := peer.Addr().Unmap().WithZone("")
	_, port, _ := net.SplitHostPort(remote)
	return addr.String() + ":" + port
}

func requestID() string {
	var b [24]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.URLEncoding.EncodeToString(b[:])
}

// buffers keeps the copy buffers of the proxy.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// Close drops idle connections to the origin.
func (e *Edge) Close() error {
	e.proxy.Transport.(*http.Transport).CloseIdleConnections()
	return nil
}
