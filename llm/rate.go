package llm

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Rate is the price of tokens in 1e-6 micro-dollars per token, which is the same
// number as 1e-6 dollars per million tokens. It is exact: list prices are decimals of
// dollars per million tokens. The zero Rate is no price.
type Rate int64

// maxRate is a million dollars per million tokens.
const maxRate Rate = 1e12

// rateScale is how many units of a Rate make a micro-dollar per token.
const rateScale = 1e6

// ParseRate reads a plain decimal number of dollars per million tokens, such as
// "0.15", with at most six digits after the point. It rejects what
// [caps.ParseUSD] rejects, and prices above a million dollars.
func ParseRate(s string) (Rate, error) {
	n, err := caps.ParseUSD(s)
	if err != nil {
		return 0, fmt.Errorf("not a price in dollars per million tokens: %w", err)
	}
	if Rate(n) > maxRate {
		return 0, fmt.Errorf("the price %s is above a million dollars per million tokens", s)
	}
	return Rate(n), nil
}

// String gives the price in dollars per million tokens, without idle zeros.
func (r Rate) String() string {
	return strings.TrimSuffix(strings.TrimRight(caps.MicroUSD(r).String(), "0"), ".")
}

// maxTokens bounds a number of tokens far above what any model takes or gives, and far
// below what could overflow a sum. A provider that reports more is wrong.
const maxTokens = 100_000_000

// times returns r*n/d rounded up, for n and d that are rates or small numbers, and at
// most the largest int64.
func (r Rate) times(n, d Rate) Rate {
	hi, lo := bits.Mul64(uint64(r), uint64(n))
	if hi >= uint64(d) {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, uint64(d))
	if rest > 0 {
		q++
	}
	return Rate(min(q, math.MaxInt64))
}

// bill adds up prices exactly and rounds once, at the end.
type bill struct{ hi, lo uint64 }

// add adds tokens at a rate. A number of tokens is below 2^41 and a rate below 2^63, so
// a few products fit into 128 bits.
func (b *bill) add(tokens int64, r Rate) {
	hi, lo := bits.Mul64(uint64(tokens), uint64(r))
	var carry uint64
	b.lo, carry = bits.Add64(b.lo, lo, 0)
	b.hi, _ = bits.Add64(b.hi, hi, carry)
}

// total is the sum in micro-dollars, rounded up. The error wraps [caps.ErrAmount] if it
// is above [caps.MaxMicroUSD].
func (b bill) total() (caps.MicroUSD, error) {
	if b.hi >= rateScale {
		return 0, fmt.Errorf("%w: the price is above %s dollars", caps.ErrAmount, caps.MaxMicroUSD)
	}
	n, rest := bits.Div64(b.hi, b.lo, rateScale)
	if rest > 0 {
		n++
	}
	if n > uint64(caps.MaxMicroUSD) {
		return 0, fmt.Errorf("%w: the price is above %s dollars", caps.ErrAmount, caps.MaxMicroUSD)
	}
	return caps.MicroUSD(n), nil
}
