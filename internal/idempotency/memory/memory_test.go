package memory

import (
	"bytes"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/idemtest"
)

func TestStore(t *testing.T) {
	idemtest.Run(t, func(*testing.T) idempotency.Store { return New() })
}

var start = time.Date(2036, 12, 1, 12, 0, 0, 0, time.UTC)

// claim claims item i at now for a minute and tells whether it got it.
func claim(t *testing.T, s *Store, i int, now time.Time) (idempotency.NewClaim, bool, error) {
	t.Helper()
	c := idempotency.NewClaim{Item: strconv.Itoa(i), ID: idempotency.ClaimID{byte(i), 1}, Now: now, FreeAt: now.Add(time.Minute)}
	_, claimed, err := s.Claim(t.Context(), c)
	return c, claimed, err
}

func mustClaim(t *testing.T, s *Store, i int, now time.Time) idempotency.NewClaim {
	t.Helper()
	c, claimed, err := claim(t, s, i, now)
	if !claimed || err != nil {
		t.Fatalf("claiming %d: %v, %v", i, claimed, err)
	}
	return c
}

func TestFullOfAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		fit  int // answers that fit
		size int
	}{
		"by number": {MaxAnswers, idempotency.SmallAnswer + 1},
		"by bytes":  {MaxBytes / idempotency.MaxAnswerBytes, idempotency.MaxAnswerBytes},
	} {
		t.Run(name, func(t *testing.T) {
			s, answer := New(), bytes.Repeat([]byte{'x'}, test.size)
			running := mustClaim(t, s, -1, start)
			for i := range test.fit {
				c := mustClaim(t, s, i, start)
				if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer, start.Add(time.Hour)); !kept || err != nil {
					t.Fatalf("keeping %d: %v, %v", i, kept, err)
				}
			}

			c := mustClaim(t, s, test.fit, start)
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer, start.Add(time.Hour)); kept || !errors.Is(err, idempotency.ErrFull) {
				t.Errorf("keeping one too many: %v, %v; want ErrFull", kept, err)
			}
			if _, claimed, err := s.Claim(t.Context(), idempotency.NewClaim{Item: c.Item, ID: idempotency.ClaimID{9, 9}, Now: start}); claimed || err != nil {
				t.Errorf("the claim whose answer was not kept: claimed again = %v, %v", claimed, err)
			}
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer[:idempotency.SmallAnswer], start.Add(time.Hour)); !kept || err != nil {
				t.Errorf("keeping a small answer: %v, %v", kept, err)
			}
			if _, claimed, err := s.Claim(t.Context(), idempotency.NewClaim{Item: running.Item, ID: idempotency.ClaimID{9, 9}, Now: start}); claimed || err != nil {
				t.Errorf("the claim that is running: claimed again = %v, %v", claimed, err)
			}

			// An answer that is written again takes no room twice, and one past its time none.
			if kept, err := s.Keep(t.Context(), "0", idempotency.ClaimID{0, 1}, answer, start.Add(30*time.Minute)); !kept || err != nil {
				t.Errorf("keeping an answer again: %v, %v", kept, err)
			}
			late := mustClaim(t, s, test.fit+1, start.Add(30*time.Minute))
			if kept, err := s.Keep(t.Context(), late.Item, late.ID, answer, start.Add(90*time.Minute)); !kept || err != nil {
				t.Errorf("keeping an answer when one has expired: %v, %v", kept, err)
			}
			late = mustClaim(t, s, test.fit+2, start.Add(30*time.Minute))
			if kept, err := s.Keep(t.Context(), late.Item, late.ID, answer, start.Add(90*time.Minute)); kept || !errors.Is(err, idempotency.ErrFull) {
				t.Errorf("keeping one too many again: %v, %v; want ErrFull", kept, err)
			}
		})
	}
}

func TestFullOfItems(t *testing.T) {
	s := New()
	for i := range MaxItems {
		mustClaim(t, s, i, start)
	}
	if _, claimed, err := claim(t, s, MaxItems, start.Add(59*time.Second)); claimed || err == nil {
		t.Errorf("one too many: %v, %v; want an error", claimed, err)
	}
	if freed, err := s.Free(t.Context(), "7", idempotency.ClaimID{7, 1}); !freed || err != nil {
		t.Errorf("giving one back: %v, %v", freed, err)
	}
	mustClaim(t, s, MaxItems, start.Add(59*time.Second))
	if _, claimed, err := claim(t, s, MaxItems+1, start.Add(59*time.Second)); claimed || err == nil {
		t.Errorf("one too many again: %v, %v; want an error", claimed, err)
	}
	mustClaim(t, s, 0, start.Add(time.Minute)) // its own time has come
	mustClaim(t, s, MaxItems+1, start.Add(time.Minute))
}

