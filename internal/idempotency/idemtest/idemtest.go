// Package idemtest is the suite that every [idempotency.Store] passes.
package idemtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
)

// start is shortly before a midnight, and far from now: a store that looks at its own
// clock fails.
var start = time.Date(2036, 12, 1, 23, 59, 58, 0, time.UTC)

const (
	lease   = 35 * time.Second
	keepFor = time.Hour
)

// Run checks the contract. open returns a store to test; it may be the same one each
// time, because every test has items of its own.
func Run(t *testing.T, open func(t *testing.T) idempotency.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *subject)
	}{
		{"ClaimsAFreeItem", claimsAFreeItem},
		{"RepeatedClaimIsTheSame", repeatedClaim},
		{"KeepsAnAnswer", keepsAnAnswer},
		{"KeepsEveryByte", keepsEveryByte},
		{"KeepsAgain", keepsAgain},
		{"KeepsNoAlias", keepsNoAlias},
		{"KeepsNothingForAnother", keepsNothingForAnother},
		{"FreesAClaim", freesAClaim},
		{"FreesNothingForAnother", freesNothingForAnother},
		{"FreesNoAnswer", freesNoAnswer},
		{"LeaseEnds", leaseEnds},
		{"AnswerExpires", answerExpires},
		{"TakenOver", takenOver},
		{"ItemsAreIndependent", itemsAreIndependent},
		{"ContextIsDone", contextIsDone},
		{"ParallelClaims", parallelClaims},
		{"ParallelTakeOver", parallelTakeOver},
		{"ParallelKeepers", parallelKeepers},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, &subject{Store: open(t), item: "idem#answer#test-" + rand.Text()})
		})
	}
}

// subject is a store with an item that nobody else uses.
type subject struct {
	idempotency.Store
	item string
}

func (s *subject) bid(name byte, now time.Time) idempotency.NewClaim {
	return idempotency.NewClaim{
		Item:        s.item,
		ID:          idempotency.ClaimID{0, name, 255},
		Fingerprint: idempotency.Fingerprint{name, 0, 255},
		Now:         now,
		FreeAt:      now.Add(lease),
		ExpiresAt:   now.Add(keepFor).Truncate(time.Second),
	}
}

// claims checks that a claim is granted.
func (s *subject) claims(t *testing.T, c idempotency.NewClaim) {
	t.Helper()
	if _, claimed, err := s.Claim(t.Context(), c); !claimed || err != nil {
		t.Fatalf("Claim = %v, %v; want it claimed", claimed, err)
	}
}

// finds checks that a claim is not granted and what it is shown instead.
func (s *subject) finds(t *testing.T, c idempotency.NewClaim, want idempotency.Record) {
	t.Helper()
	got, claimed, err := s.Claim(t.Context(), c)
	if claimed || err != nil {
		t.Fatalf("Claim = %v, %v; want it refused", claimed, err)
	}
	if !got.FreeAt.Equal(want.FreeAt) {
		t.Errorf("the record is free at %v, want %v", got.FreeAt, want.FreeAt)
	}
	got.FreeAt = want.FreeAt
	if len(got.Answer) == 0 {
		got.Answer = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record is %x, want %x", got, want)
	}
}

func (s *subject) keep(t *testing.T, c idempotency.NewClaim, answer string, want bool) {
	t.Helper()
	kept, err := s.Keep(t.Context(), c.Item, c.ID, []byte(answer), c.Now.Add(keepFor))
	if kept != want || err != nil {
		t.Fatalf("Keep = %v, %v; want %v", kept, err, want)
	}
}

func (s *subject) free(t *testing.T, c idempotency.NewClaim, want bool) {
	t.Helper()
	if freed, err := s.Free(t.Context(), c.Item, c.ID); freed != want || err != nil {
		t.Fatalf("Free = %v, %v; want %v", freed, err, want)
	}
}

func running(c idempotency.NewClaim) idempotency.Record {
	return idempotency.Record{Claim: c.ID, Fingerprint: c.Fingerprint, FreeAt: c.FreeAt}
}

