package caps

import (
	"fmt"
	"time"
)

// Day is a UTC date, counted in days since 1970-01-01. It is a part of every
// item's key and the only thing that resets a budget.
type Day int64

const secondsPerDay = 24 * 60 * 60

// retention is how long after its end a day's items may be deleted. A late settle
// must still find its item, and DynamoDB itself promises no more than to delete
// "within a few days" of the expiry, so nothing depends on the exact moment.
const retention = 3 * 24 * time.Hour

// DayOf returns the UTC date of t.
func DayOf(t time.Time) Day {
	seconds := t.Unix()
	day := seconds / secondsPerDay
	if seconds%secondsPerDay < 0 {
		day--
	}
	return Day(day)
}

// ParseDay reads a date of the form 2006-01-02.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a date of the form YYYY-MM-DD", s)
	}
	return DayOf(t), nil
}

// String gives the date in the form 2006-01-02.
func (d Day) String() string { return d.Start().Format(time.DateOnly) }

// MarshalText gives the form of [Day.String].
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [ParseDay] reads.
func (d *Day) UnmarshalText(text []byte) error {
	day, err := ParseDay(string(text))
	if err == nil {
		*d = day
	}
	return err
}

// Start is 00:00 UTC of the day.
func (d Day) Start() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// End is 00:00 UTC of the next day: when a budget starts afresh.
func (d Day) End() time.Time { return (d + 1).Start() }

// Expiry is when the day's items may be deleted, three days after its end. It is
// housekeeping: an item that is still there later changes nothing.
func (d Day) Expiry() time.Time { return d.End().Add(retention) }
