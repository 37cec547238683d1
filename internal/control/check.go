package control

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// checkText accepts one line of printable text: what goes to terminals and into
// answers must not steer them.
func checkText(field, s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("%s: %d bytes are more than %d: shorten it", field, len(s), most)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s: it is not valid UTF-8", field)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s: it has the character %U: write one line of printable text", field, r)
		}
	}
	return nil
}

func checkOrigin(since time.Time, by string) error {
	if since.IsZero() {
		return errors.New("since: it is missing")
	}
	if by == "" {
		return errors.New("by: it is missing: say who sets this")
	}
	return checkText("by", by, MaxByBytes)
}

// checkName accepts what a [caps.Budget] may be called.
func checkName(field, name string) error {
	if len(name) > maxNameBytes {
		return fmt.Errorf("%s: a name has at most %d characters", field, maxNameBytes)
	}
	if err := (caps.Budget{Name: name, Cap: caps.Calls(0)}).Check(); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// lastDay is the last date that four digits for the year can write.
var lastDay = caps.DayOf(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))

func checkDay(day caps.Day) error {
	if day < 0 || day > lastDay {
		return errors.New("day: it is out of range")
	}
	return nil
}

func isCallerKey(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