func answered(c idempotency.NewClaim, answer string) idempotency.Record {
	return idempotency.Record{Claim: c.ID, Fingerprint: c.Fingerprint, FreeAt: c.Now.Add(keepFor), Answer: []byte(answer)}
}

func claimsAFreeItem(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.finds(t, s.bid('b', start), running(first))
	s.finds(t, s.bid('c', start.Add(time.Second)), running(first))
}

func repeatedClaim(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.claims(t, first)
	s.finds(t, s.bid('b', start), running(first))

	s.keep(t, first, "answer", true)
	s.finds(t, first, answered(first, "answer"))
}

func keepsAnAnswer(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.keep(t, first, "answer", true)
	s.finds(t, s.bid('b', start), answered(first, "answer"))
	s.finds(t, s.bid('b', start.Add(lease)), answered(first, "answer"))
}

func keepsEveryByte(t *testing.T, s *subject) {
	long := make([]byte, idempotency.MaxAnswerBytes)
	for i := range long {
		long[i] = byte(i)
	}
	first := s.bid('a', start)
	s.claims(t, first)
	s.keep(t, first, string(long), true)
	s.finds(t, s.bid('b', start), answered(first, string(long)))
}

// A reply that was lost makes a store send its write again.
func keepsAgain(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.keep(t, first, "answer", true)
	s.keep(t, first, "answer", true)
	s.finds(t, s.bid('b', start), answered(first, "answer"))
}

func keepsNoAlias(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	buffer := []byte("answer")
	if kept, err := s.Keep(t.Context(), first.Item, first.ID, buffer, first.Now.Add(keepFor)); !kept || err != nil {
		t.Fatalf("Keep = %v, %v", kept, err)
	}
	copy(buffer, "wrong!")
	s.finds(t, s.bid('b', start), answered(first, "answer"))
}

func keepsNothingForAnother(t *testing.T, s *subject) {
	first, second := s.bid('a', start), s.bid('b', start)
	s.keep(t, first, "nobody's", false)
	s.claims(t, first)
	s.keep(t, second, "wrong", false)
	s.finds(t, second, running(first))
}

func freesAClaim(t *testing.T, s *subject) {
	first, second := s.bid('a', start), s.bid('b', start)
	s.free(t, first, false)
	s.claims(t, first)
	s.free(t, first, true)
	s.free(t, first, false)
	s.keep(t, first, "too late", false)
	s.claims(t, second)
	s.finds(t, first, running(second))
}

func freesNothingForAnother(t *testing.T, s *subject) {
	first, second := s.bid('a', start), s.bid('b', start)
	s.claims(t, first)
	s.free(t, second, false)
	s.finds(t, second, running(first))
}

func freesNoAnswer(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.keep(t, first, "answer", true)
	s.free(t, first, false)
	s.finds(t, s.bid('b', start), answered(first, "answer"))
}

func leaseEnds(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.finds(t, s.bid('b', first.FreeAt.Add(-time.Millisecond)), running(first))
	second := s.bid('c', first.FreeAt)
	s.claims(t, second)
	s.finds(t, s.bid('d', first.FreeAt), running(second))
}

func answerExpires(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.keep(t, first, "answer", true)
	end := start.Add(keepFor)
	s.finds(t, s.bid('b', end.Add(-time.Millisecond)), answered(first, "answer"))
	second := s.bid('c', end)
	s.claims(t, second)
	s.finds(t, s.bid('d', end), running(second)) // nothing of the old answer is left
}

func takenOver(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	second := s.bid('b', first.FreeAt)
	s.claims(t, second)
	s.keep(t, first, "too late", false)
	s.free(t, first, false)
	s.finds(t, s.bid('c', second.Now), running(second))
	s.keep(t, second, "answer", true)
	s.keep(t, first, "too late", false)
	s.finds(t, first, answered(second, "answer"))
}

