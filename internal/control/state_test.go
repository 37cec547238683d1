package control

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestBlockInForce(t *testing.T) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	today := caps.DayOf(midnight.Add(-time.Second))
	for _, c := range []struct {
		name  string
		block Block
		at    time.Time
		want  bool
	}{
		{"of a day, in its last second", Block{Day: today}, midnight.Add(-time.Second), true},
		{"of a day, at its end", Block{Day: today}, midnight, false},
		{"of a day, the day before", Block{Day: today}, midnight.Add(-25 * time.Hour), false},
		{"lasting", Block{}, midnight, true},
		{"until a time, before it", Block{Until: midnight}, midnight.Add(-time.Nanosecond), true},
		{"until a time, at it", Block{Until: midnight}, midnight, false},
		{"of a day and shorter", Block{Day: today, Until: midnight.Add(-time.Hour)}, midnight.Add(-time.Hour), false},
	} {
		if got := c.block.InForce(c.at); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
