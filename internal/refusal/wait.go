// Package refusal is how a limit tells a person, and a program, when to come back.
package refusal

import (
	"fmt"
	"strings"
	"time"
)

// Wait writes a duration in hours and minutes, rounded up; under a minute in seconds,
// of which it is one at least.
func Wait(d time.Duration) string {
	if d <= time.Minute-time.Second {
		return plural(Seconds(d), "second")
	}
	minutes := int64((d + time.Minute - 1) / time.Minute)
	var parts []string
	if h := minutes / 60; h > 0 {
		parts = append(parts, plural(h, "hour"))
	}
	if m := minutes % 60; m > 0 {
		parts = append(parts, plural(m, "minute"))
	}
	return strings.Join(parts, " ")
}

// Seconds is the value of a Retry-After header (RFC 9110 section 10.2.3): whole seconds,
// rounded up, one at least.
func Seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
