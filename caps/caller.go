package caps

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
)

// ErrNoViewerAddress is wrapped by the errors of [ParseViewerAddress]. It never
// contains the value that was refused: it may be an address.
var ErrNoViewerAddress = errors.New("no usable viewer address")

// Caller is who is counted: a viewer's address, for IPv6 its prefix, or an identity
// such as a signed-in user ([Identity], and the package identity for the usual kinds).
// Callers are comparable with ==. The zero Caller is nobody and is refused everywhere.
type Caller struct {
	prefix netip.Prefix // of an address
	identity
}

// String returns what the caller may be shown as the thing that is counted.
//
// For an address it is the address, or the prefix if it stands for more than one. It
// is personal data; answer it to the caller itself and keep it nowhere. For an
// identity it is the kind alone, such as "user": whoever is signed in knows as whom,
// and an API key or somebody else's e-mail address must not come back in an answer.
func (c Caller) String() string {
	switch {
	case c.IsZero():
		return "nobody"
	case c.kind != "":
		return c.kind
	case c.prefix.IsSingleIP():
		return c.prefix.Addr().String()
	default:
		return c.prefix.String()
	}
}

// GoString keeps the caller out of %#v.
func (c Caller) GoString() string { return "(caller)" }

// LogValue keeps the caller out of logs written with log/slog.
func (c Caller) LogValue() slog.Value { return slog.StringValue("(caller)") }

// IsZero tells whether c is nobody.
func (c Caller) IsZero() bool { return c == Caller{} }

// appendTo appends the bytes that a caller key is the hash of. Those of an address
// begin with a hexadecimal digit or a colon, those of an identity do not, and no two
// callers have the same ones.
func (c Caller) appendTo(b []byte) []byte {
	if c.kind != "" {
		return append(append(b, identityMark), c.digest[:]...)
	}
	return c.prefix.AppendTo(b)
}

// Mask says how many leading bits of an address make one caller. The zero value
// means /32 for IPv4 and /64 for IPv6: a single IPv6 customer is assigned at least
// a /64 (RFC 6177), so that anything narrower lets a viewer hop between buckets.
type Mask struct {
	IPv4Bits int // 1 to 32; 0 means 32
	IPv6Bits int // 1 to 64; 0 means 64
}

// Check tells whether the widths are in range.
func (m Mask) Check() error {
	if m.IPv4Bits < 0 || m.IPv4Bits > 32 {
		return fmt.Errorf("the IPv4 prefix width %d is not between 1 and 32", m.IPv4Bits)
	}
	if m.IPv6Bits < 0 || m.IPv6Bits > 64 {
		return fmt.Errorf("the IPv6 prefix width %d is not between 1 and 64: a narrower bucket lets one viewer have many", m.IPv6Bits)
	}
	return nil
}

// Caller returns the caller that addr belongs to. IPv4 mapped into IPv6 is the
// IPv4 caller. Refused is what no connection can come from (RFC 1122 section 3.2.1.3,
// RFC 4291 section 2.7): the unspecified address, multicast, and IPv4 broadcast; and a
// zone, which is of this machine. The error wraps [ErrNoViewerAddress].
func (m Mask) Caller(addr netip.Addr) (Caller, error) {
	if err := m.Check(); err != nil {
		return Caller{}, err
	}
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() || addr == broadcast || addr.Zone() != "" {
		return Caller{}, ErrNoViewerAddress
	}
	bits := m.IPv6Bits
	if bits == 0 {
		bits = 64
	}
	if addr.Is4() {
		if bits = m.IPv4Bits; bits == 0 {
			bits = 32
		}
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return Caller{}, ErrNoViewerAddress
	}
	return Caller{prefix: prefix}, nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// ViewerCaller returns the caller that the value of CloudFront-Viewer-Address
// stands for, with the default [Mask].
func ViewerCaller(header string) (Caller, error) {
	viewer, err := ParseViewerAddress(header)
	if err != nil {
		return Caller{}, err
	}
	return Mask{}.Caller(viewer.Addr())
}

// ParseViewerAddress reads the value of the header CloudFront-Viewer-Address,
// "the IP address of the viewer and the source port of the request"
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/adding-cloudfront-headers.html).
//
// CloudFront writes IPv6 without brackets, which net.SplitHostPort and
// netip.ParseAddrPort refuse, and of which netip.ParseAddr sometimes takes the port
// for a part of the address. So the last colon is cut first. The port is one to
// five digits up to 65535; one pair of brackets is tolerated; zones, commas, spaces
// and a missing port are refused. An IPv4 address mapped into IPv6 comes back as
// IPv4. The error wraps [ErrNoViewerAddress].
func ParseViewerAddress(value string) (netip.AddrPort, error) {
	cut := strings.LastIndexByte(value, ':')
	if cut < 0 {
		return netip.AddrPort{}, fmt.Errorf("%w: want ip:port", ErrNoViewerAddress)
	}
	host, digits := value[:cut], value[cut+1:]
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || len(digits) > 5 || !allDigits(digits) {
		return netip.AddrPort{}, fmt.Errorf("%w: the port is not a number up to 65535", ErrNoViewerAddress)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.AddrPort{}, fmt.Errorf("%w: a bracket is missing", ErrNoViewerAddress)
		}
	}
	// The error of netip.ParseAddr quotes the address, so it is not passed on.
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%w: not an IP address", ErrNoViewerAddress)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}
