package caps

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MicroUSD is an amount of money in micro-dollars (1e-6 USD). Money is never a
// float: ten times 0.01 has to be exactly 0.10.
type MicroUSD int64

// MaxMicroUSD is the largest amount that is accepted, 2^53-1 micro-dollars (about
// nine billion dollars). Below it every amount survives a reader that keeps JSON
// numbers as IEEE 754 doubles, and sums of two amounts cannot overflow an int64.
const MaxMicroUSD MicroUSD = 1<<53 - 1

// ErrAmount is wrapped by every error about an amount that is negative, too
// large, or not an exact decimal.
var ErrAmount = errors.New("bad amount")

const fractionDigits = 6

// ParseUSD reads a plain decimal number of dollars, such as "0.05" or "5.00", and
// returns it in micro-dollars. It is exact: anything finer than a micro-dollar is
// an error, never rounded, and so are signs, exponents, separators, surrounding
// space, a missing digit on either side of the point, and amounts above
// [MaxMicroUSD]. The error wraps [ErrAmount].
func ParseUSD(s string) (MicroUSD, error) {
	whole, fraction, hasPoint := strings.Cut(s, ".")
	if !allDigits(whole) || hasPoint && !allDigits(fraction) {
		return 0, fmt.Errorf("%w: %q is not a plain decimal number of dollars such as 0.05", ErrAmount, s)
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > fractionDigits {
		return 0, fmt.Errorf("%w: %q is finer than a micro-dollar (six digits after the point)", ErrAmount, s)
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", fractionDigits-len(fraction)), "0")
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || MicroUSD(n) > MaxMicroUSD {
		return 0, fmt.Errorf("%w: %q is above the largest amount, %s dollars", ErrAmount, s, MaxMicroUSD)
	}
	return MicroUSD(n), nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// String gives the amount in dollars with six digits after the point, such as
// "0.000450".
func (m MicroUSD) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%06d", sign, n/1e6, n%1e6)
}

// MarshalText gives the form of [MicroUSD.String], so that JSON carries amounts
// as exact decimal strings.
func (m MicroUSD) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what [ParseUSD] reads.
func (m *MicroUSD) UnmarshalText(text []byte) error {
	n, err := ParseUSD(string(text))
	if err == nil {
		*m = n
	}
	return err
}

// Add returns m+n. The error wraps [ErrAmount] if either is negative or the sum
// is above [MaxMicroUSD].
func (m MicroUSD) Add(n MicroUSD) (MicroUSD, error) {
	if err := errors.Join(m.Check(), n.Check()); err != nil {
		return 0, err
	}
	if sum := m + n; sum <= MaxMicroUSD {
		return sum, nil
	}
	return 0, fmt.Errorf("%w: %s + %s is above %s dollars", ErrAmount, m, n, MaxMicroUSD)
}

// Check tells whether the amount can be charged: it is between 0 and
// [MaxMicroUSD]. The error wraps [ErrAmount].
func (m MicroUSD) Check() error {
	if m < 0 || m > MaxMicroUSD {
		return fmt.Errorf("%w: %s dollars is not between 0 and %s", ErrAmount, m, MaxMicroUSD)
	}
	return nil
}
