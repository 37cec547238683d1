package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
)

const (
	lease = 35 * time.Second
	route = "POST /api/v1/messages"
)

var (
	keyer  = keyring(caps.KeyVersion{ID: "1", Secret: bytes.Repeat([]byte{'s'}, caps.MinSecretBytes)})
	body   = []byte(`{"model":"demo-small","messages":[{"role":"user","content":"What is a mordent?"}]}`)
	answer = idempotency.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"text":"An ornament."}`)}
)

func keyring(versions ...caps.KeyVersion) *caps.Keyer {
	k, err := caps.NewKeyring(versions...)
	if err != nil {
		panic(err)
	}
	return k
}

// newClock starts two seconds before a midnight.
func newClock() *capstest.Clock {
	return capstest.NewClock(time.Date(2026, 12, 1, 23, 59, 58, 123456789, time.UTC))
}

// spy is a store that notes what it is given and fails when told to.
type spy struct {
	idempotency.Store
	broken  error // what every method returns, after doing its work
	calls   int
	claims  []idempotency.NewClaim
	sealed  [][]byte
	freeAts []time.Time
	shown   func(*idempotency.Record) // changes what a refused claim is shown
}

func (s *spy) Claim(ctx context.Context, c idempotency.NewClaim) (idempotency.Record, bool, error) {
	s.calls++
	s.claims = append(s.claims, c)
	r, claimed, err := s.Store.Claim(ctx, c)
	if s.broken != nil {
		return idempotency.Record{}, false, s.broken
	}
	if s.shown != nil {
		s.shown(&r)
	}
	return r, claimed, err
}

func (s *spy) Keep(ctx context.Context, item string, claim idempotency.ClaimID, sealed []byte, freeAt time.Time) (bool, error) {
	s.calls++
	s.sealed = append(s.sealed, bytes.Clone(sealed))
	s.freeAts = append(s.freeAts, freeAt)
	kept, err := s.Store.Keep(ctx, item, claim, sealed, freeAt)
	if s.broken != nil {
		return false, s.broken
	}
	return kept, err
}

func (s *spy) Free(ctx context.Context, item string, claim idempotency.ClaimID) (bool, error) {
	s.calls++
	freed, err := s.Store.Free(ctx, item, claim)
	if s.broken != nil {
		return false, s.broken
	}
	return freed, err
}

var errBroken = errors.New("the store is broken")

// setup returns a store with two keepers, as two processes have them.
func setup(t testing.TB, change ...func(*idempotency.Config)) (*spy, *capstest.Clock, [2]*idempotency.Keeper) {
	t.Helper()
	s, c := &spy{Store: memory.New()}, newClock()
	var keepers [2]*idempotency.Keeper
	for i := range keepers {
		config := idempotency.Config{Store: s, Keyer: keyer, Lease: lease, Now: c.Now}
		for _, f := range change {
			f(&config)
		}
		var err error
		if keepers[i], err = idempotency.New(config); err != nil {
			t.Fatal(err)
		}
	}
	return s, c, keepers
}

func viewer(t testing.TB, address string) caps.Caller {
	t.Helper()
	caller, err := caps.ViewerCaller(address)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// begin begins the request that the tests are about.
func begin(t testing.TB, k *idempotency.Keeper) idempotency.Begun {
	t.Helper()
	return beginAs(t, k, "198.51.100.10:50235", "key-1", route, body)
}

func beginAs(t testing.TB, k *idempotency.Keeper, address, key, route string, body []byte) idempotency.Begun {
	t.Helper()
	begun, err := k.Begin(t.Context(), viewer(t, address), key, route, body)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if (begun.Claim != nil) != (begun.State == idempotency.Fresh) {
		t.Fatalf("Begin: %v with the claim %v", begun.State, begun.Claim)
	}
	return begun
}

func wantState(t testing.TB, got idempotency.Begun, want idempotency.State) {
	t.Helper()
	if got.State != want {
		t.Fatalf("state %v, want %v", got.State, want)
	}
	wantAnswer := idempotency.Answer{}
	if want == idempotency.Replay {
		wantAnswer = answer
	}
	if !reflect.DeepEqual(got.Answer, wantAnswer) {
		t.Fatalf("answer %v, want %v", got.Answer, wantAnswer)
	}
}

func fresh(t testing.TB, k *idempotency.Keeper) *idempotency.Claim {
	t.Helper()
	begun := begin(t, k)
	wantState(t, begun, idempotency.Fresh)
	return begun.Claim
}

func finish(t testing.TB, c *idempotency.Claim) {
	t.Helper()
	if err := c.Finish(t.Context(), answer); err != nil {
		t.Fatalf("Finish: %v", err)
	}
}

func TestOnePaidCall(t *testing.T) {
	_, clock, keepers := setup(t)
	claim := fresh(t, keepers[0])
	wantState(t, begin(t, keepers[0]), idempotency.Running)
	wantState(t, begin(t, keepers[1]), idempotency.Running)
	clock.Advance(20 * time.Second) // over midnight
	wantState(t, begin(t, keepers[1]), idempotency.Running)
	finish(t, claim)
	wantState(t, begin(t, keepers[0]), idempotency.Replay)
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
	clock.Advance(time.Hour - 20*time.Second - time.Millisecond)
	wantState(t, begin(t, keepers[0]), idempotency.Replay)
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
	clock.Advance(time.Millisecond)
	fresh(t, keepers[1])
	wantState(t, begin(t, keepers[0]), idempotency.Running)
}

func TestQuotedIsTheSameKey(t *testing.T) {
	_, _, keepers := setup(t)
	fresh(t, keepers[0])
	wantState(t, beginAs(t, keepers[1], "198.51.100.10:50235", `"key-1"`, route, body), idempotency.Running)
}

func TestAnotherRequest(t *testing.T) {
	_, _, keepers := setup(t)
	claim := fresh(t, keepers[0])
	others := func() {
		t.Helper()
		for _, k := range keepers {
			wantState(t, beginAs(t, k, "198.51.100.10:50235", "key-1", route, append(bytes.Clone(body), ' ')), idempotency.Mismatch)
			wantState(t, beginAs(t, k, "198.51.100.10:50235", "key-1", "POST /api/v1/chat/completions", body), idempotency.Mismatch)
			wantState(t, beginAs(t, k, "198.51.100.10:50235", "key-1", route, nil), idempotency.Mismatch)
		}
	}
	others()
	finish(t, claim)
	others()
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
}

func TestAnotherCallerOrKey(t *testing.T) {
	_, _, keepers := setup(t)
	finish(t, fresh(t, keepers[0]))
	wantState(t, beginAs(t, keepers[0], "198.51.100.11:50235", "key-1", route, body), idempotency.Fresh)
	wantState(t, beginAs(t, keepers[0], "198.51.100.10:50235", "key-2", route, body), idempotency.Fresh)
	wantState(t, beginAs(t, keepers[0], "[2001:db8::1]:50235", "key-1", route, body), idempotency.Fresh)
	wantState(t, beginAs(t, keepers[0], "[2001:db8::ffff]:1", "key-1", route, body), idempotency.Running)
	wantState(t, beginAs(t, keepers[0], "198.51.100.10:1", "key-1", route, body), idempotency.Replay)
}

func TestBadKey(t *testing.T) {
	s, _, keepers := setup(t)
	for _, key := range []string{"", " ", "a,b", strings.Repeat("k", 256), `"open`} {
		wantState(t, beginAs(t, keepers[0], "198.51.100.10:50235", key, route, body), idempotency.BadKey)
	}
	if s.calls != 0 {
		t.Errorf("the store was called %d times", s.calls)
	}
}

