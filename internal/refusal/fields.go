package refusal

import "strconv"

// AppendItem appends one item to the value of RateLimit-Policy or RateLimit
// (draft-ietf-httpapi-ratelimit-headers-10), which are lists of structured fields (RFC
// 9651): its name, in two parts, and two parameters.
func AppendItem(b []byte, name, unit, p1 string, v1 int64, p2 string, v2 int64) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, unit...)
	b = append(b, '"')
	b = append(b, p1...)
	b = strconv.AppendInt(b, v1, 10)
	b = append(b, p2...)
	return strconv.AppendInt(b, v2, 10)
}
