package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// A full store refuses to take in more keys rather than to forget one, and makes room as
// windows run empty.
func TestBound(t *testing.T) {
	s := New()
	s.max = 100
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	take := func(i int) (ratelimit.Outcome, error) {
		return s.Take(t.Context(), ratelimit.Take{Key: fmt.Sprint("key", i), Limit: 1, Window: time.Minute, Now: now})
	}
	for i := range 100 {
		now = now.Add(time.Millisecond)
		if out, err := take(i); out.Admission == "" || err != nil {
			t.Fatal(i, out, err)
		}
	}
	if out, err := take(100); err == nil || out != (ratelimit.Outcome{}) {
		t.Errorf("%+v, %v; want an error", out, err)
	}
	if out, err := take(50); out.Admission != "" || err != nil {
		t.Errorf("%+v, %v; want a known key refused", out, err)
	}
	now = now.Add(time.Minute - 50*time.Millisecond)
	for i := range 50 {
		if out, err := take(1000 + i); out.Admission == "" || err != nil {
			t.Fatal(i, out, err)
		}
	}
	if _, err := take(2000); err == nil || len(s.windows) != 100 {
		t.Errorf("%d windows, %v; want 100 and an error", len(s.windows), err)
	}
}

// A flood of new keys on a full store looks for room once a second, and not for each key.
func TestFullStoreLooksForRoomOnceASecond(t *testing.T) {
	s := New()
	s.max = 100
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	take := func(i int, at time.Duration) error {
		_, err := s.Take(t.Context(), ratelimit.Take{Key: fmt.Sprint("key", i), Limit: 1, Window: time.Minute, Now: start.Add(at)})
		return err
	}
	for i := range 100 {
		if err := take(i, time.Duration(i)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		at   time.Duration
		room bool
	}{
		{time.Minute - time.Millisecond, false}, // looks in vain
		{time.Minute, false},                    // the first has left, and it is too soon to look
		{time.Minute + 998*time.Millisecond, false},
		{time.Minute + 999*time.Millisecond, true},
	} {
		if err := take(1000, c.at); (err == nil) != c.room {
			t.Errorf("after %v: %v; want room: %t", c.at, err, c.room)
		}
	}
	for i := range 99 {
		if err := take(2000+i, time.Minute+999*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(3000, 59*time.Second); err == nil || s.swept != start.Add(59*time.Second).UnixNano() {
		t.Errorf("a clock that was set back: %v, looked at %d", err, s.swept)
	}
}

// Keys that come once do not stay.
func TestSweep(t *testing.T) {
	s := New()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i := range 200_000 {
		now = now.Add(time.Millisecond)
		if _, err := s.Take(t.Context(), ratelimit.Take{Key: fmt.Sprint(i), Limit: 3, Window: time.Second, Now: now}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.windows); n > 3*firstSweep {
		t.Errorf("%d windows are kept of which 1,000 have admissions", n)
	}
}
