package edge

import (
	"crypto/rand"
	"encoding/base64"
	"net/http/httputil"
	"net/netip"
	"strconv"
	"strings"
)

// rewrite makes the origin's request out of the viewer's. It runs after the proxy has
// removed the hop-by-hop headers and those that a viewer names in Connection, so naming
// ours there removes nothing.
func (e *Edge) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(e.origin)
	p.Out.URL.RawQuery = p.In.URL.RawQuery // as it came, also what does not parse
	p.Out.Trailer = nil
	h := p.Out.Header
	for name := range h {
		if strings.HasPrefix(name, "Cloudfront-") || strings.HasPrefix(name, "X-Edge-") {
			delete(h, name)
		}
	}
	// The proxy puts Connection, Upgrade and Te back for protocols that it can switch
	// to and an HTTP API cannot.
	for _, name := range [...]string{"Connection", "Upgrade", "Te", "Expect", "X-Real-Ip"} {
		delete(h, name)
	}
	// The proxy takes these away; CloudFront passes them on.
	for _, name := range [...]string{"Forwarded", "X-Forwarded-Host"} {
		if sent, ok := p.In.Header[name]; ok {
			h[name] = sent
		}
	}
	once(h)

	h["X-Origin-Verify"] = []string{*e.secret.Load()}
	forwarded := p.In.Header["X-Forwarded-For"]
	if ip, port, ok := viewerAddress(p.In.RemoteAddr); ok {
		h["Cloudfront-Viewer-Address"] = []string{ip + ":" + port}
		forwarded = append(forwarded[:len(forwarded):len(forwarded)], ip)
	}
	if len(forwarded) > 0 {
		h["X-Forwarded-For"] = []string{strings.Join(forwarded, ", ")}
	}
	h["Via"] = append(h["Via"], "1.1 local.cloudfront.net (CloudFront)")
	h["X-Amz-Cf-Id"] = []string{requestID()}
}

// viewerAddress splits the peer of a connection as CloudFront writes it: IPv4 also for a
// viewer that reached an IPv6 socket over IPv4, and IPv6 without brackets or zone. It
// reports false for a connection that has no address, such as a Unix socket's.
func viewerAddress(remote string) (ip, port string, ok bool) {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return "", "", false
	}
	return peer.Addr().Unmap().WithZone("").String(), strconv.Itoa(int(peer.Port())), true
}

func requestID() string {
	var b [24]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.URLEncoding.EncodeToString(b[:])
}
