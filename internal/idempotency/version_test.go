package idempotency_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
)

// changing is a keyring whose second version serves from the midnight after newClock.
func changing() *caps.Keyer {
	return keyring(
		caps.KeyVersion{ID: "1", Secret: bytes.Repeat([]byte{'s'}, 32)},
		caps.KeyVersion{ID: "2", From: caps.DayOf(midnight), Secret: bytes.Repeat([]byte{'t'}, 32)},
	)
}

var midnight = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)

// A retry finds its answer as long as it is kept, whenever the first request and the
// retry come, around the change of the secret's version and around the time at which the
// old one is let go. Nothing that is kept is paid twice.
func TestRetryOverAChangeOfVersion(t *testing.T) {
	const keep = time.Hour
	offsets := []time.Duration{
		-keep, -time.Second, 0, time.Second, keep - time.Second, keep, keep + 4*time.Minute, keep + 5*time.Minute, keep + 6*time.Minute, 2 * keep,
	}
	for _, first := range offsets {
		for _, after := range []time.Duration{0, time.Second, 10 * time.Minute, keep - time.Second, keep} {
			s, c, keepers := setup(t, func(c *idempotency.Config) { c.Keyer = changing() })
			c.Set(midnight.Add(first))
			begun := begin(t, keepers[0])
			wantState(t, begun, idempotency.Fresh)
			wantState(t, begin(t, keepers[1]), idempotency.Running)
			if err := begun.Claim.Finish(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
			c.Set(midnight.Add(first + after))
			want := idempotency.Replay
			if after >= keep {
				want = idempotency.Fresh
			}
			for i, k := range keepers {
				got := begin(t, k)
				wantState(t, got, want)
				if want == idempotency.Replay && !bytes.Equal(got.Answer.Body, answer.Body) {
					t.Errorf("first at %v, retry %v later, keeper %d: %q", first, after, i, got.Answer.Body)
				}
				if want == idempotency.Fresh {
					break
				}
			}
			if t.Failed() {
				t.Fatalf("the first was at %v from the change, the retry %v later, with %d claims", first, after, len(s.claims))
			}
		}
	}
}

// Two instances whose clocks differ meet in one of the two items, on either side of
// either border, and a claim that is given up is given up in both.
func TestClocksDifferAtAChangeOfVersion(t *testing.T) {
	for _, border := range []time.Duration{0, time.Hour + 5*time.Minute} {
		for _, ahead := range []int{0, 1} {
			s, c, keepers := setup(t, func(c *idempotency.Config) { c.Keyer = changing() })
			at := func(i int) {
				c.Set(midnight.Add(border - time.Second))
				if i == ahead {
					c.Set(midnight.Add(border + time.Second))
				}
			}
			at(0)
			begun := begin(t, keepers[0])
			wantState(t, begun, idempotency.Fresh)
			at(1)
			wantState(t, begin(t, keepers[1]), idempotency.Running)
			at(0)
			if err := begun.Claim.Abandon(t.Context()); err != nil {
				t.Fatal(err)
			}
			at(1)
			again := begin(t, keepers[1])
			wantState(t, again, idempotency.Fresh)
			if err := again.Claim.Finish(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
			at(0)
			wantState(t, begin(t, keepers[0]), idempotency.Replay)
			if t.Failed() {
				t.Fatalf("border %v, keeper %d ahead, %d claims", border, ahead, len(s.claims))
			}
		}
	}
}

// One item is claimed on all days without a change, two for a while after one.
func TestTwoItemsOnlyAfterAChange(t *testing.T) {
	for at, want := range map[time.Duration]int{
		-24 * time.Hour: 1, -time.Nanosecond: 1, 0: 2, time.Hour: 2, 65*time.Minute - time.Millisecond: 2, 65 * time.Minute: 1, 24 * time.Hour: 1,
	} {
		s, c, keepers := setup(t, func(c *idempotency.Config) { c.Keyer = changing() })
		c.Set(midnight.Add(at))
		begin(t, keepers[0])
		if len(s.claims) != want {
			t.Errorf("%v from the change: %d items are claimed, want %d", at, len(s.claims), want)
		}
	}
}

// A store that fails at the second item admits nothing.
func TestSecondItemFails(t *testing.T) {
	s, c, keepers := setup(t, func(c *idempotency.Config) { c.Keyer = changing() })
	c.Set(midnight)
	s.broken = errBroken
	if _, err := keepers[0].Begin(t.Context(), viewer(t, "198.51.100.10:50235"), "key-1", route, body); !errors.Is(err, errBroken) {
		t.Errorf("%v; want %v", err, errBroken)
	}
}
