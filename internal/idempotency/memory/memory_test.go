package memory_test

import (
	"bytes"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/idemtest"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
)

func TestStore(t *testing.T) {
	idemtest.Run(t, func(*testing.T) idempotency.Store { return memory.New() })
}

var start = time.Date(2036, 12, 1, 12, 0, 0, 0, time.UTC)

// claim claims item i at now for a minute and tells whether it got it.
func claim(t *testing.T, s *memory.Store, i int, now time.Time) (idempotency.NewClaim, bool, error) {
	t.Helper()
	c := idempotency.NewClaim{Item: strconv.Itoa(i), ID: idempotency.ClaimID{byte(i), 1}, Now: now, FreeAt: now.Add(time.Minute)}
	_, claimed, err := s.Claim(t.Context(), c)
	return c, claimed, err
}

func mustClaim(t *testing.T, s *memory.Store, i int, now time.Time) idempotency.NewClaim {
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
		"by number": {memory.MaxAnswers, idempotency.SmallAnswer + 1},
		"by bytes":  {memory.MaxBytes / idempotency.MaxAnswerBytes, idempotency.MaxAnswerBytes},
	} {
		t.Run(name, func(t *testing.T) {
			s, answer := memory.New(), bytes.Repeat([]byte{'x'}, test.size)
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
	s := memory.New()
	for i := range memory.MaxItems {
		mustClaim(t, s, i, start)
	}
	if _, claimed, err := claim(t, s, memory.MaxItems, start.Add(59*time.Second)); claimed || err == nil {
		t.Errorf("one too many: %v, %v; want an error", claimed, err)
	}
	if freed, err := s.Free(t.Context(), "7", idempotency.ClaimID{7, 1}); !freed || err != nil {
		t.Errorf("giving one back: %v, %v", freed, err)
	}
	mustClaim(t, s, memory.MaxItems, start.Add(59*time.Second))
	if _, claimed, err := claim(t, s, memory.MaxItems+1, start.Add(59*time.Second)); claimed || err == nil {
		t.Errorf("one too many again: %v, %v; want an error", claimed, err)
	}
	mustClaim(t, s, 0, start.Add(time.Minute)) // its own time has come
	mustClaim(t, s, memory.MaxItems+1, start.Add(time.Minute))
}

func BenchmarkClaimKeep(b *testing.B) {
	s, answer := memory.New(), make([]byte, 2048)
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
	s := memory.New()
	for i := range memory.MaxItems {
		s.Claim(b.Context(), idempotency.NewClaim{Item: strconv.Itoa(i), Now: start, FreeAt: start.Add(time.Minute)})
	}
	for b.Loop() {
		if _, claimed, err := s.Claim(b.Context(), idempotency.NewClaim{Item: "new", Now: start, FreeAt: start.Add(time.Minute)}); claimed || err == nil {
			b.Fatal(claimed, err)
		}
	}
}
