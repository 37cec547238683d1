package metrics_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

func fixed() time.Time { return noon }

// failing fails every call.
type failing struct{}

var errBroken = errors.New("broken")

func (failing) Reserve(context.Context, caps.Charge, caps.Cap) (caps.Outcome, error) {
	return caps.Outcome{}, errBroken
}
func (failing) Settle(context.Context, caps.Charge, caps.MicroUSD) (bool, error) {
	return false, errBroken
}
func (failing) Release(context.Context, caps.Charge) (bool, error) { return false, errBroken }
func (failing) Usage(context.Context, caps.ItemKey) (caps.Usage, error) {
	return caps.Usage{}, errBroken
}

var (
	day    = caps.DayOf(noon)
	own    = caps.Charge{Key: caps.ItemKey{Budget: "caller", Day: day, Caller: "0123456789abcdef0123456789abcdef"}, ID: "0011223344556677", Amount: 30}
	shared = caps.Charge{Key: caps.ItemKey{Budget: "global", Day: day, Caller: caps.Everybody}, Amount: 30}
)

// recorded runs do with a context that carries a request and returns its line.
func recorded(t *testing.T, clock func() time.Time, do func(ctx context.Context)) *document {
	t.Helper()
	out := new(writes)
	r := metrics.New(out, clock).Request()
	do(metrics.NewContext(t.Context(), r))
	r.Flush()
	if strings.Contains(string(out.lines[0]), own.Key.Caller) || strings.Contains(string(out.lines[0]), own.ID) {
		t.Errorf("the caller key or the hold is in the line: %s", out.lines[0])
	}
	return out.read(t)[0]
}

func values(doc *document) map[string]float64 {
	m := map[string]float64{}
	for name, v := range doc.Values {
		if len(v) == 1 && name != "Latency" && name != "StoreLatency" {
			m[name] = v[0]
		}
	}
	return m
}

func TestStoreLatencyOfEachCall(t *testing.T) {
	clock := &ticker{now: noon, step: 4 * time.Millisecond}
	doc := recorded(t, clock.Now, func(ctx context.Context) {
		s := metrics.Store(memory.New(fixed))
		if _, err := s.Reserve(ctx, own, caps.USD(100)); err != nil {
			t.Error(err)
		}
		if _, err := s.Usage(ctx, own.Key); err != nil {
			t.Error(err)
		}
		if _, err := s.Settle(ctx, own, 12); err != nil {
			t.Error(err)
		}
		if _, err := s.Release(ctx, own); err != nil {
			t.Error(err)
		}
	})
	if got := doc.Values["StoreLatency"]; !slices.Equal(got, []float64{4, 4, 4, 4}) {
		t.Errorf("StoreLatency is %v; want 4 ms for each of the four calls", got)
	}
	if want := map[string]float64{"SettledMicroUSD": 12}; !maps.Equal(values(doc), want) {
		t.Errorf("%v; want %v", values(doc), want)
	}
}

func TestStoreErrors(t *testing.T) {
	doc := recorded(t, fixed, func(ctx context.Context) {
		s := metrics.Store(failing{})
		if _, err := s.Reserve(ctx, own, caps.USD(100)); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, err := s.Reserve(ctx, shared, caps.USD(100)); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, err := s.Settle(ctx, own, 12); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, err := s.Release(ctx, own); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if _, err := s.Usage(ctx, own.Key); !errors.Is(err, errBroken) {
			t.Error(err)
		}
	})
	if want := map[string]float64{"StoreErrors": 5}; !maps.Equal(values(doc), want) || len(doc.Values["StoreLatency"]) != 5 {
		t.Errorf("%v, %v", doc.Values, want)
	}
}

