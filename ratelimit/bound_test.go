package ratelimit

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// once is a store of a million windows of one request each, in a bit for each, so that
// what is measured is the limiter. Keys are numbers.
type once struct {
	taken []uint64
}

func (s *once) Take(_ context.Context, t Take) (Outcome, error) {
	n, err := strconv.Atoi(t.Key[len("once#"):])
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{FreeAt: t.Now.Add(t.Window), Newest: t.Now.Add(-time.Hour)}
	if bit := uint64(1) << (n % 64); s.taken[n/64]&bit == 0 {
		s.taken[n/64] |= bit
		out.Admission = "x"
	}
	return out, nil
}

func (s *once) GiveBack(context.Context, string, Admission) (bool, error) { return false, nil }

const million = 1_000_000

// aMillionKeys tries every key, and every tenth again long after the process has
// forgotten it, and returns what was admitted and what the limiter takes.
func aMillionKeys(tb testing.TB) (admitted int, bytes uint64, l *Limiter) {
	store := &once{taken: make([]uint64, million/64+1)}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	l, err := New(Config{Store: store, Now: func() time.Time { return now }})
	if err != nil {
		tb.Fatal(err)
	}
	rule := Rule{Name: "once", Requests: 1, Window: time.Hour, WhenDown: Refuse}
	before := heap()
	for _, step := range []int{1, 10} {
		for n := 0; n < million; n += step {
			d, err := l.Check(tb.Context(), rule.For(fmt.Sprintf("%032d", n)))
			if err != nil {
				tb.Fatal(err)
			}
			if d.Allowed {
				admitted++
			}
		}
	}
	return admitted, heap() - min(before, heap()), l
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Past its bound the process forgets, and what it forgets the store still knows.
func TestAMillionKeys(t *testing.T) {
	admitted, bytes, l := aMillionKeys(t)
	t.Logf("the limiter takes %d KB", bytes/1024)
	if n := l.front.full.Len(); admitted != million || n != FrontKeys || bytes > 8<<20 {
		t.Errorf("%d admitted, %d windows remembered in %d bytes; want %d, %d, 8 MB at most", admitted, n, bytes, million, FrontKeys)
	}
	if n := len(l.lines.of); n != 0 {
		t.Errorf("%d lines are left", n)
	}
}

func BenchmarkAMillionKeys(b *testing.B) {
	for b.Loop() {
		admitted, bytes, _ := aMillionKeys(b)
		b.ReportMetric(float64(bytes)/1024, "KB")
		b.ReportMetric(float64(admitted), "admitted")
	}
}

// A refusal from memory is what a flood costs.
func BenchmarkRefusedFromMemory(b *testing.B) {
	l, err := New(Config{Store: &once{taken: make([]uint64, 1)}, Now: func() time.Time { return time.Unix(1796040000, 0) }})
	if err != nil {
		b.Fatal(err)
	}
	a := Rule{Name: "once", Requests: 1, Window: time.Hour, WhenDown: Refuse}.For("1")
	for b.Loop() {
		if _, err := l.Check(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
