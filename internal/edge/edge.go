// Package edge plays CloudFront on one machine: what it does to a request between the
// viewer and the origin, with the managed policies that the deployment uses
// (CachingDisabled, and all viewer headers except Host plus CloudFront-Viewer-Address)
// and the custom header of the origin lock.
//
// What it does as the real one. The rules are from
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/RequestAndResponseBehaviorCustomOrigin.html
// ("custom origins" below) unless another page is named:
//
//   - Every CloudFront-* header of a viewer is dropped, and CloudFront-Viewer-Address
//     is written from the connection, IPv6 without brackets
//     (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/adding-cloudfront-headers.html).
//   - A viewer's X-Origin-Verify is replaced by the secret
//     (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/add-origin-custom-headers.html).
//   - The viewer is appended to X-Forwarded-For; what it sent there stays.
//   - Host becomes the origin's. X-Forwarded-Proto, X-Real-IP, X-Edge-*, Expect,
//     Upgrade, TE, Trailer, Proxy-* and the other hop-by-hop headers are dropped,
//     all others pass, Forwarded and X-Forwarded-Host among them.
//   - X-Amz-Cf-Id and Via are added.
//   - A GET with a body and a method outside the seven are answered 403.
//   - GET and HEAD are tried three times, any other method once.
//   - An origin that cannot be reached is 502, one that is too slow 504.
//   - Paths outside /api/ go to the site.
//
// No header chooses the viewer's address. To play several viewers, dial from several
// addresses of 127.0.0.0/8, or from ::1.
//
// What it does not: TLS, HTTP/2 and 3, caching, compression, WAF, and WebSocket. It has
// no limit of 8,192 bytes on a URL or on the length of a request (net/http's is 1 MB),
// it does not normalize dot segments before it chooses between site and origin, its
// error pages are a line of text, and it adds no headers to answers: those of the page
// come with it, from package site. A retried GET starts at once, where the real one waits
// for a connection up to ten seconds each time.
package edge

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// Config is what an edge is made from.
type Config struct {
	Origin          *url.URL      // the side door
	Secret          string        // goes to the origin in X-Origin-Verify
	Site            http.Handler  // answers outside /api/; nil: 404
	ResponseTimeout time.Duration // for the origin's first byte, each time it is tried; 0: the distribution's
	Logger          *slog.Logger  // nil: slog.Default()
}

// Edge is the distribution. It is safe for concurrent use.
type Edge struct {
	secret    atomic.Pointer[string]
	origin    *url.URL
	transport *http.Transport
	proxy     httputil.ReverseProxy
	site      http.Handler
}

// New returns an edge, or an error that names the setting that is wrong.
func New(c Config) (*Edge, error) {
	if c.Origin == nil || c.Origin.Scheme == "" || c.Origin.Host == "" {
		return nil, errors.New("edge.Config.Origin is missing: give the side door's URL with its scheme")
	}
	if c.Secret == "" {
		return nil, errors.New("edge.Config.Secret is empty: give the secret that the origin accepts")
	}
	if c.Site == nil {
		c.Site = http.NotFoundHandler()
	}
	if c.ResponseTimeout == 0 {
		c.ResponseTimeout = deadlines.Edge
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	e := &Edge{origin: c.Origin, site: c.Site}
	e.SetSecret(c.Secret)
	e.transport = http.DefaultTransport.(*http.Transport).Clone()
	e.transport.MaxIdleConns, e.transport.MaxIdleConnsPerHost = 0, 1024
	e.transport.ResponseHeaderTimeout = c.ResponseTimeout
	e.transport.DisableCompression = true
	e.transport.Proxy = nil
	e.proxy = httputil.ReverseProxy{
		Rewrite:      e.rewrite,
		Transport:    attempts{e.transport},
		BufferPool:   new(buffers),
		ErrorLog:     slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn),
		ErrorHandler: originFailed,
	}
	return e, nil
}

// SetSecret changes what the edge sends from the next request on, as a rotation does.
func (e *Edge) SetSecret(secret string) { e.secret.Store(&secret) }

// Close drops idle connections to the origin.
func (e *Edge) Close() error {
	e.transport.CloseIdleConnections()
	return nil
}

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

func originFailed(w http.ResponseWriter, _ *http.Request, err error) {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		http.Error(w, "the origin did not answer in time", http.StatusGatewayTimeout)
		return
	}
	http.Error(w, "the origin could not be reached", http.StatusBadGateway)
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
