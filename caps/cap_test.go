package caps_test

import (
	"math"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestCapAdmits(t *testing.T) {
	used := func(calls int64, usd caps.MicroUSD) caps.Usage { return caps.Usage{Calls: calls, USD: usd} }
	for _, c := range []struct {
		name   string
		limit  caps.Cap
		usage  caps.Usage
		amount caps.MicroUSD
		want   bool
	}{
		{"first call", caps.Calls(1), used(0, 0), 0, true},
		{"last call", caps.Calls(10), used(9, 0), 0, true},
		{"one too many", caps.Calls(10), used(10, 0), 0, false},
		{"cap lowered below what is used", caps.Calls(10), used(11, 0), 0, false},
		{"calls only: the amount does not matter", caps.Calls(1), used(0, caps.MaxMicroUSD), caps.MaxMicroUSD, true},
		{"cap of 0 calls", caps.Calls(0), used(0, 0), 0, false},
		{"exactly the whole cap", caps.USD(100), used(0, 0), 100, true},
		{"dearer than the whole cap", caps.USD(100), used(0, 0), 101, false},
		{"the last micro-dollar", caps.USD(100), used(3, 99), 1, true},
		{"a micro-dollar too many", caps.USD(100), used(3, 99), 2, false},
		{"worst case 500 when 400 is left is not shrunk", caps.USD(1000), used(1, 600), 500, false},
		{"cap 100, used 90: 50", caps.USD(100), used(1, 90), 50, false},
		{"cap 100, used 90: 10", caps.USD(100), used(1, 90), 10, true},
		{"held counts like settled", caps.USD(100), caps.Usage{Calls: 1, USD: 100, Held: 100, Open: 1}, 1, false},
		{"overrun beyond the cap", caps.USD(100), used(1, 150), 0, false},
		{"free call, cap used up exactly", caps.USD(100), used(1, 100), 0, true},
		{"cap of 0 dollars, free call", caps.USD(0), used(0, 0), 0, false},
		{"cap of 0 dollars", caps.USD(0), used(0, 0), 1, false},
		{"both: calls full", caps.Calls(2).AndUSD(100), used(2, 0), 1, false},
		{"both: dollars full", caps.Calls(2).AndUSD(100), used(1, 100), 1, false},
		{"both: room", caps.Calls(2).AndUSD(100), used(1, 99), 1, true},
		{"both: 0 calls", caps.Calls(0).AndUSD(100), used(0, 0), 1, false},
		{"both: 0 dollars", caps.Calls(5).AndUSD(0), used(0, 0), 0, false},
		{"no cap at all", caps.Cap{}, used(0, 0), 0, false},
		{"negative amount", caps.USD(100), used(0, 100), -1, false},
		{"negative amount, calls only", caps.Calls(1), used(0, 0), -1, false},
		{"amount that would overflow", caps.USD(caps.MaxMicroUSD), used(0, 1), math.MaxInt64, false},
		{"smallest integer", caps.USD(100), used(0, 0), math.MinInt64, false},
		{"largest cap and amount", caps.USD(caps.MaxMicroUSD), used(0, 0), caps.MaxMicroUSD, true},
		{"negative cap", caps.USD(-1), used(0, 0), 0, false},
		{"negative calls", caps.Calls(-1), used(-5, 0), 0, false},
	} {
		if got := c.limit.Admits(c.usage, c.amount); got != c.want {
			t.Errorf("%s: %t; want %t", c.name, got, c.want)
		}
		if c.usage == (caps.Usage{}) && c.limit.Holds(c.amount) != c.want {
			t.Errorf("%s: Holds differs from Admits with nothing used", c.name)
		}
	}
}

func TestCapCheck(t *testing.T) {
	const most = int64(caps.MaxMicroUSD)
	for _, c := range []struct {
		limit caps.Cap
		want  string
	}{
		{caps.Calls(0), ""},
		{caps.USD(0), ""},
		{caps.Calls(most).AndUSD(caps.MaxMicroUSD), ""},
		{caps.Cap{}, "the cap limits nothing: set calls, usd or both"},
		{caps.Calls(-1), "calls: -1 is not between 0 and 9007199254740991"},
		{caps.Calls(most + 1), "calls: 9007199254740992 is not between 0 and 9007199254740991"},
		{caps.USD(-1), "usd: bad amount: -0.000001 dollars is not between 0 and 9007199254.740991"},
		{caps.USD(caps.MaxMicroUSD + 1), "usd: bad amount: 9007199254.740992 dollars is not between 0 and 9007199254.740991"},
		{caps.Calls(10).AndUSD(-1), "usd: bad amount: -0.000001 dollars is not between 0 and 9007199254.740991"},
	} {
		got := ""
		if err := c.limit.Check(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q; want %q", c.limit, got, c.want)
		}
	}
}

func TestCapParts(t *testing.T) {
	for _, c := range []struct {
		limit            caps.Cap
		calls            int64
		usd              caps.MicroUSD
		callsSet, usdSet bool
	}{
		{caps.Calls(10), 10, 0, true, false},
		{caps.USD(50), 0, 50, false, true},
		{caps.Calls(10).AndUSD(50), 10, 50, true, true},
		{caps.USD(50).AndCalls(10), 10, 50, true, true},
		{caps.Cap{}, 0, 0, false, false},
	} {
		calls, callsSet := c.limit.Calls()
		usd, usdSet := c.limit.USD()
		if calls != c.calls || callsSet != c.callsSet || usd != c.usd || usdSet != c.usdSet {
			t.Errorf("%+v: %d %t, %d %t", c.limit, calls, callsSet, usd, usdSet)
		}
	}
	if caps.Calls(10).AndUSD(50) != caps.USD(50).AndCalls(10) {
		t.Error("the order in which a cap is made matters")
	}
}

func TestCapRemaining(t *testing.T) {
	for _, c := range []struct {
		limit caps.Cap
		usage caps.Usage
		want  caps.Amount
	}{
		{caps.Calls(10).AndUSD(100), caps.Usage{}, caps.Amount{Calls: 10, USD: 100}},
		{caps.Calls(10).AndUSD(100), caps.Usage{Calls: 3, USD: 40, Held: 30, Open: 1}, caps.Amount{Calls: 7, USD: 60}},
		{caps.Calls(10).AndUSD(100), caps.Usage{Calls: 12, USD: 140}, caps.Amount{}},
		{caps.Calls(10), caps.Usage{Calls: 3, USD: 40}, caps.Amount{Calls: 7}},
		{caps.USD(100), caps.Usage{Calls: 3, USD: 40}, caps.Amount{USD: 60}},
	} {
		if got := c.limit.Remaining(c.usage); got != c.want {
			t.Errorf("%+v of %+v leaves %+v; want %+v", c.usage, c.limit, got, c.want)
		}
	}
}
