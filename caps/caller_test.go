package caps_test

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

//go:embed testdata/viewer-address.tsv
var viewerAddresses string

// viewerRows are the rows of testdata/viewer-address.tsv: header value, bucket or
// "refuse", why.
func viewerRows(tb testing.TB) [][3]string {
	tb.Helper()
	lines := strings.Split(strings.TrimRight(viewerAddresses, "\n"), "\n")
	var rows [][3]string
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			tb.Fatalf("%q has %d cells; want 3", line, len(cells))
		}
		rows = append(rows, [3]string(cells))
	}
	if len(rows) < 13 {
		tb.Fatalf("%d rows; want 13 at least", len(rows))
	}
	return rows
}

func TestViewerCallerCases(t *testing.T) {
	for _, row := range viewerRows(t) {
		checkViewer(t, row[0], row[1], row[2])
	}
}

func TestViewerCallerNeighbours(t *testing.T) {
	const refuse = "refuse"
	for _, row := range [][3]string{
		{"198.51.100.10:0", "198.51.100.10", "port 0 is a port"},
		{"198.51.100.10:65535", "198.51.100.10", "the last port"},
		{"198.51.100.10:65536", refuse, "one above the last port"},
		{"198.51.100.10:00443", "198.51.100.10", "five digits"},
		{"198.51.100.10:000443", refuse, "six digits"},
		{"198.51.100.10:", refuse, "empty port"},
		{"198.51.100.10:+443", refuse, "signed port"},
		{"198.51.100.10:-1", refuse, "negative port"},
		{"198.51.100.10:0x1f", refuse, "hexadecimal port"},
		{"198.51.100.10:1_0", refuse, "separator in the port"},
		{"198.51.100.10:44a", refuse, "letter in the port"},
		{"198.51.100.10:٤٤٣", refuse, "digits, but not ASCII ones"},
		{"198.51.100.10: 443", refuse, "space before the port"},
		{" 198.51.100.10:443", refuse, "space in front"},
		{"198.51.100.10:443 ", refuse, "space at the end"},
		{"198.51.100.10:443\n", refuse, "line break at the end"},
		{"198.51.100.10:443,", refuse, "comma at the end"},
		{"198.51.100.10:443, 198.51.100.10:443", refuse, "joined with a space"},
		{"203.0.113.9:1,198.51.100.10:46532", refuse, "the forged one first"},
		{"198.51.100.010:443", refuse, "leading zero: octal to some"},
		{"198.51.100:443", refuse, "three parts"},
		{"198.51.100.256:443", refuse, "part above 255"},
		{"3325256714:443", refuse, "address as one number"},
		{"0.0.0.0:443", refuse, "the unspecified address is nobody's"},
		{":::443", refuse, "the unspecified IPv6 address"},
		{"::ffff:0.0.0.0:443", refuse, "the unspecified address, mapped"},
		{"224.0.0.1:443", refuse, "multicast is nobody's"},
		{"223.255.255.255:443", "223.255.255.255", "the last address before multicast"},
		{"255.255.255.255:443", refuse, "broadcast"},
		{"255.255.255.254:443", "255.255.255.254", "reserved, but in use inside some networks"},
		{"240.0.0.1:443", "240.0.0.1", "the first address behind multicast"},
		{"ff02::1:443", refuse, "IPv6 multicast"},
		{"::ffff:224.0.0.1:443", refuse, "multicast, mapped"},
		{"10.0.0.1:443", "10.0.0.1", "private: an edge of one's own"},
		{"127.0.0.1:443", "127.0.0.1", "loopback: the local system"},
		{"::1:443", "::/64", "IPv6 loopback"},
		{"[198.51.100.10]:443", "198.51.100.10", "brackets around IPv4"},
		{"[[2001:db8::1]]:443", refuse, "two pairs of brackets"},
		{"[2001:db8::1:443", refuse, "bracket not closed"},
		{"2001:db8::1]:443", refuse, "bracket not opened"},
		{"[2001:db8::1]443", refuse, "no colon after the bracket"},
		{"[2001:db8::1]", refuse, "brackets without a port"},
		{"[]:443", refuse, "empty brackets"},
		{"[2001:db8::1]:443:443", refuse, "two ports"},
		{"[fe80::1%eth0]:443", refuse, "zone in brackets"},
		{"fe80::1%25:443", refuse, "numeric zone"},
		{"2001:db8:1:2:3:4:5:6", refuse, "eight groups and no port"},
		{"2001:db8:1:2:3:4:5:6:7:443", refuse, "nine groups"},
		{"2001:db8:1:2:3:4:5:6:443", "2001:db8:1:2::/64", "eight groups and a port"},
		{"2001:db8:1:2:ffff:ffff:ffff:ffff:1", "2001:db8:1:2::/64", "the other end of the same /64"},
		{"2001:db8:1:3::1:443", "2001:db8:1:3::/64", "the next /64"},
		{"2001:db8:::443", "2001:db8::/64", "the address ends in two colons"},
		{"2001:db8::", refuse, "no port after two colons"},
		{"::ffff:c633:6407:443", "198.51.100.7", "mapped IPv4 in hexadecimal"},
		{"0:0:0:0:0:ffff:198.51.100.7:443", "198.51.100.7", "mapped IPv4, written out"},
		{"[::ffff:198.51.100.7]:443", "198.51.100.7", "mapped IPv4 in brackets"},
		{"64:ff9b::198.51.100.7:443", "64:ff9b::/64", "a translated address is not a mapped one"},
		{"2001:db8::1::443", refuse, "two gaps"},
		{"2001:db8::g:443", refuse, "not a hexadecimal digit"},
		{"example.com:443", refuse, "a name"},
		{"localhost:443", refuse, "a name"},
		{":443", refuse, "no address"},
		{":", refuse, "a colon"},
		{"198.51.100.10\x00:443", refuse, "a zero byte"},
		{strings.Repeat("1", 1<<16) + ":443", refuse, "very long"},
		{"198.51.100.10:" + strings.Repeat("0", 1<<16), refuse, "very long port"},
	} {
		checkViewer(t, row[0], row[1], row[2])
	}
}

