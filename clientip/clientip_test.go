package clientip_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/clientip"
	"github.com/seed3e88d9a2/spendcap/originlock"
)

const secret = "0123456789abcdef0123456789abcdef0123456789abcdef"

func finder(tb testing.TB, c clientip.Config) *clientip.Finder {
	tb.Helper()
	f, err := clientip.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// request has the lines of one header and a peer without its port.
type request struct {
	name  string
	lines []string
	peer  string
}

// ask finds the caller in all forms in which a request can come.
func (r request) ask(t *testing.T, f *clientip.Finder) (callers [4]caps.Caller, errs [4]error) {
	t.Helper()
	plain := httptest.NewRequest(http.MethodPost, "/", nil)
	plain.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(r.peer), 50235).String()
	v2 := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"host": "example.com"}}
	v1 := events.APIGatewayProxyRequest{Headers: map[string]string{"Host": "example.com"}}
	multi := events.APIGatewayProxyRequest{MultiValueHeaders: map[string][]string{"Host": {"example.com"}}, Headers: map[string]string{}}
	v2.RequestContext.HTTP.SourceIP, v1.RequestContext.Identity.SourceIP, multi.RequestContext.Identity.SourceIP = r.peer, r.peer, r.peer
	if r.lines != nil {
		for _, line := range r.lines {
			plain.Header.Add(r.name, line)
		}
		v2.Headers[strings.ToLower(r.name)] = strings.Join(r.lines, ",")
		v1.Headers[r.name] = strings.Join(r.lines, ",")
		multi.MultiValueHeaders[r.name] = r.lines
		multi.Headers[r.name] = r.lines[len(r.lines)-1]
	}
	callers[0], errs[0] = f.Request(plain)
	callers[1], errs[1] = f.Event(t.Context(), v2)
	callers[2], errs[2] = f.ProxyEvent(t.Context(), v1)
	callers[3], errs[3] = f.ProxyEvent(t.Context(), multi)
	return callers, errs
}

