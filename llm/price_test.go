package llm

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"0": 0, "0.15": 150_000, "0.075": 75_000, "1": 1_000_000, "2.50": 2_500_000, "0.000001": 1,
		"0.0375000000": 37_500, "1000000": maxRate, "007": 7_000_000,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "1E-6", "0x1", "NaN", "Inf", " 1", "1 ", "1,5", "1_0", "0.0000001", "1000000.000001", "99999999999999999999", "٣"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%s = %d, want an error", text, got)
		}
	}
}

func TestRateString(t *testing.T) {
	for r, want := range map[Rate]string{0: "0", 150_000: "0.15", 1_000_000: "1", 10_000_000: "10", 1: "0.000001", 2_500_001: "2.500001"} {
		if got := r.String(); got != want {
			t.Errorf("%d: %s, want %s", r, got, want)
		}
	}
}

// Prices in the tests: dollars per million tokens, 0.15 input, 0.075 cached, 0.60 output.
var small = Price{Input: 150_000, CachedInput: 75_000, Output: 600_000}

func TestCost(t *testing.T) {
	long := Price{
		Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, Output: 15_000_000,
		LongContext: &LongContext{AboveInputTokens: 200_000, Input: 6_000_000, CachedInput: 600_000, Output: 22_500_000},
	}
	noCached := Price{Input: 150_000, Output: 600_000}
	for _, c := range []struct {
		name  string
		price Price
		usage Usage
		want  caps.MicroUSD
	}{
		{"1,000 in and 100 out", small, Usage{Input: 1000, Output: 100}, 210},
		{"half of it cached", small, Usage{Input: 500, CachedInput: 500, Output: 100}, 173},    // 172.5
		{"one token in, rounded up", small, Usage{Input: 1}, 1},                                // 0.15
		{"rounded once and not by part", small, Usage{Input: 3, CachedInput: 1, Output: 1}, 2}, // 0.45+0.075+0.6
		{"exactly ten", small, Usage{Input: 20, Output: 10 + 1}, 10},                           // 3+6.6 = 9.6
		{"cached without a price costs as input", noCached, Usage{Input: 500, CachedInput: 500}, 150},
		{"a cache write has its price", long, Usage{Input: 1000, CacheWrite: 1000, Output: 10}, 3000 + 3750 + 150},
		{"at the threshold", long, Usage{Input: 200_000, Output: 1}, 600_015},
		{"over the threshold by cached tokens", long, Usage{Input: 200_000, CachedInput: 1, Output: 1}, 1_200_024}, // 0.6+22.5, up
		{"a long cache write keeps its proportion", long, Usage{Input: 200_000, CacheWrite: 100_000}, 1_200_000 + 750_000},
		{"reasoning is a part of the output", small, Usage{Input: 1000, Output: 100, Reasoning: 90}, 210},
		{"the finest price", Price{Input: 1, Output: 1}, Usage{Input: 1}, 1},
		{"a million of the finest", Price{Input: 1, Output: 1}, Usage{Input: 500_000, Output: 500_000}, 1},
		{"and one more", Price{Input: 1, Output: 1}, Usage{Input: 500_001, Output: 500_000}, 2},
	} {
		if got, err := c.price.Cost(c.usage); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
}

func TestCostOfWhatCannotBe(t *testing.T) {
	dear := Price{Input: maxRate, CacheWrite: maxRate, Output: maxRate}
	for name, u := range map[string]Usage{
		"nothing":              {},
		"output alone":         {Output: 10},
		"negative input":       {Input: -1, Output: 1},
		"negative beside more": {Input: -1, CachedInput: 5},
		"negative cached":      {Input: 5, CachedInput: -1},
		"negative write":       {Input: 5, CacheWrite: -1},
		"negative output":      {Input: 5, Output: -1},
		"absurd input":         {Input: maxTokens + 1},
		"2^63-1":               {Input: math.MaxInt64, Output: 1},
		"absurd reasoning":     {Input: 1, Reasoning: math.MaxInt64},
	} {
		if got, err := dear.Cost(u); !errors.Is(err, ErrUsage) || got != 0 {
			t.Errorf("%s: %d, %v; want 0 and ErrUsage", name, got, err)
		}
	}
	if got, err := small.Cost(Usage{Input: 100, CacheWrite: 1}); !errors.Is(err, ErrUsage) || got != 0 {
		t.Errorf("a write to the cache without a price: %d, %v", got, err)
	}
	// The dearest price and the largest usage are within what can be charged.
	if got, err := dear.Cost(Usage{Input: maxTokens, CachedInput: maxTokens, CacheWrite: maxTokens, Output: maxTokens}); err != nil || got != 4*maxTokens*1e6 {
		t.Errorf("the largest: %d, %v", got, err)
	}
	over := Price{Input: 1, CacheWrite: maxRate, Output: 1, LongContext: &LongContext{AboveInputTokens: 1, Input: maxRate, Output: 1}}
	if got, err := over.Cost(Usage{Input: 1, CacheWrite: maxTokens}); !errors.Is(err, caps.ErrAmount) || got != 0 {
		t.Errorf("above the largest amount: %d, %v", got, err)
	}
}

func TestWorst(t *testing.T) {
	long := &LongContext{AboveInputTokens: 1000, Input: 300_000, Output: 500_000}
	for _, c := range []struct {
		name    string
		price   Price
		in, out int64
		want    caps.MicroUSD
	}{
		{"plain", small, 1000, 100, 210},
		{"a dearer cache write counts for all of the input", Price{Input: 150_000, CacheWrite: 187_500, Output: 600_000}, 1000, 100, 248}, // 247.5
		{"a cached price above the input's counts, too", Price{Input: 150_000, CachedInput: 200_000, Output: 600_000}, 1000, 100, 260},
		{"short of the long context", Price{Input: 150_000, Output: 600_000, LongContext: long}, 1000, 100, 210},
		{"with cheaper output in the long context", Price{Input: 150_000, Output: 600_000, LongContext: long}, 1001, 1_000_000, 600_150},
		{"with dearer input in the long context", Price{Input: 150_000, Output: 600_000, LongContext: long}, 2000, 100, 650},
	} {
		if got, err := c.price.worst(c.in, c.out); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	if got, err := (Price{Input: maxRate, Output: maxRate}).worst(math.MaxInt32, math.MaxInt64); !errors.Is(err, caps.ErrAmount) {
		t.Errorf("above the largest amount: %d, %v", got, err)
	}
}

func rates() *rapid.Generator[Rate] {
	return rapid.Custom(func(t *rapid.T) Rate { return Rate(rapid.Int64Range(1, 100_000_000).Draw(t, "rate")) })
}

func maybe(t *rapid.T, name string) Rate {
	if rapid.Bool().Draw(t, name+" set") {
		return rates().Draw(t, name)
	}
	return 0
}

func prices() *rapid.Generator[Price] {
	return rapid.Custom(func(t *rapid.T) Price {
		p := Price{Input: rates().Draw(t, "input"), CachedInput: maybe(t, "cached"), CacheWrite: maybe(t, "write"), Output: rates().Draw(t, "output")}
		if rapid.Bool().Draw(t, "long") {
			p.LongContext = &LongContext{
				AboveInputTokens: rapid.IntRange(1, 100_000).Draw(t, "above"),
				Input:            rates().Draw(t, "long input"), CachedInput: maybe(t, "long cached"), Output: rates().Draw(t, "long output"),
			}
		}
		return p
	})
}

// TestCostStaysWithinWorst is the promise of a reservation: whatever a call uses within
// its bounds costs something, and not more than its worst case.
func TestCostStaysWithinWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := prices().Draw(t, "price")
		in, out := rapid.Int64Range(1, 300_000).Draw(t, "in"), rapid.Int64Range(1, 100_000).Draw(t, "out")
		worst, err := p.worst(in, out)
		if err != nil {
			t.Fatal(err)
		}
		input := rapid.Int64Range(1, in).Draw(t, "used")
		cached := rapid.Int64Range(0, input).Draw(t, "used cached")
		var written int64
		if p.CacheWrite > 0 {
			written = rapid.Int64Range(0, input-cached).Draw(t, "used written")
		}
		u := Usage{Input: input - cached - written, CachedInput: cached, CacheWrite: written, Output: rapid.Int64Range(0, out).Draw(t, "used out")}
		cost, err := p.Cost(u)
		if err != nil || cost < 1 || cost > worst {
			t.Fatalf("%+v costs %d, %v; the worst case is %d", u, cost, err, worst)
		}
	})
}