func checkViewer(t *testing.T, header, want, why string) {
	t.Helper()
	caller, err := caps.ViewerCaller(header)
	if want == "refuse" {
		if !errors.Is(err, caps.ErrNoViewerAddress) || !caller.IsZero() {
			t.Errorf("%.60q = %v, %v; want it refused: %s", header, caller, err, why)
		} else if len(header) > 8 && strings.Contains(err.Error(), header) {
			t.Errorf("%.60q: the error shows the value: %v", header, err)
		}
		return
	}
	if err != nil || caller.IsZero() || caller.String() != want {
		t.Errorf("%.60q = %v, %v; want %s: %s", header, caller, err, want, why)
	}
}

func TestMaskCaller(t *testing.T) {
	for _, c := range []struct {
		mask       caps.Mask
		addr, want string
	}{
		{caps.Mask{}, "198.51.100.10", "198.51.100.10"},
		{caps.Mask{IPv4Bits: 32}, "198.51.100.10", "198.51.100.10"},
		{caps.Mask{IPv4Bits: 24}, "198.51.100.10", "198.51.100.0/24"},
		{caps.Mask{IPv4Bits: 24}, "::ffff:198.51.100.10", "198.51.100.0/24"},
		{caps.Mask{IPv4Bits: 1}, "198.51.100.10", "128.0.0.0/1"},
		{caps.Mask{}, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
		{caps.Mask{IPv6Bits: 64}, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"},
		{caps.Mask{IPv6Bits: 56}, "2001:db8:1:2ff::4", "2001:db8:1:200::/56"},
		{caps.Mask{IPv6Bits: 48}, "2001:db8:1:2::4", "2001:db8:1::/48"},
		{caps.Mask{IPv4Bits: 8, IPv6Bits: 32}, "2001:db8:1:2::4", "2001:db8::/32"},
	} {
		got, err := c.mask.Caller(netip.MustParseAddr(c.addr))
		if err != nil || got.String() != c.want {
			t.Errorf("%+v of %s = %v, %v; want %s", c.mask, c.addr, got, err, c.want)
		}
	}
}

func TestMaskCallerRefuses(t *testing.T) {
	for _, addr := range []netip.Addr{
		{}, netip.IPv4Unspecified(), netip.IPv6Unspecified(),
		netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("::ffff:0.0.0.0"),
		netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("::ffff:255.255.255.255"),
		netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("239.255.255.255"), netip.MustParseAddr("::ffff:224.0.0.1"),
		netip.MustParseAddr("ff02::1"), netip.MustParseAddr("ffff::1"),
	} {
		if got, err := (caps.Mask{}).Caller(addr); !errors.Is(err, caps.ErrNoViewerAddress) || !got.IsZero() {
			t.Errorf("%v = %v, %v; want ErrNoViewerAddress", addr, got, err)
		}
	}
	for _, c := range []struct {
		mask caps.Mask
		want string
	}{
		{caps.Mask{IPv4Bits: 33}, "the IPv4 prefix width 33 is not between 1 and 32"},
		{caps.Mask{IPv4Bits: -1}, "the IPv4 prefix width -1 is not between 1 and 32"},
		{caps.Mask{IPv6Bits: 65}, "the IPv6 prefix width 65 is not between 1 and 64: a narrower bucket lets one viewer have many"},
		{caps.Mask{IPv6Bits: 128}, "the IPv6 prefix width 128 is not between 1 and 64: a narrower bucket lets one viewer have many"},
		{caps.Mask{IPv6Bits: -1}, "the IPv6 prefix width -1 is not between 1 and 64: a narrower bucket lets one viewer have many"},
	} {
		if err := c.mask.Check(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v; want %s", c.mask, err, c.want)
		}
		if got, err := c.mask.Caller(netip.MustParseAddr("198.51.100.10")); err == nil || !got.IsZero() {
			t.Errorf("%+v makes a caller all the same: %v", c.mask, got)
		}
	}
}

// No log line written with slog, and no JSON, carries an address.
func TestCallerIsNotLogged(t *testing.T) {
	caller, err := caps.ViewerCaller("198.51.100.10:46532")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("admitted", "caller", caller)
		slog.New(h).Info("admitted", slog.Group("who", "caller", caller))
	}
	if strings.Contains(log.String(), "198.51") {
		t.Errorf("an address is in the log: %s", &log)
	}
	if n := strings.Count(log.String(), "(caller)"); n != 4 {
		t.Errorf("%d of 4 lines name the caller: %s", n, &log)
	}
	if got := fmt.Sprint(caps.Caller{}); got != "nobody" {
		t.Errorf("the zero Caller prints as %q", got)
	}
}

// FuzzParseViewerAddress holds what was accepted against its definition: an address
// that netip parses, a colon, and a port.
func FuzzParseViewerAddress(f *testing.F) {
	for _, row := range viewerRows(f) {
		f.Add(row[0])
	}
	f.Add("[[::1]]:1")
	f.Add("::ffff:c633:6407:443")
	f.Fuzz(func(t *testing.T, value string) {
		got, err := caps.ParseViewerAddress(value)
		if err != nil {
			if !errors.Is(err, caps.ErrNoViewerAddress) || got.IsValid() {
				t.Fatalf("%q = %v, %v", value, got, err)
			}
			return
		}
		if strings.ContainsAny(value, ", %\t\r\n") {
			t.Fatalf("%q is accepted", value)
		}
		addr := got.Addr()
		if addr.Is4In6() || addr.Zone() != "" {
			t.Fatalf("%q = %v", value, got)
		}
		host := strings.TrimSuffix(value[:strings.LastIndex(value, ":")], "]")
		want, err := netip.ParseAddr(strings.TrimPrefix(host, "["))
		if err != nil || want.Unmap() != addr {
			t.Fatalf("%q = %v; want %v, %v", value, got, want, err)
		}
		// What CloudFront would write for this viewer is the same viewer.
		again, err := caps.ParseViewerAddress(fmt.Sprintf("%s:%d", addr, got.Port()))
		if err != nil || again != got {
			t.Fatalf("%v written without brackets = %v, %v", got, again, err)
		}
	})
}

func BenchmarkViewerCaller(b *testing.B) {
	for name, header := range map[string]string{
		"IPv4": "198.51.100.10:46532",
		"IPv6": "2600:1700:6640:e4d0:29c0:9cf7:9107:5eca:50235",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := caps.ViewerCaller(header); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
