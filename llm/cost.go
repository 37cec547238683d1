package llm

import "math/bits"

// ceilMulDiv returns a*b/d rounded up, or the largest int64 if that is less. a and b
// must not be negative and d must be positive.
func ceilMulDiv(a, b, d int64) int64 {
	const most = 1<<63 - 1
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(d) {
		return most
	}
	q, rem := bits.Div64(hi, lo, uint64(d))
	if q >= most {
		return most
	}
	if rem > 0 {
		q++
	}
	return int64(q)
}