func TestNobody(t *testing.T) {
	s, _, keepers := setup(t)
	begun, err := keepers[0].Begin(t.Context(), caps.Caller{}, "key-1", route, body)
	if !errors.Is(err, caps.ErrNoViewerAddress) || !reflect.DeepEqual(begun, idempotency.Begun{}) || s.calls != 0 {
		t.Errorf("Begin = %v, %v after %d calls", begun, err, s.calls)
	}
}

func TestAbandon(t *testing.T) {
	_, _, keepers := setup(t)
	claim := fresh(t, keepers[0])
	if err := claim.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := beginAs(t, keepers[1], "198.51.100.10:50235", "key-1", route, []byte("another body"))
	wantState(t, second, idempotency.Fresh)
	if err := claim.Abandon(t.Context()); !errors.Is(err, idempotency.ErrEnded) {
		t.Errorf("abandoned again: %v", err)
	}
	if err := claim.Finish(t.Context(), answer); !errors.Is(err, idempotency.ErrEnded) {
		t.Errorf("finished after that: %v", err)
	}
	wantState(t, beginAs(t, keepers[0], "198.51.100.10:50235", "key-1", route, []byte("another body")), idempotency.Running)
}

func TestFinishedOnce(t *testing.T) {
	s, _, keepers := setup(t)
	claim := fresh(t, keepers[0])
	finish(t, claim)
	if err := claim.Finish(t.Context(), idempotency.Answer{Status: 500}); !errors.Is(err, idempotency.ErrEnded) {
		t.Errorf("finished again: %v", err)
	}
	if err := claim.Abandon(t.Context()); !errors.Is(err, idempotency.ErrEnded) {
		t.Errorf("abandoned after that: %v", err)
	}
	if s.calls != 2 {
		t.Errorf("the store was called %d times, want 2", s.calls)
	}
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
}