func TestStoreShowsTheCeiling(t *testing.T) {
	type gauges = map[string]float64
	for _, c := range []struct {
		name   string
		limit  caps.Cap
		charge caps.MicroUSD
		times  int
		want   gauges
	}{
		{"dollars", caps.USD(100), 30, 1, gauges{"GlobalUsedMicroUSD": 30, "GlobalCapMicroUSD": 100, "GlobalUsedPercent": 30}},
		{"rounded down", caps.USD(1000), 333, 3, gauges{"GlobalUsedMicroUSD": 999, "GlobalCapMicroUSD": 1000, "GlobalUsedPercent": 99}},
		{"full", caps.USD(60), 30, 2, gauges{"GlobalUsedMicroUSD": 60, "GlobalCapMicroUSD": 60, "GlobalUsedPercent": 100}},
		{"refused", caps.USD(70), 30, 3, gauges{"GlobalUsedMicroUSD": 60, "GlobalCapMicroUSD": 70, "GlobalUsedPercent": 85}},
		{"calls", caps.Calls(4), 30, 1, gauges{"GlobalUsedCalls": 1, "GlobalCapCalls": 4, "GlobalUsedPercent": 25}},
		{"both, dollars nearer", caps.Calls(10).AndUSD(100), 30, 2, gauges{"GlobalUsedMicroUSD": 60, "GlobalCapMicroUSD": 100, "GlobalUsedCalls": 2, "GlobalCapCalls": 10, "GlobalUsedPercent": 60}},
		{"both, calls nearer", caps.Calls(4).AndUSD(1000), 30, 2, gauges{"GlobalUsedMicroUSD": 60, "GlobalCapMicroUSD": 1000, "GlobalUsedCalls": 2, "GlobalCapCalls": 4, "GlobalUsedPercent": 50}},
		{"closed", caps.USD(0), 30, 1, gauges{"GlobalUsedMicroUSD": 0, "GlobalCapMicroUSD": 0, "GlobalUsedPercent": 100}},
		{"closed for calls", caps.Calls(0), 30, 1, gauges{"GlobalUsedCalls": 0, "GlobalCapCalls": 0, "GlobalUsedPercent": 100}},
		{"the largest", caps.USD(caps.MaxMicroUSD), caps.MaxMicroUSD, 1, gauges{"GlobalUsedMicroUSD": float64(caps.MaxMicroUSD), "GlobalCapMicroUSD": float64(caps.MaxMicroUSD), "GlobalUsedPercent": 100}},
	} {
		doc := recorded(t, fixed, func(ctx context.Context) {
			s := metrics.Store(memory.New(fixed))
			charge := shared
			charge.Amount = c.charge
			for range c.times {
				if _, err := s.Reserve(ctx, charge, c.limit); err != nil {
					t.Error(err)
				}
			}
		})
		if !maps.Equal(values(doc), c.want) {
			t.Errorf("%s: %v; want %v", c.name, values(doc), c.want)
		}
	}
}

// What calls cost is counted once for both budgets, and only when it was booked.
func TestStoreCountsWhatWasSettled(t *testing.T) {
	doc := recorded(t, fixed, func(ctx context.Context) {
		s := metrics.Store(memory.New(fixed))
		for _, c := range []caps.Charge{own, shared} {
			if out, err := s.Reserve(ctx, c, caps.USD(100)); err != nil || !out.Allowed {
				t.Error(out, err)
			}
		}
		for range 2 { // the second time there is no hold any more
			if _, err := s.Settle(ctx, own, 12); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Settle(ctx, shared, 12); err != nil {
			t.Error(err)
		}
		final := own
		final.ID, final.Final, final.Amount = "another", true, 5
		if out, err := s.Reserve(ctx, final, caps.USD(100)); err != nil || !out.Allowed {
			t.Error(out, err)
		}
		final.ID, final.Amount = "refused", 100
		if out, err := s.Reserve(ctx, final, caps.USD(100)); err != nil || out.Allowed {
			t.Error(out, err)
		}
		everybody := shared
		everybody.Final = true
		if out, err := s.Reserve(ctx, everybody, caps.Calls(100)); err != nil || !out.Allowed {
			t.Error(out, err)
		}
	})
	if got := doc.Values["SettledMicroUSD"]; !slices.Equal(got, []float64{17}) {
		t.Errorf("SettledMicroUSD is %v; want 12 and 5", got)
	}
	if doc.Values["StoreErrors"] != nil {
		t.Error("a refusal counts as an error of the store")
	}
}

// The store answers the same through the wrapper, with and without a request.
func TestStoreChangesNothing(t *testing.T) {
	plain, wrapped := caps.Store(memory.New(fixed)), metrics.Store(memory.New(fixed))
	with := metrics.NewContext(t.Context(), metrics.New(io.Discard, fixed).Request())
	for _, ctx := range []context.Context{t.Context(), with} {
		for range 2 {
			for _, c := range []caps.Charge{own, shared} {
				want, wantErr := plain.Reserve(t.Context(), c, caps.Calls(3).AndUSD(50))
				got, err := wrapped.Reserve(ctx, c, caps.Calls(3).AndUSD(50))
				if got != want || err != wantErr {
					t.Errorf("Reserve = %+v, %v; want %+v, %v", got, err, want, wantErr)
				}
			}
			want, _ := plain.Usage(t.Context(), own.Key)
			if got, err := wrapped.Usage(ctx, own.Key); got != want || err != nil {
				t.Errorf("Usage = %+v, %v; want %+v", got, err, want)
			}
			settled, _ := plain.Settle(t.Context(), own, 12)
			if got, err := wrapped.Settle(ctx, own, 12); got != settled || err != nil {
				t.Errorf("Settle = %t, %v; want %t", got, err, settled)
			}
			released, _ := plain.Release(t.Context(), shared)
			if got, err := wrapped.Release(ctx, shared); got != released || err != nil {
				t.Errorf("Release = %t, %v; want %t", got, err, released)
			}
		}
	}
}

func BenchmarkStore(b *testing.B) {
	for name, s := range map[string]caps.Store{"plain": memory.New(fixed), "measured": metrics.Store(memory.New(fixed))} {
		b.Run(name, func(b *testing.B) {
			ctx := metrics.NewContext(b.Context(), metrics.New(io.Discard, fixed).Request())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Usage(ctx, own.Key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