func TestSources(t *testing.T) {
	const (
		refuse  = "refuse"
		proxy   = "192.0.2.1"
		private = "private"
	)
	viewer, cloudflare, forwarded := "CloudFront-Viewer-Address", "CF-Connecting-IP", "X-Forwarded-For"
	lines := func(l ...string) []string { return l }
	for _, c := range []struct {
		source clientip.Source
		name   string
		lines  []string
		peer   string
		want   string // "private": accepted with AllowPrivate only, as the last of lines or the peer
	}{
		{clientip.CloudFront(), viewer, lines("198.51.100.10:46532"), proxy, "198.51.100.10"},
		{clientip.CloudFront(), viewer, lines("2600:1700:6640:e4d0:29c0:9cf7:9107:5eca:50235"), proxy, "2600:1700:6640:e4d0::/64"},
		{clientip.CloudFront(), viewer, lines("10.0.0.7:443"), proxy, "10.0.0.7"},
		{clientip.CloudFront(), viewer, nil, proxy, refuse},
		{clientip.CloudFront(), viewer, lines("198.51.100.10"), proxy, refuse},
		{clientip.CloudFront(), viewer, lines("198.51.100.10:46532", "203.0.113.9:1"), proxy, refuse},
		{clientip.CloudFront(), viewer, lines("198.51.100.10:46532,203.0.113.9:1"), proxy, refuse},
		{clientip.CloudFront(), viewer, lines("224.0.0.1:443"), proxy, refuse},
		{clientip.CloudFront(), forwarded, lines("198.51.100.10"), proxy, refuse},

		{clientip.Cloudflare(), cloudflare, lines("198.51.100.10"), proxy, "198.51.100.10"},
		{clientip.Cloudflare(), cloudflare, lines("2001:db8:1:2:3::4"), proxy, "2001:db8:1:2::/64"},
		{clientip.Cloudflare(), cloudflare, lines("2001:DB8:1:2:0:0:0:1"), proxy, "2001:db8:1:2::/64"},
		{clientip.Cloudflare(), cloudflare, lines("::ffff:198.51.100.7"), proxy, "198.51.100.7"},
		{clientip.Cloudflare(), cloudflare, lines("246.1.2.3"), proxy, "246.1.2.3"}, // Pseudo IPv4
		{clientip.Cloudflare(), cloudflare, nil, proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines(""), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("unknown"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines(" 198.51.100.10"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("198.51.100.10:443"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("[2001:db8::1]"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("198.51.100.010"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("fe80::1%eth0"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("198.51.100.10", "203.0.113.9"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("198.51.100.10", "198.51.100.10"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("198.51.100.10, 203.0.113.9"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("0.0.0.0"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("255.255.255.255"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("239.1.2.3"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("ff02::1"), proxy, refuse},
		{clientip.Cloudflare(), cloudflare, lines("10.1.2.3"), proxy, private},
		{clientip.Cloudflare(), cloudflare, lines("127.0.0.1"), proxy, private},
		{clientip.Cloudflare(), cloudflare, lines("100.64.0.1"), proxy, private},
		{clientip.Cloudflare(), cloudflare, lines("169.254.1.1"), proxy, private},
		{clientip.Cloudflare(), cloudflare, lines("0.1.2.3"), proxy, private},
		{clientip.Cloudflare(), forwarded, lines("198.51.100.10"), proxy, refuse},

		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(1), forwarded, lines("203.0.113.99, 198.51.100.10"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(1), forwarded, lines("203.0.113.99", "198.51.100.10"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(2), forwarded, lines("203.0.113.99, 198.51.100.10, 192.0.2.7"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(2), forwarded, lines("203.0.113.99", "198.51.100.10,192.0.2.7"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(2), forwarded, lines("garbage, , 198.51.100.10, 10.0.0.1"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(2), forwarded, lines("198.51.100.10"), proxy, refuse}, // too few
		{clientip.ForwardedFor(3), forwarded, lines("198.51.100.10", "192.0.2.7"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, nil, proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines(""), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, "), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, unknown"), proxy, refuse},
		{clientip.ForwardedFor(2), forwarded, lines("198.51.100.10, unknown, 192.0.2.7"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10:46532"), proxy, "198.51.100.10"},
		{clientip.ForwardedFor(1), forwarded, lines("[2001:db8:1:2::3]:46532"), proxy, "2001:db8:1:2::/64"},
		{clientip.ForwardedFor(1), forwarded, lines("2001:db8:1:2::3"), proxy, "2001:db8:1:2::/64"},
		{clientip.ForwardedFor(1), forwarded, lines("fe80::1%eth0"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10%eth0"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("::"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("224.0.0.1"), proxy, refuse},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, 10.0.0.1"), proxy, private},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, ::1"), proxy, private},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, fd00::1"), proxy, private},
		{clientip.ForwardedFor(1), forwarded, lines("198.51.100.10, ::ffff:192.168.0.1"), proxy, private},
		{clientip.ForwardedFor(1), "Forwarded", lines("for=198.51.100.10"), proxy, refuse},

		{clientip.Connection(), forwarded, lines("203.0.113.99"), "198.51.100.10", "198.51.100.10"},
		{clientip.Connection(), cloudflare, lines("203.0.113.99"), "2001:db8:1:2::3", "2001:db8:1:2::/64"},
		{clientip.Connection(), viewer, lines("203.0.113.99:1"), "::ffff:198.51.100.7", "198.51.100.7"},
		{clientip.Connection(), viewer, nil, "127.0.0.1", "127.0.0.1"},
		{clientip.Connection(), viewer, nil, "192.168.0.7", "192.168.0.7"},
		{clientip.Connection(), viewer, nil, "fe80::1%eth0", refuse},
		{clientip.Connection(), viewer, nil, "0.0.0.0", refuse},
		{clientip.Connection(), viewer, nil, "ff02::1", refuse},
	} {
		r := request{c.name, c.lines, c.peer}
		for _, allow := range []bool{false, true} {
			f := finder(t, clientip.Config{Source: c.source, NoSideDoor: true, AllowPrivate: allow})
			callers, errs := r.ask(t, f)
			for i, caller := range callers {
				refused := c.want == refuse || c.want == private && !allow
				switch {
				case refused && (!errors.Is(errs[i], clientip.ErrUnknown) || !errors.Is(errs[i], caps.ErrNoViewerAddress) || !caller.IsZero()):
					t.Errorf("%v: %q from %s, form %d, private %t: %v, %v; want it refused", c.source, c.lines, c.peer, i, allow, caller, errs[i])
				case !refused && (errs[i] != nil || c.want != private && caller.String() != c.want):
					t.Errorf("%v: %q from %s, form %d, private %t: %v, %v; want %s", c.source, c.lines, c.peer, i, allow, caller, errs[i], c.want)
				}
				if errs[i] != nil && len(c.lines) > 0 && strings.ContainsAny(c.lines[0], ".:") && strings.Contains(errs[i].Error(), c.lines[0]) {
					t.Errorf("the error shows the value: %v", errs[i])
				}
			}
		}
	}
}

// A header in two spellings has no order in an event, so there it is no address.
func TestTwoSpellings(t *testing.T) {
	for _, c := range []struct {
		source clientip.Source
		a, b   string
	}{
		{clientip.ForwardedFor(1), "X-Forwarded-For", "x-forwarded-for"},
		{clientip.Cloudflare(), "CF-Connecting-IP", "cf-connecting-ip"},
	} {
		f := finder(t, clientip.Config{Source: c.source, NoSideDoor: true})
		_, err1 := f.Event(t.Context(), events.APIGatewayV2HTTPRequest{Headers: map[string]string{c.a: "198.51.100.10", c.b: "198.51.100.10"}})
		_, err2 := f.ProxyEvent(t.Context(), events.APIGatewayProxyRequest{MultiValueHeaders: map[string][]string{c.a: {"198.51.100.10"}, c.b: {"198.51.100.10"}}})
		if !errors.Is(err1, clientip.ErrUnknown) || !errors.Is(err2, clientip.ErrUnknown) {
			t.Errorf("%v: %v, %v", c.source, err1, err2)
		}
	}
}

// What a middleware took from a header has no port, and a Unix socket has no address.
func TestConnectionWithoutAddress(t *testing.T) {
	f := finder(t, clientip.Config{Source: clientip.Connection()})
	for _, remote := range []string{"", "@", "198.51.100.10", "2001:db8::1", "198.51.100.10:", "localhost:1", "198.51.100.10:99999"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.RemoteAddr = remote
		if caller, err := f.Request(r); !errors.Is(err, clientip.ErrUnknown) || !caller.IsZero() {
			t.Errorf("%q: %v, %v", remote, caller, err)
		}
	}
}

// Clients without an address are refused, or share the budget of one caller that is no
// address; what a client can bring about by itself does not get there.
func TestUnknown(t *testing.T) {
	f := finder(t, clientip.Config{Source: clientip.ForwardedFor(1), Unknown: clientip.Share})
	var shared caps.Caller
	for _, lines := range [][]string{nil, {""}, {"unknown"}, {"10.0.0.1"}, {"224.0.0.1"}, {"fe80::1%eth0"}} {
		callers, errs := request{"X-Forwarded-For", lines, "192.0.2.1"}.ask(t, f)
		for i, caller := range callers {
			if errs[i] != nil || caller.String() != "unknown" || !shared.IsZero() && caller != shared {
				t.Errorf("%q: %v, %v", lines, caller, errs[i])
			}
			shared = caller
		}
	}
	long := strings.Repeat("203.0.113.99, ", 600)
	for _, lines := range [][]string{{long + "198.51.100.10"}, {long, "198.51.100.10"}} {
		callers, errs := request{"X-Forwarded-For", lines, "192.0.2.1"}.ask(t, f)
		for i, caller := range callers {
			if errs[i] == nil || errors.Is(errs[i], clientip.ErrUnknown) || !caller.IsZero() {
				t.Errorf("an oversized header: %v, %v", caller, errs[i])
			}
		}
	}
	short := strings.Repeat("203.0.113.99, ", 500) + "198.51.100.10"
	callers, errs := request{"X-Forwarded-For", []string{short}, "192.0.2.1"}.ask(t, f)
	for i, caller := range callers {
		if errs[i] != nil || caller.String() != "198.51.100.10" {
			t.Errorf("a long header: %v, %v", caller, errs[i])
		}
	}
}

// With a lock, nothing is read of a request that did not come through the proxy.
func TestLock(t *testing.T) {
	source, err := originlock.NewStatic(secret)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := originlock.New(t.Context(), originlock.Config{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []clientip.Unknown{clientip.Refuse, clientip.Share} {
		f := finder(t, clientip.Config{Source: clientip.Cloudflare(), Lock: lock, Unknown: unknown})
		for _, c := range []struct {
			secrets []string
			want    error
		}{
			{[]string{secret}, nil},
			{nil, clientip.ErrSideDoor},
			{[]string{""}, clientip.ErrSideDoor},
			{[]string{secret + "0"}, clientip.ErrSideDoor},
			{[]string{secret[1:]}, clientip.ErrSideDoor},
			{[]string{secret, secret}, clientip.ErrSideDoor},
		} {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.Header["Cf-Connecting-Ip"] = []string{"198.51.100.10"}
			r.Header["X-Origin-Verify"] = c.secrets
			e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"cf-connecting-ip": "198.51.100.10"}}
			if c.secrets != nil {
				e.Headers["x-origin-verify"] = strings.Join(c.secrets, ",")
			}
			a, err1 := f.Request(r)
			b, err2 := f.Event(t.Context(), e)
			if !errors.Is(err1, c.want) || !errors.Is(err2, c.want) || a != b || a.IsZero() != (c.want != nil) {
				t.Errorf("%d secrets: %v, %v and %v, %v; want %v", len(c.secrets), a, err1, b, err2, c.want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]clientip.Config{
		"clientip.Config.Source is missing": {},
		"clientip.Config.Source is X-Forwarded-For with 0 trusted proxies, where 1 to 32 are possible":                                              {Source: clientip.ForwardedFor(0)},
		"clientip.Config.Source is X-Forwarded-For with -1 trusted proxies, where 1 to 32 are possible":                                             {Source: clientip.ForwardedFor(-1)},
		"clientip.Config.Source is X-Forwarded-For with 33 trusted proxies, where 1 to 32 are possible":                                             {Source: clientip.ForwardedFor(33)},
		"clientip.Config: CF-Connecting-IP can be written by whoever finds a way past the proxy: set Lock, or NoSideDoor if there is none":          {Source: clientip.Cloudflare()},
		"clientip.Config: CloudFront-Viewer-Address can be written by whoever finds a way past the proxy: set Lock, or NoSideDoor if there is none": {Source: clientip.CloudFront()},
		"clientip.Config.Unknown is 2: want Refuse or Share":                                                                                        {Source: clientip.Connection(), Unknown: 2},
		"clientip.Config.Mask: the IPv6 prefix width 65 is not between 1 and 64: a narrower bucket lets one viewer have many":                       {Source: clientip.Connection(), Mask: caps.Mask{IPv6Bits: 65}},
	} {
		if f, err := clientip.New(c); f != nil || err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// FuzzForwardedFor holds the entry that was taken against the definition, written down a
// second time: all entries in a row, and the one that many from the right.
func FuzzForwardedFor(f *testing.F) {
	f.Add("203.0.113.99, 198.51.100.10", "192.0.2.7", 2)
	f.Add("", "[2001:db8::1]:443", 1)
	f.Add("a,,b", "::ffff:198.51.100.10", 1)
	f.Add("fe80::1%eth0", "198.51.100.10%", 1)
	f.Fuzz(func(t *testing.T, first, second string, hops int) {
		hops = 1 + (hops%3+3)%3
		find := finder(t, clientip.Config{Source: clientip.ForwardedFor(hops), AllowPrivate: true})
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header["X-Forwarded-For"] = []string{first, second}
		caller, err := find.Request(r)
		entries := strings.Split(first+","+second, ",")
		if len(entries) < hops || len(first)+len(second) > 8<<10 {
			if err == nil {
				t.Fatalf("%q, %q: %v", first, second, caller)
			}
			return
		}
		entry := strings.TrimSpace(entries[len(entries)-hops])
		addr, parsing := netip.ParseAddr(entry)
		want, masking := caps.Mask{}.Caller(addr)
		switch {
		case parsing == nil && masking == nil && (err != nil || caller != want):
			t.Fatalf("%q: %v, %v; want %v", entry, caller, err, want)
		case parsing == nil && masking != nil && err == nil:
			t.Fatalf("%q: %v; want it refused", entry, caller)
		case parsing != nil && err == nil && !strings.ContainsAny(entry, ":[]%"):
			t.Fatalf("%q: %v; want it refused", entry, caller)
		}
	})
}