func TestDeadProcess(t *testing.T) {
	_, clock, keepers := setup(t)
	dead := fresh(t, keepers[0])
	clock.Advance(lease - time.Millisecond)
	wantState(t, begin(t, keepers[1]), idempotency.Running)
	clock.Advance(time.Millisecond)
	claim := fresh(t, keepers[1])

	// It was only slow. What it has is not put in the place of the other's.
	late := idempotency.Answer{Status: 200, Body: []byte("late")}
	if err := dead.Finish(t.Context(), late); !errors.Is(err, idempotency.ErrLost) {
		t.Errorf("the late answer: %v, want ErrLost", err)
	}
	wantState(t, begin(t, keepers[0]), idempotency.Running)
	finish(t, claim)
	wantState(t, begin(t, keepers[0]), idempotency.Replay)
}

func TestDeadProcessGivesBack(t *testing.T) {
	_, clock, keepers := setup(t)
	dead := fresh(t, keepers[0])
	clock.Advance(lease)
	fresh(t, keepers[1])
	if err := dead.Abandon(t.Context()); err != nil {
		t.Errorf("Abandon of a claim that is no longer there: %v", err)
	}
	wantState(t, begin(t, keepers[0]), idempotency.Running)
}

// The viewer is gone, or the deadline of the paid call has passed.
func TestEndWithoutContext(t *testing.T) {
	_, _, keepers := setup(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := fresh(t, keepers[0]).Abandon(gone); err != nil {
		t.Errorf("Abandon: %v", err)
	}
	if err := fresh(t, keepers[0]).Finish(gone, answer); err != nil {
		t.Errorf("Finish: %v", err)
	}
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
	if begun, err := keepers[1].Begin(gone, viewer(t, "198.51.100.10:1"), "key-2", route, body); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin = %v, %v; want it canceled", begun, err)
	}
}

func TestBrokenStore(t *testing.T) {
	s, clock, keepers := setup(t)
	s.broken = errBroken
	begun, err := keepers[0].Begin(t.Context(), viewer(t, "198.51.100.10:1"), "key-1", route, body)
	if !errors.Is(err, errBroken) || !reflect.DeepEqual(begun, idempotency.Begun{}) {
		t.Errorf("Begin = %v, %v", begun, err)
	}
	s.broken = nil
	wantState(t, begin(t, keepers[0]), idempotency.Running) // it had landed
	clock.Advance(lease)
	claim := fresh(t, keepers[0])

	s.Store, s.broken = memory.New(), errBroken // it has not landed
	if err := claim.Finish(t.Context(), answer); !errors.Is(err, errBroken) {
		t.Errorf("Finish: %v", err)
	}
	s.broken = nil
	claim = fresh(t, keepers[0]) // and is not remembered either
	s.broken = errBroken
	if err := claim.Abandon(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("Abandon: %v", err)
	}
}

