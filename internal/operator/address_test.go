package operator

import (
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestParseCaller(t *testing.T) {
	for _, test := range []struct {
		mask caps.Mask
		in   string
		want string // empty: refused
	}{
		{caps.Mask{}, "198.51.100.10", "198.51.100.10"},
		{caps.Mask{}, "198.51.100.10/32", "198.51.100.10"},
		{caps.Mask{}, "::ffff:198.51.100.10", "198.51.100.10"},
		{caps.Mask{}, "2001:db8::1", "2001:db8::/64"},
		{caps.Mask{}, "2001:db8::/64", "2001:db8::/64"},
		{caps.Mask{}, "2001:db8::1/64", "2001:db8::/64"},
		{caps.Mask{IPv4Bits: 24, IPv6Bits: 56}, "198.51.100.10", "198.51.100.0/24"},
		{caps.Mask{IPv4Bits: 24, IPv6Bits: 56}, "198.51.100.0/24", "198.51.100.0/24"},
		{caps.Mask{IPv4Bits: 24, IPv6Bits: 56}, "2001:db8::/56", "2001:db8::/56"},
		{caps.Mask{IPv4Bits: 24, IPv6Bits: 56}, "2001:db8::/64", ""},
		{caps.Mask{}, "2001:db8::/48", ""},
		{caps.Mask{}, "198.51.100.10/24", ""},
		{caps.Mask{}, "198.51.100.10/", ""},
		{caps.Mask{}, "198.51.100.10/032", ""},
		{caps.Mask{}, "fe80::1%eth0", ""},
		{caps.Mask{}, "198.51.100", ""},
		{caps.Mask{}, "198.51.100.10:1234", ""},
		{caps.Mask{}, "[2001:db8::1]", ""},
		{caps.Mask{}, "0.0.0.0", ""},
		{caps.Mask{}, "example.com", ""},
		{caps.Mask{}, "", ""},
	} {
		got, err := ParseCaller(test.mask, test.in)
		switch {
		case test.want == "" && err == nil:
			t.Errorf("%q: %v, want it refused", test.in, got)
		case test.want == "" && test.in != "" && strings.Contains(err.Error(), strings.Split(test.in, "/")[0]) && !strings.Contains("198.51.100.10 or 2001:db8::1 2001:db8::/64", test.in):
			t.Errorf("%q: the error has the address: %v", test.in, err)
		case test.want != "" && (err != nil || got.String() != test.want):
			t.Errorf("%q: %v %v, want %s", test.in, got, err, test.want)
		}
	}
}

func TestIsKey(t *testing.T) {
	for in, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef":  true,
		"0123456789ABCDEF0123456789abcdef":  false,
		"0123456789abcdef0123456789abcde":   false,
		"0123456789abcdef0123456789abcdef0": false,
		"2001:db8::1":                       false,
	} {
		if IsKey(in) != want {
			t.Errorf("%q: want %v", in, want)
		}
	}
}
