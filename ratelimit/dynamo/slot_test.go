package dynamo

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

func TestSlotNames(t *testing.T) {
	seen := map[string]bool{"k": true}
	for i := range ratelimit.MaxRequests {
		name := slotName(i)
		if len(name) != 2 || seen[name] || !isSlotName(name) {
			t.Fatalf("slot %d is named %q", i, name)
		}
		seen[name] = true
	}
	for _, name := range []string{"", "k", "0", "zz", "+1", "-1", "0A", "000", "rs"} {
		if isSlotName(name) {
			t.Errorf("%q is taken for a slot", name)
		}
	}
	if first, last := slotName(0), slotName(ratelimit.MaxRequests-1); first != "00" || last != "rr" {
		t.Errorf("%s to %s; the package's documentation says 00 to rr", first, last)
	}
}

func TestMarks(t *testing.T) {
	for _, m := range []mark{{1796040000000, 1}, {1796040000000, 9_999_999}, {1796040000001, 1_230_000}, {5, 500_000}} {
		if got, err := parseMark(m.String()); got != m || err != nil {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	for range 1000 {
		m := newMark(noon().Add(time.Nanosecond))
		if got, err := parseMark(m.String()); got != m || err != nil || m.ms != noon().UnixMilli()+1 || m.fraction < 1 || m.fraction >= fractions {
			t.Fatalf("%v is read as %v, %v", m, got, err)
		}
	}
	for _, s := range []string{"", ".5", "1e3", "-1", "1.-5", "1.12345678", "x"} {
		if m, err := parseMark(s); err == nil {
			t.Errorf("%q is read as %v", s, m)
		}
	}
}

// An item is as large as its limit makes it, and no larger however often it is used.
func TestItemSize(t *testing.T) {
	for limit, most := range map[int]int{1: 100, 70: 1024, 300: 4096, 1000: 14_000} {
		s := ddbtest.New(t)
		store := newStore(t, s)
		now := noon()
		for range 2 * limit {
			now = now.Add(time.Minute / time.Duration(limit)) // each takes the place of one that has left
			if out, err := store.Take(t.Context(), take(limit, now.Truncate(time.Millisecond).Add(time.Millisecond))); err != nil || out.Admission == "" {
				t.Fatal(out, err)
			}
		}
		size := s.Row("rate#" + windowKey).Size()
		t.Logf("limit %d: %d bytes", limit, size)
		if size > most || used(s) > limit {
			t.Errorf("limit %d: %d bytes, %d slots; want %d at most", limit, size, used(s), most)
		}
	}
}
