package memory

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func key(day caps.Day, n int) caps.ItemKey {
	return caps.ItemKey{Budget: "caller", Day: day, Caller: fmt.Sprintf("%032x", n)}
}

func take(t testing.TB, s *Store, k caps.ItemKey, id string, limit caps.Cap) (caps.Outcome, error) {
	t.Helper()
	return s.Reserve(context.Background(), caps.Charge{Key: k, Amount: 1, ID: id}, limit)
}

// A store that is full refuses to answer for callers it does not know, and goes on for
// those it does. It never forgets a count to make room: that would admit above a cap.
func TestFull(t *testing.T) {
	clock := capstest.NewClock(noon())
	s := New(clock.Now)
	s.max = 100
	today := caps.DayOf(noon())
	for n := range 100 {
		if out, err := take(t, s, key(today, n), "1", caps.Calls(1)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
	}
	const full = "the in-process store is full: it keeps 100 budgets and forgets none before its day has expired"
	check := func(when string) {
		t.Helper()
		out, err := take(t, s, key(today, 1000), "1", caps.Calls(1))
		if err == nil || err.Error() != full || out != (caps.Outcome{}) {
			t.Errorf("%s, a new caller: %+v, %v; want %s", when, out, err, full)
		}
		if out, err := take(t, s, key(today, 0), "2", caps.Calls(1)); out.Allowed || out.Usage.Calls != 1 || err != nil {
			t.Errorf("%s, a caller that is known: %+v, %v; want it refused", when, out, err)
		}
		if len(s.items) != 100 {
			t.Errorf("%s: %d items; want 100", when, len(s.items))
		}
	}
	check("today")
	// A refusal makes no item, so the full store still tells what it can.
	if out, err := take(t, s, key(today, 1000), "1", caps.Calls(0)); out != (caps.Outcome{}) || err != nil {
		t.Errorf("a refusal: %+v, %v", out, err)
	}

	// The last moment of the retention, and the first after it.
	clock.Set(today.Expiry())
	check("three days later")
	clock.Set(today.Expiry().Add(24 * time.Hour))
	now := caps.DayOf(clock.Now())
	if out, err := take(t, s, key(now, 0), "1", caps.Calls(1)); !out.Allowed || err != nil {
		t.Errorf("when the day has expired: %+v, %v; want it allowed", out, err)
	}
	if len(s.items) != 1 {
		t.Errorf("%d items; want 1", len(s.items))
	}
}

// Days that have expired are dropped, and those after them are not.
func TestExpiredDaysAreDropped(t *testing.T) {
	clock := capstest.NewClock(noon())
	s := New(clock.Now)
	first := caps.DayOf(noon())
	for day := first; day < first+10; day++ {
		clock.Set(day.Start().Add(time.Hour))
		for n := range 5 {
			if out, err := take(t, s, key(day, n), "1", caps.Calls(1)); !out.Allowed || err != nil {
				t.Fatal(out, err)
			}
		}
		if most := 5 * 5; len(s.items) > most {
			t.Fatalf("%d items on %s; want %d at most", len(s.items), day, most)
		}
	}
	for k, it := range s.items {
		if k.Day < first+10-5 || it.calls != 1 {
			t.Errorf("%s is still there with %d calls", k, it.calls)
		}
	}
}

// IDs of final charges do not pile up, and dropping the old ones does not take longer
// the more there are.
func TestFinals(t *testing.T) {
	var f finals
	now := noon()
	for n := range 100_000 {
		now = now.Add(100 * time.Millisecond)
		f.add(fmt.Sprint(n), now)
		if len(f.queue) > 102 || len(f.ids) > 102 {
			t.Fatalf("%d IDs, %d in the queue; want those of ten seconds", len(f.ids), len(f.queue))
		}
	}
	if c := cap(f.queue); c > 1000 {
		t.Errorf("the queue has room for %d", c)
	}
	for id, want := range map[string]bool{"99999": true, "99899": true, "99898": false, "0": false} {
		if f.has(id) != want {
			t.Errorf("has(%s) = %v; want %v", id, f.has(id), want)
		}
	}
	f.drop("99999")
	if f.has("99999") {
		t.Error("an ID that was dropped is there")
	}
	now = now.Add(time.Minute)
	f.add("new", now)
	if len(f.ids) != 1 || len(f.queue) != 1 {
		t.Errorf("%d IDs, %d in the queue; want 1", len(f.ids), len(f.queue))
	}
}

// What MaxItems says of an item's size.
func TestItemSize(t *testing.T) {
	const n = 50_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	s := New(noon)
	fill(t, s, n)
	each := (heap() - before) / n
	runtime.KeepAlive(s)
	if each > 300 {
		t.Errorf("a budget takes %d bytes; MaxItems says 300 at most", each)
	}
}

// fill makes one settled call each of n callers.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	day := caps.DayOf(noon())
	for i := range n {
		c := caps.Charge{Key: key(day, i), Amount: 10, ID: "0123456789abcdef"}
		if out, err := s.Reserve(context.Background(), c, caps.Calls(10)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
		if ok, err := s.Settle(context.Background(), c, 5); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

func BenchmarkReserveSettle(b *testing.B) {
	s := New(noon)
	ctx, limit := context.Background(), caps.Calls(1<<40).AndUSD(1<<40)
	c := caps.Charge{Key: key(caps.DayOf(noon()), 1), Amount: 10, ID: "0123456789abcdef"}
	b.ReportAllocs()
	for b.Loop() {
		if out, err := s.Reserve(ctx, c, limit); !out.Allowed || err != nil {
			b.Fatal(out, err)
		}
		if ok, err := s.Settle(ctx, c, 5); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkFinalCharge(b *testing.B) {
	now := noon()
	s := New(func() time.Time { return now })
	ctx, limit := context.Background(), caps.Calls(1<<40)
	c := caps.Charge{Key: key(caps.DayOf(noon()), 1), Final: true}
	ids := make([]string, 100_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%016x", i)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		c.ID = ids[i%len(ids)]
		i++
		now = now.Add(time.Millisecond) // ten thousand IDs are kept
		if out, err := s.Reserve(ctx, c, limit); !out.Allowed || err != nil {
			b.Fatal(out, err)
		}
	}
}

// BenchmarkMillionCallers reports what a million callers take.
func BenchmarkMillionCallers(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := New(noon)
		fill(b, s, n)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(s)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "bytes/caller")
		if out, err := take(b, s, key(caps.DayOf(noon()), n), "1", caps.Calls(1)); !out.Allowed || err != nil {
			b.Fatal(out, err)
		}
		if len(s.items) != n+1 {
			b.Fatalf("%d items; want %d", len(s.items), n+1)
		}
	}
}
