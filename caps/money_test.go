package caps_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestParseUSD(t *testing.T) {
	for text, want := range map[string]caps.MicroUSD{
		"0":                               0,
		"0.0":                             0,
		"0.000000":                        0,
		"0.0000000":                       0, // zeros after the sixth digit are not finer
		"0.000001":                        1,
		"0.00000100":                      1,
		"0.01":                            10_000,
		"0.05":                            50_000,
		"0.1":                             100_000,
		"1":                               1_000_000,
		"5.00":                            5_000_000,
		"05.00":                           5_000_000,
		"0000000000000000000000000000001": 1_000_000,
		"9007199254.740991":               caps.MaxMicroUSD,
	} {
		got, err := caps.ParseUSD(text)
		if got != want || err != nil {
			t.Errorf("ParseUSD(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseUSDRefuses(t *testing.T) {
	const (
		shape = "is not a plain decimal number of dollars such as 0.05"
		finer = "is finer than a micro-dollar (six digits after the point)"
		above = "is above the largest amount, 9007199254.740991 dollars"
	)
	for text, want := range map[string]string{
		"":                       shape,
		".":                      shape,
		".5":                     shape,
		"5.":                     shape,
		"-1":                     shape,
		"-0":                     shape,
		"+1":                     shape,
		"1e3":                    shape,
		"1E-2":                   shape,
		"0x10":                   shape,
		"1_000":                  shape,
		"1,000":                  shape,
		"0,05":                   shape,
		"1.2.3":                  shape,
		"$5":                     shape,
		"5 USD":                  shape,
		" 5":                     shape,
		"5 ":                     shape,
		"5\n":                    shape,
		"NaN":                    shape,
		"Inf":                    shape,
		".inf":                   shape,
		"٣":                      shape, // a digit, but not an ASCII one
		"0.0000001":              finer,
		"0.0000010000001":        finer,
		"1.1234567":              finer,
		"9007199254.740992":      above,
		"9223372036854775807":    above,
		"18446744073709551617":   above, // 2^64+1 wraps to 1
		"1" + zeros(400):         above,
		"9223372036854.775808":   above,
		"18446744073709.551617":  above,
		"99999999999999999999.0": above,
	} {
		got, err := caps.ParseUSD(text)
		if got != 0 || err == nil || !errors.Is(err, caps.ErrAmount) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("ParseUSD(%.40q) = %d, %v; want an error that ends in %q", text, got, err, want)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

func TestMicroUSDString(t *testing.T) {
	for m, want := range map[caps.MicroUSD]string{
		0:                "0.000000",
		1:                "0.000001",
		450:              "0.000450",
		999_999:          "0.999999",
		1_000_000:        "1.000000",
		12_345_678:       "12.345678",
		-1:               "-0.000001",
		-12_345_678:      "-12.345678",
		caps.MaxMicroUSD: "9007199254.740991",
		math.MinInt64:    "-9223372036854.775808",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d prints as %s; want %s", int64(m), got, want)
		}
	}
}

// Ten times one cent is ten cents, which it is not in floating point, and 2,500 calls
// at $0.004 are exactly ten dollars.
func TestMoneyIsExact(t *testing.T) {
	for _, c := range []struct {
		each, total string
		n           int
	}{{"0.01", "0.10", 10}, {"0.004", "10.00", 2500}, {"0.000001", "0.001", 1000}} {
		each, err := caps.ParseUSD(c.each)
		if err != nil {
			t.Fatal(err)
		}
		total, err := caps.ParseUSD(c.total)
		if err != nil {
			t.Fatal(err)
		}
		var sum caps.MicroUSD
		for range c.n {
			if sum, err = sum.Add(each); err != nil {
				t.Fatal(err)
			}
		}
		if sum != total {
			t.Errorf("%d times %s is %s; want %s", c.n, each, sum, total)
		}
	}
}

func TestMicroUSDAdd(t *testing.T) {
	const most = caps.MaxMicroUSD
	for _, c := range []struct {
		a, b, want caps.MicroUSD
		fails      bool
	}{
		{0, 0, 0, false},
		{1, 2, 3, false},
		{most, 0, most, false},
		{most - 1, 1, most, false},
		{most, 1, 0, true},
		{most, most, 0, true},
		{-1, 5, 0, true},
		{5, -1, 0, true},
		{math.MaxInt64, 1, 0, true},
		{math.MinInt64, math.MinInt64, 0, true},
		{most + 1, 0, 0, true},
	} {
		got, err := c.a.Add(c.b)
		if got != c.want || errors.Is(err, caps.ErrAmount) != c.fails {
			t.Errorf("%d + %d = %d, %v; want %d, error %t", c.a, c.b, got, err, c.want, c.fails)
		}
	}
}

func TestMicroUSDJSON(t *testing.T) {
	type bill struct {
		Used caps.MicroUSD `json:"used"`
	}
	text, err := json.Marshal(bill{450})
	if err != nil || string(text) != `{"used":"0.000450"}` {
		t.Fatalf("Marshal = %s, %v", text, err)
	}
	var back bill
	if err := json.Unmarshal(text, &back); err != nil || back.Used != 450 {
		t.Errorf("Unmarshal = %v, %v; want 450", back, err)
	}
	keep := bill{7}
	if err := json.Unmarshal([]byte(`{"used":"-1"}`), &keep); !errors.Is(err, caps.ErrAmount) || keep.Used != 7 {
		t.Errorf("a negative amount: %v, %v; want an error and the old value", keep, err)
	}
	if err := json.Unmarshal([]byte(`{"used":0.5}`), &keep); err == nil || keep.Used != 7 {
		t.Errorf("a JSON number: %v, %v; want an error: it may have been a float on its way", keep, err)
	}
}

var plainDecimal = regexp.MustCompile(`\A[0-9]+(\.[0-9]+)?\z`)

// FuzzParseUSD compares with arbitrary-precision arithmetic: what is accepted is a plain
// decimal and exactly its value, and what is refused is no amount.
func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"0.05", "5.00", "0.0000001", "1e3", "-1", "9007199254.740991", "9007199254.740992", "00.10", "1.", ".1", "18446744073709.551617"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := caps.ParseUSD(s)
		isAmount := false
		var micro *big.Rat
		if plainDecimal.MatchString(s) {
			exact, ok := new(big.Rat).SetString(s)
			if !ok {
				t.Fatalf("%q is a decimal that big.Rat does not read", s)
			}
			micro = exact.Mul(exact, big.NewRat(1_000_000, 1))
			isAmount = micro.IsInt() && micro.Cmp(new(big.Rat).SetInt64(int64(caps.MaxMicroUSD))) <= 0
		}
		if isAmount != (err == nil) {
			t.Fatalf("ParseUSD(%q) = %d, %v; is an amount: %t", s, got, err, isAmount)
		}
		if err != nil {
			if got != 0 || !errors.Is(err, caps.ErrAmount) {
				t.Fatalf("ParseUSD(%q) = %d, %v; want 0 and ErrAmount", s, got, err)
			}
			return
		}
		if micro.Cmp(new(big.Rat).SetInt64(int64(got))) != 0 {
			t.Fatalf("ParseUSD(%q) = %d; want %s", s, got, micro)
		}
		if back, err := caps.ParseUSD(got.String()); back != got || err != nil {
			t.Fatalf("%d prints as %s, which reads as %d, %v", int64(got), got, back, err)
		}
	})
}