func TestAnswerTooLarge(t *testing.T) {
	_, clock, keepers := setup(t, func(c *idempotency.Config) { c.MaxAnswerBytes = 1000 })
	overhead := 32 + len(answer.ContentType)
	fits := answer
	fits.Body = bytes.Repeat([]byte{'x'}, 1000-overhead)
	claim := fresh(t, keepers[0])
	if err := claim.Finish(t.Context(), fits); err != nil {
		t.Errorf("an answer that just fits: %v", err)
	}
	if begun := begin(t, keepers[1]); begun.State != idempotency.Replay || !reflect.DeepEqual(begun.Answer, fits) {
		t.Errorf("a repeat of it: %v", begun.State)
	}

	clock.Advance(time.Hour)
	claim = fresh(t, keepers[0])
	fits.Body = append(fits.Body, 'x')
	if err := claim.Finish(t.Context(), fits); !errors.Is(err, idempotency.ErrNotKept) {
		t.Errorf("an answer that does not: %v, want ErrNotKept", err)
	}
	wantState(t, begin(t, keepers[0]), idempotency.NotKept)
	wantState(t, begin(t, keepers[1]), idempotency.NotKept)
	wantState(t, beginAs(t, keepers[1], "198.51.100.10:50235", "key-1", route, nil), idempotency.Mismatch)
	clock.Advance(time.Hour)
	fresh(t, keepers[1])
}

// full is a store without room.
type full struct{ idempotency.Store }

func (f full) Keep(ctx context.Context, item string, claim idempotency.ClaimID, sealed []byte, freeAt time.Time) (bool, error) {
	if len(sealed) > idempotency.SmallAnswer {
		return false, fmt.Errorf("%w: so it says", idempotency.ErrFull)
	}
	return f.Store.Keep(ctx, item, claim, sealed, freeAt)
}

func TestStoreIsFull(t *testing.T) {
	s, _, keepers := setup(t)
	s.Store = full{s.Store}
	err := fresh(t, keepers[0]).Finish(t.Context(), answer)
	if !errors.Is(err, idempotency.ErrNotKept) || !errors.Is(err, idempotency.ErrFull) {
		t.Errorf("Finish: %v, want ErrNotKept and ErrFull", err)
	}
	wantState(t, begin(t, keepers[0]), idempotency.NotKept)
	wantState(t, begin(t, keepers[1]), idempotency.NotKept)
}

func TestBadAnswer(t *testing.T) {
	_, _, keepers := setup(t)
	claim := fresh(t, keepers[0])
	for _, a := range []idempotency.Answer{
		{}, {Status: 99}, {Status: 600}, {Status: -200}, {Status: math.MaxInt},
		{Status: 200, ContentType: strings.Repeat("c", 256)},
	} {
		if err := claim.Finish(t.Context(), a); err == nil {
			t.Errorf("status %d and a content type of %d bytes were accepted", a.Status, len(a.ContentType))
		}
	}
	finish(t, claim)
	for i, a := range []idempotency.Answer{
		{Status: 100, Body: []byte{}},
		{Status: 599, ContentType: strings.Repeat("c", 255), Body: []byte{}},
	} {
		key := fmt.Sprint("edge-", i)
		if err := beginAs(t, keepers[0], "198.51.100.10:1", key, route, body).Claim.Finish(t.Context(), a); err != nil {
			t.Errorf("status %d: %v", a.Status, err)
		}
		if begun := beginAs(t, keepers[1], "198.51.100.10:1", key, route, body); begun.State != idempotency.Replay || !reflect.DeepEqual(begun.Answer, a) {
			t.Errorf("status %d: repeated as %v %v", a.Status, begun.State, begun.Answer)
		}
	}
}

