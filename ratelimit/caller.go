package ratelimit

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// ForCaller is an attempt of a caller at now, under a key that is made for this rule and
// is no use for anything else. It is one attempt, except for a window's length after the
// midnight at which the keyer's secret has changed: then it is two, under the key of
// before as well, so that nobody has a second window. Nobody, the zero Caller, cannot be
// checked.
func (r Rule) ForCaller(k *caps.Keyer, c caps.Caller, now time.Time) []Attempt {
	if c.IsZero() {
		return []Attempt{r.For("")}
	}
	purpose := "rate-" + r.Name
	key := k.LastingKey(purpose, caps.DayOf(now), c)
	attempts := []Attempt{r.For(key.Key)}
	if before := k.LastingKey(purpose, caps.DayOf(now.Add(-r.Window)), c); before != key {
		attempts = append(attempts, r.For(before.Key))
	}
	return attempts
}
