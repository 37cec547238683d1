package caps_test

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

func TestDayOf(t *testing.T) {
	east := time.FixedZone("east", 14*60*60)
	west := time.FixedZone("west", -12*60*60)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), "2026-11-30"},
		{time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC), "2026-11-30"},
		{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "2026-12-01"},
		{time.Date(2026, 12, 1, 13, 59, 59, 0, east), "2026-11-30"},
		{time.Date(2026, 12, 1, 14, 0, 0, 0, east), "2026-12-01"},
		{time.Date(2026, 11, 30, 12, 0, 0, 0, west), "2026-12-01"},
		{time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), "2028-02-29"},
		{time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), "2026-12-31"},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "1970-01-01"},
		{time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), "1969-12-31"},
		{time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), "1969-12-31"},
	} {
		day := caps.DayOf(c.at)
		if day.String() != c.want {
			t.Errorf("the day of %s is %s; want %s", c.at, day, c.want)
		}
		if back, err := caps.ParseDay(c.want); back != day || err != nil {
			t.Errorf("ParseDay(%q) = %v, %v; want %v", c.want, back, err, day)
		}
		if c.at.Before(day.Start()) || !c.at.Before(day.End()) {
			t.Errorf("%s is not within %s and %s", c.at, day.Start(), day.End())
		}
	}
}

func TestDayBounds(t *testing.T) {
	day, err := caps.ParseDay("2026-11-30")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := day.Start(), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("starts at %s; want %s", got, want)
	}
	if got, want := day.End(), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("ends at %s; want %s", got, want)
	}
	if least := day.End().Add(48 * time.Hour); day.Expiry().Before(least) {
		t.Errorf("expires at %s, before %s: a late settle would not find its item", day.Expiry(), least)
	}
}

func TestParseDayRefuses(t *testing.T) {
	for _, s := range []string{"", "2026-11-31", "2026-1-1", "30-11-2026", "2026-11-30T00:00:00Z", "2026-11-30 ", "today"} {
		if day, err := caps.ParseDay(s); err == nil || day != 0 {
			t.Errorf("ParseDay(%q) = %v, %v; want an error", s, day, err)
		}
	}
}
