package dynamo

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// slots are the times of a window's slots in milliseconds, 0 where one is empty. They are
// never changed once they are made.
type slots []int64

// mark is what a slot has: a time, and a fraction of a millisecond that is drawn for each
// admission, 1 to fractions-1.
type mark struct {
	ms, fraction int64
}

// fractions is ten to the power of the fraction's digits. Two admissions can be taken for
// each other only if they are of the same slot and millisecond, and one's reply was lost.
const (
	fractions = 10_000_000
	digits    = 7
)

// newMark dates an admission at t, rounded up.
func newMark(t time.Time) mark {
	m := mark{ms: t.UnixMilli(), fraction: 1 + rand.Int64N(fractions-1)}
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		m.ms++
	}
	return m
}

// String is the mark as DynamoDB writes numbers: without zeros at the end.
func (m mark) String() string {
	return strings.TrimRight(fmt.Sprintf("%d.%0*d", m.ms, digits, m.fraction), "0")
}

// parseMark reads a mark.
func parseMark(s string) (mark, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || ms < 0 || len(fraction) > digits {
		return mark{}, fmt.Errorf("not a time in milliseconds")
	}
	f, err := strconv.ParseInt(fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil || f < 0 {
		return mark{}, fmt.Errorf("not a time in milliseconds")
	}
	return mark{ms, f}, nil
}

// slotName is the attribute of a slot, two digits to the base of 36.
func slotName(i int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	return string([]byte{digits[i/36], digits[i%36]})
}

func isSlotName(s string) bool {
	i, err := strconv.ParseInt(s, 36, 64)
	return err == nil && len(s) == 2 && i >= 0 && i < ratelimit.MaxRequests && slotName(int(i)) == s
}

// bounds are the times between which an admission is in the window, as of a take.
type bounds struct {
	left  int64 // what is of this millisecond or before has left
	ahead int64 // what is of this millisecond or after does not count
}

func boundsOf(t ratelimit.Take) bounds {
	return bounds{t.Now.Add(-t.Window).UnixMilli(), t.Now.Add(ratelimit.MaxAhead).UnixMilli()}
}

func (b bounds) contains(ms int64) bool { return ms > b.left && ms < b.ahead }

// readSlots reads the first n slots of an item.
func readSlots(item map[string]types.AttributeValue, n int) (slots, error) {
	seen := make(slots, n)
	for i := range seen {
		value, ok := item[slotName(i)]
		if !ok {
			continue
		}
		m, err := markOf(value)
		if err != nil {
			return nil, fmt.Errorf("the item is broken: its attribute %s is %w", slotName(i), err)
		}
		seen[i] = m.ms
	}
	return seen, nil
}

func markOf(value types.AttributeValue) (mark, error) {
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return mark{}, fmt.Errorf("not a number")
	}
	return parseMark(n.Value)
}

// draw chooses a slot of n for a take: one that was free when the window was last seen,
// else the one that comes free first.
func (s slots) draw(n int, b bounds) int {
	if len(s) < n { // nothing is known, or the limit was raised
		return rand.IntN(n)
	}
	first, free := 0, 0
	chosen := -1
	for i, ms := range s[:n] {
		if !b.contains(ms) {
			free++
			if rand.IntN(free) == 0 {
				chosen = i
			}
		}
		if ms < s[first] {
			first = i
		}
	}
	if chosen < 0 {
		return first
	}
	return chosen
}

// outcome is what the slots say to a take.
func (s slots) outcome(t ratelimit.Take, b bounds) ratelimit.Outcome {
	out := ratelimit.Outcome{Remaining: len(s)}
	var oldest, newest int64
	for _, ms := range s {
		if !b.contains(ms) {
			continue
		}
		out.Remaining--
		if oldest == 0 || ms < oldest {
			oldest = ms
		}
		newest = max(newest, ms)
	}
	out.FreeAt, out.Newest = time.UnixMilli(oldest).Add(t.Window), time.UnixMilli(newest)
	return out
}