// What is past its time makes room at once when there is none, and within a minute
// when there is.
func TestSweeps(t *testing.T) {
	soon := start.Add(10 * time.Second)
	t.Run("full of items", func(t *testing.T) {
		s := New()
		for i := range MaxItems {
			c := idempotency.NewClaim{Item: strconv.Itoa(i), Now: start, FreeAt: soon}
			if _, claimed, err := s.Claim(t.Context(), c); !claimed || err != nil {
				t.Fatal(claimed, err)
			}
		}
		mustClaim(t, s, MaxItems, soon)
		wantCounts(t, s, 1, 0)
	})
	t.Run("full of answers", func(t *testing.T) {
		s, answer := New(), make([]byte, idempotency.SmallAnswer+1)
		for i := range MaxAnswers {
			c := mustClaim(t, s, i, start)
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer, soon); !kept || err != nil {
				t.Fatal(kept, err)
			}
		}
		c := mustClaim(t, s, MaxAnswers, soon)
		wantCounts(t, s, MaxAnswers+1, MaxAnswers)
		if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer, soon.Add(time.Hour)); !kept || err != nil {
			t.Errorf("keeping an answer when all have expired: %v, %v", kept, err)
		}
		wantCounts(t, s, 1, 1)
	})
	t.Run("with room", func(t *testing.T) {
		s, answer := New(), make([]byte, idempotency.SmallAnswer+1)
		for i, freeAt := range []time.Time{soon, start.Add(sweepEvery), start.Add(sweepEvery + 1)} {
			c := mustClaim(t, s, i, start)
			if kept, err := s.Keep(t.Context(), c.Item, c.ID, answer, freeAt); !kept || err != nil {
				t.Fatal(kept, err)
			}
		}
		wantCounts(t, s, 3, 3)
		mustClaim(t, s, 0, soon) // its answer goes, it stays
		wantCounts(t, s, 3, 2)
		mustClaim(t, s, 3, start.Add(sweepEvery-1))
		wantCounts(t, s, 4, 2)
		mustClaim(t, s, 4, start.Add(sweepEvery))
		wantCounts(t, s, 4, 1)
		if want := start.Add(sweepEvery + 1); !s.earliest.Equal(want) {
			t.Errorf("the next item is free at %v, want %v", s.earliest, want)
		}
	})
}

// A full store must know when its first item is free: before, it need not look for
// one, and from then on it has to.
func TestEarliest(t *testing.T) {
	s := New()
	for i, after := range []time.Duration{3, 2, 5, 4} {
		c := idempotency.NewClaim{Item: strconv.Itoa(i), Now: start, FreeAt: start.Add(after * time.Second)}
		if _, claimed, err := s.Claim(t.Context(), c); !claimed || err != nil {
			t.Fatal(claimed, err)
		}
	}
	for want := 2 * time.Second; want <= 5*time.Second; want += time.Second {
		if !s.earliest.Equal(start.Add(want)) {
			t.Errorf("the first item is free at %v, want %v", s.earliest, start.Add(want))
		}
		s.now = start.Add(want)
		s.sweep()
	}
	if !s.earliest.IsZero() || len(s.items) != 0 {
		t.Errorf("%d items are left, the first free at %v", len(s.items), s.earliest)
	}
}

// wantCounts checks how many items there are and how many of them have an answer of
// one byte more than a small one.
func wantCounts(t *testing.T, s *Store, items, answers int) {
	t.Helper()
	if len(s.items) != items || s.answers != answers || s.bytes != answers*(idempotency.SmallAnswer+1) {
		t.Errorf("%d items, %d answers, %d bytes; want %d items and %d answers", len(s.items), s.answers, s.bytes, items, answers)
	}
}

func BenchmarkClaimKeep(b *testing.B) {
	s, answer := New(), make([]byte, 2048)
	now := start
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			now = now.Add(2 * time.Hour)
		}
		c := idempotency.NewClaim{Item: strconv.Itoa(i), Now: now, FreeAt: now.Add(time.Minute)}
		if _, claimed, err := s.Claim(b.Context(), c); !claimed || err != nil {
			b.Fatal(claimed, err)
		}
		if kept, err := s.Keep(b.Context(), c.Item, c.ID, answer, now.Add(time.Hour)); !kept || err != nil {
			b.Fatal(kept, err)
		}
	}
}

// A full store refuses without walking its items.
func BenchmarkFull(b *testing.B) {
	s := New()
	for i := range MaxItems {
		s.Claim(b.Context(), idempotency.NewClaim{Item: strconv.Itoa(i), Now: start, FreeAt: start.Add(time.Minute)})
	}
	for b.Loop() {
		if _, claimed, err := s.Claim(b.Context(), idempotency.NewClaim{Item: "new", Now: start, FreeAt: start.Add(time.Minute)}); claimed || err == nil {
			b.Fatal(claimed, err)
		}
	}
}
