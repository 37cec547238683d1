package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// The item's lifetime is in seconds, is more than two days after the day's end, is
// written once, and moves neither with the time of a write nor with its retry.
func TestExpiresAt(t *testing.T) {
	s := newServer(t)
	store := s.store()
	const want = "1796342400" // 2026-12-04 00:00 UTC
	if end := caller().Day.End(); end.Unix() != 1796342400-3*24*60*60 || end.Format(time.DateOnly) != "2026-12-01" {
		t.Fatalf("the day ends at %v", end)
	}
	for _, c := range []caps.Charge{charge(40), shared(40)} {
		if out, err := store.Reserve(ctx(t), c, caps.Calls(10)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
		if got := s.row(c.Key)["expiresAt"]["N"]; got != want {
			t.Errorf("expiresAt = %s; want %s", got, want)
		}
		if ok, err := store.Settle(ctx(t), c, 10); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if got := s.row(c.Key)["expiresAt"]["N"]; got != want {
			t.Errorf("after the settle expiresAt = %s; want %s", got, want)
		}
		// Once it is there, it stays as it is, whatever a later release would write.
		s.put(c.Key, ddbtest.Row{"n": {"N": "1"}, "usd": {"N": "10"}, "held": {"N": "0"}, "expiresAt": {"N": "7"}})
		c.ID += strings.Repeat("f", len(c.ID))
		if out, err := store.Reserve(ctx(t), c, caps.Calls(10)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
		if got := s.row(c.Key)["expiresAt"]["N"]; got != "7" {
			t.Errorf("expiresAt = %s; want the 7 that was there", got)
		}
	}
}

// An expired item that has not been deleted yet has no influence: the day is in the key.
func TestExpiredItem(t *testing.T) {
	s := newServer(t)
	old := charge(40)
	old.Key.Day -= 10
	s.put(old.Key, ddbtest.Row{"n": {"N": "10"}, "usd": {"N": "100"}, "held": {"N": "0"}, "expiresAt": {"N": "1795478400"}})
	out, err := s.store().Reserve(ctx(t), charge(40), caps.Calls(1).AndUSD(40))
	if want := (caps.Outcome{Allowed: true, Usage: caps.Usage{Calls: 1, USD: 40, Held: 40, Open: 1}}); out != want || err != nil {
		t.Errorf("%+v, %v; want %+v", out, err, want)
	}
	if got := s.counts(old); got != "n=10 usd=100 held=0" {
		t.Errorf("the old item: %s", got)
	}
}

func finalCharge(n int) caps.Charge {
	return caps.Charge{Key: caller(), ID: fmt.Sprintf("%016x", n), Final: true}
}

func marks(r ddbtest.Row) []string {
	var names []string
	for name := range r {
		if strings.HasPrefix(name, prefixFinal) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A caller's item stays below 1 KB, which is one write unit, through a thousand calls
// of a second each.
func TestItemStaysSmall(t *testing.T) {
	s := newServer(t)
	clock := capstest.NewClock(noon())
	store := s.store(func(c *Config) { c.Now = clock.Now })
	largest, writes := 0, 0
	for n := range 1000 {
		out, err := store.Reserve(ctx(t), finalCharge(n), caps.Calls(1000))
		if !out.Allowed || out.Usage.Calls != int64(n+1) || err != nil {
			t.Fatalf("call %d: %+v, %v", n, out, err)
		}
		largest = max(largest, s.row(caller()).Size())
		sent := s.Requests()
		writes += len(sent)
		if sent[0].Request.ReturnValues != "ALL_NEW" || len(sent) > 2 {
			t.Fatalf("call %d: %d requests", n, len(sent))
		}
		clock.Advance(time.Second)
	}
	if largest >= 1024 || largest < 500 {
		t.Errorf("the item had %d bytes at most; want 500 to 1023", largest)
	}
	if extra := writes - 1000; extra < 50 || extra > 62 {
		t.Errorf("%d clean-ups; want one in 17 calls", extra)
	}

	// Held and settled, ten at a time, it is small as well.
	s = newServer(t)
	store = s.store()
	var open []caps.Charge
	for n := range 200 {
		c := caps.Charge{Key: caller(), ID: fmt.Sprintf("%016x", n), Amount: 10_000}
		if out, err := store.Reserve(ctx(t), c, caps.Calls(1000)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
		if size := s.row(caller()).Size(); size >= 1024 {
			t.Fatalf("%d bytes with %d holds", size, len(open)+1)
		}
		if open = append(open, c); len(open) == 10 {
			for _, c := range open {
				if ok, err := store.Settle(ctx(t), c, 450); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			open = nil
		}
	}
	if size := s.row(caller()).Size(); size > 100 {
		t.Errorf("%d bytes with nothing held", size)
	}
}

// Only marks that are old are removed; one that a retry may need stays.
func TestOldMarks(t *testing.T) {
	s := newServer(t)
	clock := capstest.NewClock(noon())
	store := s.store(func(c *Config) { c.Now = clock.Now })
	reserve := func(n int) {
		t.Helper()
		if out, err := store.Reserve(ctx(t), finalCharge(n), caps.Calls(1000)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
	}
	for n := range 17 {
		reserve(n)
	}
	clock.Advance(10 * time.Second)
	reserve(17) // the others are ten seconds old, not more
	if n := len(marks(s.row(caller()))); n != 18 {
		t.Fatalf("%d marks; want 18", n)
	}
	clock.Advance(time.Second)
	s.Requests()
	reserve(18)
	if got, want := marks(s.row(caller())), []string{"done:0000000000000011", "done:0000000000000012"}; !slices.Equal(got, want) {
		t.Errorf("marks %q; want %q", got, want)
	}
	sent := s.Requests()
	if len(sent) != 2 {
		t.Fatalf("%d requests; want 2", len(sent))
	}
	clean := sent[1].Request
	if clean.ConditionExpression != "attribute_exists(k)" || !strings.HasPrefix(clean.UpdateExpression, "REMOVE #m0, #m1, ") || len(clean.ExpressionAttributeNames) != 17 {
		t.Errorf("the clean-up sent %s", sent[1].Body)
	}
	if got := s.counts(finalCharge(18)); got != "n=19 usd=0 held=0 marked" {
		t.Errorf("%s", got)
	}
}

// A clean-up that fails or hangs changes neither the answer nor the counts, and costs
// one request and a part of the deadline at most.
func TestCleanUpFails(t *testing.T) {
	for name, f := range map[string]ddbtest.Fault{"hangs": ddbtest.Hangs, "status500": ddbtest.Status500, "throttled": ddbtest.Throttled, "lost": ddbtest.Lost, "denied": ddbtest.Denied} {
		s := newServer(t)
		r := ddbtest.Row{"n": {"N": "20"}, "usd": {"N": "0"}, "held": {"N": "0"}}
		for n := range 20 {
			r[mark(finalCharge(n))] = map[string]string{"N": "1796039000"}
		}
		s.put(caller(), r)
		s.Faults(ddbtest.Fine, f)
		began := time.Now()
		out, err := s.store(func(c *Config) { c.Deadline = time.Minute }).Reserve(ctx(t), finalCharge(20), caps.Calls(21))
		if want := (caps.Outcome{Allowed: true, Usage: caps.Usage{Calls: 21}}); out != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, out, err, want)
		}
		if took := time.Since(began); took > marksTimeout+time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if n := len(s.Requests()); n != 2 {
			t.Errorf("%s: %d requests; want 2", name, n)
		}
		if got := s.counts(finalCharge(20)); got != "n=21 usd=0 held=0 marked" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A process whose clock is wrong does not fill the item, and a mark that is no number
// is left alone.
func TestOddMarks(t *testing.T) {
	item := attributes{
		"done:now":    number(noon().Unix()),
		"done:old":    number(noon().Unix() - 11),
		"done:future": number(noon().Unix() + 11),
		"done:soon":   number(noon().Unix() + 10),
		"hold:old":    number(noon().Unix() - 100),
		"n":           number(1),
		"done:text":   itemKey(caller())["k"],
	}
	got := oldMarks(item, noon())
	slices.Sort(got)
	if want := []string{"done:future", "done:old"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}

	// Very many are removed a hundred at a time, so that the expression stays legal.
	s := newServer(t)
	r := ddbtest.Row{"n": {"N": "300"}, "usd": {"N": "0"}, "held": {"N": "0"}}
	for n := range 300 {
		r[mark(finalCharge(n))] = map[string]string{"N": "5"}
	}
	s.put(caller(), r)
	if _, err := s.store().Reserve(ctx(t), finalCharge(300), caps.Calls(1000)); err != nil {
		t.Fatal(err)
	}
	if n := len(marks(s.row(caller()))); n != 201 {
		t.Errorf("%d marks left; want 201", n)
	}
	for _, r := range s.Requests() {
		if len(r.Request.UpdateExpression) > 4096 {
			t.Errorf("an expression of %d bytes; DynamoDB takes 4096", len(r.Request.UpdateExpression))
		}
	}
}

// One UpdateItem per reserve, settle and release, and none for a final charge's settle.
func TestRequestsPerCall(t *testing.T) {
	s := newServer(t)
	store := s.store()
	calls := 0
	for range 3 {
		for _, c := range []caps.Charge{charge(10), shared(10)} {
			if _, err := store.Reserve(context.Background(), c, caps.Calls(2)); err != nil {
				t.Fatal(err)
			}
			calls++
		}
	}
	for _, c := range []caps.Charge{charge(10), shared(10)} {
		if _, err := store.Settle(context.Background(), c, 5); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Release(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		calls += 2
	}
	if _, err := store.Settle(context.Background(), finalCharge(1), 5); err == nil {
		t.Error("a final charge was settled")
	}
	if n := len(s.Requests()); n != calls {
		t.Errorf("%d requests for %d calls", n, calls)
	}
}