// What is in the store is neither served when it was changed nor paid for again.
func TestChangedInTheStore(t *testing.T) {
	s, _, keepers := setup(t)
	finish(t, fresh(t, keepers[0]))
	for what, change := range map[string]func(*idempotency.Record){
		"the answer":  func(r *idempotency.Record) { r.Answer = bytes.Clone(r.Answer); r.Answer[20] ^= 1 },
		"its version": func(r *idempotency.Record) { r.Answer = bytes.Clone(r.Answer); r.Answer[0]++ },
		"its length":  func(r *idempotency.Record) { r.Answer = r.Answer[:40] },
		"the time":    func(r *idempotency.Record) { r.FreeAt = s.claims[0].Now },
	} {
		_, _, others := setup(t, func(c *idempotency.Config) { c.Store = s })
		s.shown = change
		begun, err := others[0].Begin(t.Context(), viewer(t, "198.51.100.10:50235"), "key-1", route, body)
		if err == nil || !reflect.DeepEqual(begun, idempotency.Begun{}) {
			t.Errorf("%s was changed: %v, %v; want an error", what, begun, err)
		}
		s.shown = nil
	}
	wantState(t, begin(t, keepers[1]), idempotency.Replay)
}

// A process asks the store for a kept answer once, whether it has kept it or seen it.
func TestRepeatsAreFree(t *testing.T) {
	s, _, keepers := setup(t)
	finish(t, fresh(t, keepers[0]))
	calls := s.calls
	for range 10 {
		wantState(t, begin(t, keepers[0]), idempotency.Replay)
	}
	if s.calls != calls {
		t.Errorf("the process that kept it called the store %d times", s.calls-calls)
	}
	for range 10 {
		wantState(t, begin(t, keepers[1]), idempotency.Replay)
		wantState(t, beginAs(t, keepers[1], "198.51.100.10:50235", "key-1", route, nil), idempotency.Mismatch)
	}
	if s.calls != calls+1 {
		t.Errorf("the other called the store %d times, want once", s.calls-calls)
	}
}

func TestTimesInTheStore(t *testing.T) {
	s, clock, keepers := setup(t, func(c *idempotency.Config) { c.KeepFor = 10 * time.Minute })
	claim := fresh(t, keepers[0])
	now := time.Date(2026, 12, 1, 23, 59, 58, 123_000_000, time.UTC)
	got := s.claims[0]
	if !got.Now.Equal(now) || !got.FreeAt.Equal(now.Add(lease)) {
		t.Errorf("claimed at %v until %v", got.Now, got.FreeAt)
	}
	if want := time.Date(2026, 12, 2, 0, 14, 58, 0, time.UTC); !got.ExpiresAt.Equal(want) {
		t.Errorf("expires at %v, want %v: the end of the key's time, and five minutes for clocks that differ", got.ExpiresAt, want)
	}
	clock.Advance(20 * time.Second)
	finish(t, claim)
	if !s.freeAts[0].Equal(now.Add(10 * time.Minute)) {
		t.Errorf("kept until %v, want it counted from the claim", s.freeAts[0])
	}
}

func TestNothingReadableAtRest(t *testing.T) {
	s, _, keepers := setup(t)
	begun := beginAs(t, keepers[0], "198.51.100.10:50235", "stainless-node-retry-1", route, body)
	finish(t, begun.Claim)
	at := fmt.Sprintf("%+q %q %q", s.claims, s.claims[0].Fingerprint[:], s.sealed)
	for _, word := range []string{"198.51", "50235", "stainless", "retry", "messages", "POST", "demo-small", "mordent", "ornament", "json", strings.Repeat("s", 32)} {
		if strings.Contains(at, word) {
			t.Errorf("%q is readable in the store: %s", word, at)
		}
	}
	if ids := s.claims[0].ID; ids == (idempotency.ClaimID{}) {
		t.Error("the claim's ID was not drawn")
	}
	if begin(t, keepers[0]); s.claims[1].ID == s.claims[0].ID {
		t.Error("two claims have one ID")
	}
}

