package clientip

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/realclientip/realclientip-go"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Source is where the client's address is read. The zero Source is none.
type Source struct {
	read func(*input) (netip.Addr, error)
	name string

	// header says that the source is one header, which is true only if its proxy wrote it.
	header bool

	// public says that a private address is not a client's but a proxy's, unless the
	// clients are on a private network.
	public bool
}

// String names the source.
func (s Source) String() string { return s.name }

// CloudFront reads CloudFront-Viewer-Address, as [caps.ParseViewerAddress] does.
// [caps.ViewerCaller] is the same without the checks of this package.
func CloudFront() Source {
	return Source{name: "CloudFront-Viewer-Address", header: true, read: func(in *input) (netip.Addr, error) {
		value, err := in.single("Cloudfront-Viewer-Address")
		if err != nil {
			return netip.Addr{}, err
		}
		viewer, err := caps.ParseViewerAddress(value)
		return viewer.Addr(), err
	}}
}

// Cloudflare reads CF-Connecting-IP, the address without a port that connected to
// Cloudflare
// (https://developers.cloudflare.com/fundamentals/reference/http-headers/). A zone
// whose setting Pseudo IPv4 overwrites the header has an address of 240.0.0.0/4 there
// for an IPv6 client, which is a caller too. What other people's Workers fetch comes
// from one address of Cloudflare's and shares a caller.
func Cloudflare() Source {
	return Source{name: "CF-Connecting-IP", header: true, public: true, read: func(in *input) (netip.Addr, error) {
		value, err := in.single("Cf-Connecting-Ip")
		if err != nil {
			return netip.Addr{}, err
		}
		return parse(value)
	}}
}

// maxForwarded bounds the lines of X-Forwarded-For that are looked at, in bytes. A
// hundred proxies fit; beyond it a client would make the server parse for nothing.
const maxForwarded = 8 << 10

// maxHops bounds the number of trusted proxies: more is a mistake.
const maxHops = 32

// ForwardedFor reads X-Forwarded-For behind a stated number of trusted proxies, each of
// which appends the address that it was reached from. It is the entry of that number,
// counted from the right, over all lines of the header: with one proxy the last one,
// with two the last but one. Everything left of it is what a client says of itself and
// is not looked at. Too few entries mean that the number is wrong or that somebody went
// past a proxy.
//
// API Gateway and an Application Load Balancer are one proxy each, and so is CloudFront.
// An entry may have a port, and brackets around IPv6, as some proxies write it.
func ForwardedFor(hops int) Source {
	strategy, err := realclientip.NewRightmostTrustedCountStrategy("X-Forwarded-For", hops)
	if err != nil || hops > maxHops {
		return Source{name: fmt.Sprintf("X-Forwarded-For with %d trusted proxies, where 1 to %d are possible", hops, maxHops)}
	}
	return Source{name: fmt.Sprintf("X-Forwarded-For behind %d", hops), public: true, read: func(in *input) (netip.Addr, error) {
		lines, err := in.values("X-Forwarded-For")
		if err != nil {
			return netip.Addr{}, err
		}
		size := 0
		for _, line := range lines {
			size += len(line) + 1
		}
		if size > maxForwarded {
			return netip.Addr{}, errOversized
		}
		addr := strategy.ClientIP(http.Header{"X-Forwarded-For": lines}, "")
		if addr == "" {
			return netip.Addr{}, unknown("X-Forwarded-For has no address at that place")
		}
		return parse(addr)
	}}
}

// Connection reads the connection's own address: [http.Request.RemoteAddr], or the
// sourceIp of an event. It is the client only if there is no proxy in between. A
// RemoteAddr without a port is refused: it was put there by a middleware that took it
// from a header.
func Connection() Source {
	return Source{name: "the connection", read: func(in *input) (netip.Addr, error) {
		if !in.hasPort {
			return parse(in.peer)
		}
		peer, err := netip.ParseAddrPort(in.peer)
		if err != nil {
			return netip.Addr{}, unknown("the connection has no address and port")
		}
		return peer.Addr(), nil
	}}
}

// parse reads an address. The error of netip quotes it, so it is not passed on.
func parse(value string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(value)
	if err != nil {
		return netip.Addr{}, unknown("what stands there is not an address")
	}
	return addr, nil
}

// input is what a request says about where it came from.
type input struct {
	lookup  func(name string) (values []string, clear bool) // by canonical name
	peer    string
	hasPort bool // whether peer has one
}

func (in *input) values(name string) ([]string, error) {
	values, clear := in.lookup(name)
	if !clear {
		return nil, unknown(name + " is there in two spellings")
	}
	return values, nil
}

// single returns the value of a header that has to be there once. Events have lines
// that were sent twice joined by a comma, which is no part of an address.
func (in *input) single(name string) (string, error) {
	values, err := in.values(name)
	if err == nil && (len(values) != 1 || strings.Contains(values[0], ",")) {
		err = unknown(name + " is not there exactly once")
	}
	if err != nil {
		return "", err
	}
	return values[0], nil
}

// ErrUnknown is wrapped by the errors that mean that the client's address is not known,
// and wraps [caps.ErrNoViewerAddress]. It never contains what was refused.
var ErrUnknown = fmt.Errorf("the client's address is unknown: %w", caps.ErrNoViewerAddress)

// errOversized is no ErrUnknown: a client can bring it about, and must not get at the
// budget that the unknown share.
var errOversized = errors.New("X-Forwarded-For is too long to be looked at")

func unknown(why string) error { return fmt.Errorf("%w: %s", ErrUnknown, why) }