// TestCostIsExact compares with arithmetic of any precision.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := prices().Draw(t, "price")
		p.LongContext = nil
		u := Usage{
			Input: rapid.Int64Range(1, maxTokens).Draw(t, "in"), CachedInput: rapid.Int64Range(0, maxTokens).Draw(t, "cached"),
			Output: rapid.Int64Range(0, maxTokens).Draw(t, "out"),
		}
		cached := p.CachedInput
		if cached == 0 {
			cached = p.Input
		}
		want := new(big.Int)
		for _, x := range []struct {
			n int64
			r Rate
		}{{u.Input, p.Input}, {u.CachedInput, cached}, {u.Output, p.Output}} {
			want.Add(want, new(big.Int).Mul(big.NewInt(x.n), big.NewInt(int64(x.r))))
		}
		want.Add(want, big.NewInt(999_999)).Div(want, big.NewInt(1_000_000))
		got, err := p.Cost(u)
		if err != nil || !want.IsInt64() || int64(got) != want.Int64() {
			t.Fatalf("%+v costs %d, %v; want %s", u, got, err, want)
		}
	})
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ r, n, d, want Rate }{
		{100, 5, 4, 125}, {101, 5, 4, 127}, {0, 5, 4, 0}, {maxRate, maxRate, 1, math.MaxInt64}, {math.MaxInt64, 3, 2, math.MaxInt64}, {1, 1, 0, math.MaxInt64},
	} {
		if got := c.r.times(c.n, c.d); got != c.want {
			t.Errorf("%d*%d/%d = %d, want %d", c.r, c.n, c.d, got, c.want)
		}
	}
}