func itemsAreIndependent(t *testing.T, s *subject) {
	other := &subject{s.Store, s.item + "-other"}
	first, second := s.bid('a', start), other.bid('b', start)
	s.claims(t, first)
	s.keep(t, first, "answer", true)
	other.claims(t, second)
	other.free(t, second, true)
	s.finds(t, s.bid('c', start), answered(first, "answer"))
	other.claims(t, second)
}

func contextIsDone(t *testing.T, s *subject) {
	first, second := s.bid('a', start), s.bid('b', start)
	s.claims(t, first)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, claimed, err := s.Claim(ctx, second); claimed || err == nil {
		t.Errorf("Claim = %v, %v; want an error", claimed, err)
	}
	if kept, err := s.Keep(ctx, first.Item, first.ID, []byte("answer"), start.Add(keepFor)); kept || err == nil {
		t.Errorf("Keep = %v, %v; want an error", kept, err)
	}
	if freed, err := s.Free(ctx, first.Item, first.ID); freed || err == nil {
		t.Errorf("Free = %v, %v; want an error", freed, err)
	}
	s.finds(t, second, running(first))
}

func parallelClaims(t *testing.T, s *subject) {
	s.exactlyOne(t, start)
}

func parallelTakeOver(t *testing.T, s *subject) {
	first := s.bid('a', start)
	s.claims(t, first)
	s.exactlyOne(t, first.FreeAt)
}

// exactlyOne claims a free item 100 times at once.
func (s *subject) exactlyOne(t *testing.T, now time.Time) {
	t.Helper()
	const claims = 100
	var granted [claims]bool
	var seen [claims]idempotency.Record
	together(claims, func(i int) {
		var err error
		if seen[i], granted[i], err = s.Claim(t.Context(), s.bid(byte(100+i), now)); err != nil {
			t.Errorf("claim %d: %v", i, err)
		}
	})
	winner := -1
	for i, ok := range granted {
		if ok && winner >= 0 {
			t.Fatalf("claims %d and %d are both granted", winner, i)
		}
		if ok {
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("no claim is granted")
	}
	for i, r := range seen {
		if i != winner && r.Claim != s.bid(byte(100+winner), now).ID {
			t.Errorf("claim %d was shown the claim %x, not the winner's", i, r.Claim)
		}
	}
}

// parallelKeepers begins one key 100 times at once with four keepers, as four
// processes would, and again after the answer.
func parallelKeepers(t *testing.T, s *subject) {
	const begins = 100
	keyer, err := caps.NewKeyer(bytes.Repeat([]byte{'s'}, caps.MinSecretBytes))
	if err != nil {
		t.Fatal(err)
	}
	var keepers [4]*idempotency.Keeper
	for i := range keepers {
		keepers[i], err = idempotency.New(idempotency.Config{
			Store: s.Store,
			Keyer: keyer,
			Lease: lease,
			Now:   func() time.Time { return start },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	caller, err := caps.ViewerCaller("198.51.100.10:50235")
	if err != nil {
		t.Fatal(err)
	}
	key := rand.Text()
	var claim *idempotency.Claim
	begin := func() map[string]int {
		var mu sync.Mutex
		states := make(map[string]int)
		together(begins, func(i int) {
			begun, err := keepers[i%len(keepers)].Begin(t.Context(), caller, key, "POST /api/v1/messages", []byte("body"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("begin %d: %v", i, err)
			}
			if begun.Claim != nil {
				claim = begun.Claim
			}
			states[fmt.Sprintf("%v %s", begun.State, begun.Answer.Body)]++
		})
		return states
	}
	if got, want := begin(), map[string]int{"fresh ": 1, "running ": begins - 1}; !reflect.DeepEqual(got, want) {
		t.Fatalf("at first: %v, want %v", got, want)
	}
	if err := claim.Finish(t.Context(), idempotency.Answer{Status: 200, ContentType: "application/json", Body: []byte("answer")}); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	if got, want := begin(), map[string]int{"replay answer": begins}; !reflect.DeepEqual(got, want) {
		t.Fatalf("after the answer: %v, want %v", got, want)
	}
}

// together runs f(0) to f(n-1) at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}