func TestNewRefuses(t *testing.T) {
	good := idempotency.Config{Store: memory.New(), Keyer: keyer, Lease: lease}
	if _, err := idempotency.New(good); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		field  string
		change func(*idempotency.Config)
	}{
		{"Store", func(c *idempotency.Config) { c.Store = nil }},
		{"Keyer", func(c *idempotency.Config) { c.Keyer = nil }},
		{"Lease", func(c *idempotency.Config) { c.Lease = 0 }},
		{"Lease", func(c *idempotency.Config) { c.Lease = deadlines.Lambda }},
		{"KeepFor", func(c *idempotency.Config) { c.KeepFor = -1 }},
		{"KeepFor", func(c *idempotency.Config) { c.KeepFor = lease }},
		{"KeepFor", func(c *idempotency.Config) { c.KeepFor = time.Hour + 1 }},
		{"MaxAnswerBytes", func(c *idempotency.Config) { c.MaxAnswerBytes = -1 }},
		{"MaxAnswerBytes", func(c *idempotency.Config) { c.MaxAnswerBytes = idempotency.SmallAnswer - 1 }},
		{"MaxAnswerBytes", func(c *idempotency.Config) { c.MaxAnswerBytes = idempotency.MaxAnswerBytes + 1 }},
	} {
		c := good
		test.change(&c)
		k, err := idempotency.New(c)
		if k != nil || err == nil || !strings.HasPrefix(err.Error(), "idempotency.Config."+test.field) {
			t.Errorf("%s: %v", test.field, err)
		}
	}
}

func TestNewAccepts(t *testing.T) {
	for _, change := range []func(*idempotency.Config){
		func(c *idempotency.Config) { c.Lease = deadlines.Lambda + 1 },
		func(c *idempotency.Config) { c.KeepFor = lease + 1 },
		func(c *idempotency.Config) { c.KeepFor = time.Hour },
		func(c *idempotency.Config) { c.MaxAnswerBytes = idempotency.SmallAnswer },
		func(c *idempotency.Config) { c.MaxAnswerBytes = idempotency.MaxAnswerBytes },
		func(c *idempotency.Config) { c.Now = nil },
	} {
		c := idempotency.Config{Store: memory.New(), Keyer: keyer, Lease: lease}
		change(&c)
		k, err := idempotency.New(c)
		if err != nil {
			t.Error(err)
			continue
		}
		wantState(t, begin(t, k), idempotency.Fresh)
		wantState(t, begin(t, k), idempotency.Running)
	}
}

func TestStateNames(t *testing.T) {
	names := make(map[string]bool)
	for s := idempotency.BadKey; s <= idempotency.NotKept; s++ {
		names[s.String()] = true
	}
	if len(names) != 6 || names[""] {
		t.Errorf("the names are %v", names)
	}
	if got := idempotency.State(9).String(); got != "State(9)" {
		t.Errorf("State(9) is called %q", got)
	}
}

func BenchmarkFresh(b *testing.B) {
	_, clock, keepers := setup(b)
	caller, large := viewer(b, "198.51.100.10:50235"), answer
	large.Body = make([]byte, 2048)
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			clock.Advance(2 * time.Hour)
		}
		begun, err := keepers[0].Begin(b.Context(), caller, fmt.Sprint("key-", i), route, body)
		if err != nil || begun.State != idempotency.Fresh {
			b.Fatal(begun.State, err)
		}
		if err := begun.Claim.Finish(b.Context(), large); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	_, _, keepers := setup(b)
	caller, large := viewer(b, "198.51.100.10:50235"), answer
	large.Body = make([]byte, 2048)
	if err := fresh(b, keepers[0]).Finish(b.Context(), large); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		begun, err := keepers[0].Begin(b.Context(), caller, "key-1", route, body)
		if err != nil || begun.State != idempotency.Replay {
			b.Fatal(begun.State, err)
		}
	}
}
