// Package operator is what the operator's tool does to a deployment, apart from how it
// finds it and how it prints: it turns addresses into caller keys, on the operator's
// machine, and tells what stands behind them.
package operator

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// ParseCaller reads the caller that an operator names: an IPv4 or IPv6 address, or a
// prefix as wide as the file counts, such as 2001:db8::/64, which is how a caller is shown
// what it is counted as. The error does not have the address.
func ParseCaller(mask caps.Mask, s string) (caps.Caller, error) {
	bare, bits, isPrefix := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(bare)
	if err != nil || addr.Zone() != "" {
		return caps.Caller{}, errors.New("that is neither an address such as 198.51.100.10 or 2001:db8::1, nor a prefix such as 2001:db8::/64, nor a caller key of 32 hexadecimal digits")
	}
	caller, err := mask.Caller(addr)
	if err != nil || !isPrefix {
		return caller, err
	}
	if counted := width(caller, addr); bits != counted {
		return caps.Caller{}, fmt.Errorf("the prefix is /%s, and the file counts /%s: a caller is as wide as viewer.ipv4_prefix and viewer.ipv6_prefix say", bits, counted)
	}
	return caller, nil
}

// width is how many bits of the address make the caller, as text.
func width(caller caps.Caller, addr netip.Addr) string {
	if _, bits, ok := strings.Cut(caller.String(), "/"); ok {
		return bits
	}
	return fmt.Sprint(addr.Unmap().BitLen())
}

// IsKey tells whether s is a caller key, as `spendcap status` shows them.
func IsKey(s string) bool {
	if len(s) != 32 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
