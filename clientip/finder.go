package clientip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

// Unknown says what becomes of a client whose address is not known.
type Unknown int

const (
	// Refuse is an error, so that nothing is called.
	Refuse Unknown = iota

	// Share makes all unknown clients one caller, with the budget of one.
	Share
)

// Config is what a [Finder] is made from.
type Config struct {
	Source Source

	// Lock is checked on every request, if it is set: what does not carry the secret in
	// X-Origin-Verify did not come through the proxy. Leave it out behind
	// [originlock.Lock.Middleware], which has checked and taken the header away.
	Lock *originlock.Lock

	// NoSideDoor states that nothing can reach the server except through the proxy that
	// writes the header: a lock in front, mutual TLS with the proxy, a tunnel, a network.
	// The sources [CloudFront] and [Cloudflare] need either this or Lock, because whoever
	// finds another way in writes the header himself. That it comes from one of the
	// proxy's addresses is not enough: other customers of the proxy do too.
	NoSideDoor bool

	// AllowPrivate accepts addresses of private networks from [ForwardedFor] and
	// [Cloudflare]: private, loopback, link-local and carriers' (100.64.0.0/10). By default
	// they are refused, because on the internet such an address is a proxy's and a sign
	// that the number of hops is wrong, and all clients would be one caller.
	// [Connection] and [CloudFront] always accept them.
	AllowPrivate bool

	Unknown Unknown   // what an unknown client gets: refused, if it is not set
	Mask    caps.Mask // which addresses are one caller
}

// Finder finds the caller of a request. It is safe for concurrent use.
type Finder struct {
	Config
	unknown caps.Caller
}

// New returns a finder, or an error that names the setting that is wrong.
func New(c Config) (*Finder, error) {
	if c.Source.read == nil {
		if c.Source.name != "" {
			return nil, fmt.Errorf("clientip.Config.Source is %s", c.Source)
		}
		return nil, errors.New("clientip.Config.Source is missing")
	}
	if c.Source.header && c.Lock == nil && !c.NoSideDoor {
		return nil, fmt.Errorf("clientip.Config: %s can be written by whoever finds a way past the proxy: set Lock, or NoSideDoor if there is none", c.Source)
	}
	if err := c.Mask.Check(); err != nil {
		return nil, fmt.Errorf("clientip.Config.Mask: %w", err)
	}
	f := &Finder{Config: c}
	switch c.Unknown {
	case Refuse:
	case Share:
		var err error
		if f.unknown, err = caps.Identity("unknown", "everybody"); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("clientip.Config.Unknown is %d: want Refuse or Share", c.Unknown)
	}
	return f, nil
}

// ErrSideDoor says that the lock is set and the request does not carry its secret, or
// that the lock cannot tell. Such a request is refused whatever Unknown says.
var ErrSideDoor = errors.New("the request did not come through the proxy")

// Request returns the caller of a request to a net/http server. The error wraps
// [ErrUnknown] or [ErrSideDoor]; either way the request is refused, and nothing else
// may be asked who the caller is.
func (f *Finder) Request(r *http.Request) (caps.Caller, error) {
	return f.find(r.Context(), &input{
		lookup:  func(name string) ([]string, bool) { return r.Header[name], true },
		peer:    r.RemoteAddr,
		hasPort: true,
	})
}

// Event is Request for an event of an HTTP API or a function URL, payload format 2.0.
func (f *Finder) Event(ctx context.Context, e events.APIGatewayV2HTTPRequest) (caps.Caller, error) {
	return f.find(ctx, &input{
		lookup: func(name string) ([]string, bool) { return lookup(e.Headers, one, name) },
		peer:   e.RequestContext.HTTP.SourceIP,
	})
}

// ProxyEvent is Request for an event of a REST API, or of an HTTP API with payload
// format 1.0.
func (f *Finder) ProxyEvent(ctx context.Context, e events.APIGatewayProxyRequest) (caps.Caller, error) {
	return f.find(ctx, &input{
		lookup: func(name string) ([]string, bool) {
			if e.MultiValueHeaders == nil {
				return lookup(e.Headers, one, name)
			}
			return lookup(e.MultiValueHeaders, all, name)
		},
		peer: e.RequestContext.Identity.SourceIP,
	})
}

func one(value string) []string { return []string{value} }

func all(values []string) []string { return values }

// lookup finds a header whatever the case of its name. Two spellings of it have no
// order, so they are not clear.
func lookup[V any](headers map[string]V, values func(V) []string, name string) (found []string, clear bool) {
	for spelling, v := range headers {
		if !strings.EqualFold(spelling, name) {
			continue
		}
		if found != nil {
			return nil, false
		}
		found = values(v)
	}
	return found, true
}

func (f *Finder) find(ctx context.Context, in *input) (caps.Caller, error) {
	if f.Lock != nil {
		secret, err := in.values(originlock.Header)
		if err != nil || len(secret) != 1 {
			return caps.Caller{}, ErrSideDoor
		}
		if ok, err := f.Lock.Check(ctx, secret[0]); err != nil {
			return caps.Caller{}, fmt.Errorf("%w: %w", ErrSideDoor, err)
		} else if !ok {
			return caps.Caller{}, ErrSideDoor
		}
	}
	addr, err := f.Source.read(in)
	if err == nil && f.Source.public && !f.AllowPrivate && private(addr) {
		err = unknown("it is of a private network, so it is a proxy's")
	}
	var caller caps.Caller
	if err == nil {
		caller, err = f.Mask.Caller(addr)
	}
	switch {
	case err == nil:
		return caller, nil
	case !errors.Is(err, caps.ErrNoViewerAddress):
		return caps.Caller{}, err
	case f.Unknown == Share:
		return f.unknown, nil
	case errors.Is(err, ErrUnknown):
		return caps.Caller{}, err
	default:
		return caps.Caller{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
}

// carriers is the space shared by carriers' NAT (RFC 6598), thisNetwork the addresses
// that mean "this host on this network" (RFC 1122 section 3.2.1.3).
var (
	carriers    = netip.MustParsePrefix("100.64.0.0/10")
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
)

// private tells whether an address cannot be on the internet.
func private(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || carriers.Contains(addr) || thisNetwork.Contains(addr)
}
