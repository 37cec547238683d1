package refusal_test

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/refusal"
)

func TestWait(t *testing.T) {
	for _, c := range []struct {
		wait    time.Duration
		words   string
		seconds int64
	}{
		{0, "1 second", 1},
		{1, "1 second", 1},
		{time.Second + 1, "2 seconds", 2},
		{58*time.Second + 1, "59 seconds", 59},
		{59 * time.Second, "59 seconds", 59},
		{59*time.Second + 1, "1 minute", 60},
		{time.Minute, "1 minute", 60},
		{time.Minute + 1, "2 minutes", 61},
		{2*time.Minute + 1, "3 minutes", 121},
		{time.Hour, "1 hour", 3600},
		{time.Hour + 1, "1 hour 1 minute", 3601},
		{23*time.Hour + 59*time.Minute + 1, "24 hours", 86341},
	} {
		if words, seconds := refusal.Wait(c.wait), refusal.Seconds(c.wait); words != c.words || seconds != c.seconds {
			t.Errorf("%v: %q, %d; want %q, %d", c.wait, words, seconds, c.words, c.seconds)
		}
	}
}
