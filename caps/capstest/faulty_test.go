package capstest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func key() caps.ItemKey {
	return caps.ItemKey{Budget: "b", Day: caps.DayOf(noon()), Caller: "k"}
}

func TestFaulty(t *testing.T) {
	for _, c := range []struct {
		fault            Fault
		allowed, unknown bool
		before, after    int64 // calls before and after Flush
	}{
		{None, true, false, 1, 1},
		{Throttle, false, false, 0, 0},
		{LoseRequest, false, true, 0, 0},
		{LoseReply, false, true, 1, 1},
		{Late, false, true, 0, 1},
		{Delay, true, false, 1, 1},
	} {
		store := memory.New(noon)
		faulty := NewFaulty(store, Script(c.fault))
		calls := func() int64 {
			u, err := store.Usage(t.Context(), key())
			if err != nil {
				t.Fatal(err)
			}
			return u.Calls
		}
		out, err := faulty.Reserve(t.Context(), charge(key(), 5), caps.Calls(10))
		if out.Allowed != c.allowed || (err == nil) != c.allowed || errors.Is(err, caps.ErrUnknownOutcome) != c.unknown || errors.Is(err, ErrThrottled) != (c.fault == Throttle) {
			t.Errorf("%s: %+v, %v", c.fault, out, err)
		}
		if got := calls(); got != c.before {
			t.Errorf("%s: %d calls; want %d", c.fault, got, c.before)
		}
		faulty.Flush()
		faulty.Flush()
		if got := calls(); got != c.after {
			t.Errorf("%s: %d calls after Flush; want %d", c.fault, got, c.after)
		}
	}
}

func TestFaultyCalls(t *testing.T) {
	faulty := NewFaulty(memory.New(noon), Script(None, LoseReply, Throttle, Late, LoseRequest))
	c := charge(key(), 5)
	out, err := faulty.Reserve(t.Context(), c, caps.Calls(10))
	if !out.Allowed || err != nil {
		t.Fatal(out, err)
	}
	if ok, err := faulty.Settle(t.Context(), c, 2); ok || !errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("Settle = %v, %v", ok, err)
	}
	if ok, err := faulty.Release(t.Context(), c); ok || !errors.Is(err, ErrThrottled) {
		t.Errorf("Release = %v, %v", ok, err)
	}
	if u, err := faulty.Usage(t.Context(), key()); u != (caps.Usage{}) || err == nil {
		t.Errorf("Usage = %+v, %v", u, err)
	}
	if u, err := faulty.Usage(t.Context(), key()); u != (caps.Usage{}) || err == nil {
		t.Errorf("Usage = %+v, %v", u, err)
	}
	if u, err := faulty.Usage(t.Context(), key()); u != used(1, 2, 0, 0) || err != nil {
		t.Errorf("Usage = %+v, %v", u, err)
	}
	var methods []string
	for _, call := range faulty.Calls() {
		methods = append(methods, call.Method)
		if call.Key != key() {
			t.Errorf("%+v", call)
		}
	}
	if want := []string{"Reserve", "Settle", "Release", "Usage", "Usage", "Usage"}; !slices.Equal(methods, want) {
		t.Errorf("calls %q; want %q", methods, want)
	}
}

// What fails for real is not called unknown.
func TestFaultyPassesErrorsOn(t *testing.T) {
	faulty := NewFaulty(memory.New(noon), func(int, Call) Fault { return LoseReply })
	if _, err := faulty.Reserve(t.Context(), caps.Charge{}, caps.Calls(1)); err == nil || errors.Is(err, caps.ErrUnknownOutcome) {
		t.Errorf("%v; want the error of the store", err)
	}
}

func TestFaultyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(noon)
		faulty := NewFaulty(store, At(1, Delay))
		faulty.Pause = time.Hour
		began := time.Now()
		for range 2 {
			if out, err := faulty.Reserve(t.Context(), charge(key(), 5), caps.Calls(10)); !out.Allowed || err != nil {
				t.Fatal(out, err)
			}
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("took %v; want one hour", took)
		}

		faulty = NewFaulty(store, At(0, Delay))
		faulty.Pause = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := faulty.Reserve(ctx, charge(key(), 5), caps.Calls(10))
		if !errors.Is(err, caps.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) || out.Allowed {
			t.Errorf("%+v, %v; want an unknown outcome at the deadline", out, err)
		}
		if u, err := store.Usage(t.Context(), key()); u.Calls != 3 || err != nil {
			t.Errorf("Usage = %+v, %v; want 3 calls", u, err)
		}
	})
}

func TestPlans(t *testing.T) {
	draw := func(p Plan, n int) (list []Fault) {
		for i := range n {
			list = append(list, p(i, Call{}))
		}
		return list
	}
	if got, want := draw(Script(Late, None, Delay), 5), []Fault{Late, None, Delay, None, None}; !slices.Equal(got, want) {
		t.Errorf("Script: %v; want %v", got, want)
	}
	if got, want := draw(At(1, LoseReply), 3), []Fault{None, LoseReply, None}; !slices.Equal(got, want) {
		t.Errorf("At: %v; want %v", got, want)
	}
	random := draw(Random(1, 0.3, LoseReply, Throttle), 1000)
	if again := draw(Random(1, 0.3, LoseReply, Throttle), 1000); !slices.Equal(random, again) {
		t.Error("Random gives other faults for the same seed")
	}
	if other := draw(Random(2, 0.3, LoseReply, Throttle), 1000); slices.Equal(random, other) {
		t.Error("Random gives the same faults for another seed")
	}
	count := map[Fault]int{}
	for _, f := range random {
		count[f]++
	}
	if len(count) != 3 || count[LoseReply] < 100 || count[Throttle] < 100 || count[None] < 600 || count[None] > 800 {
		t.Errorf("Random: %v; want three in ten, of both kinds", count)
	}
	if got := draw(Random(1, 1), 3); !slices.Equal(got, []Fault{None, None, None}) {
		t.Errorf("Random without faults: %v", got)
	}
	var names []string
	for f := None; f <= Delay+1; f++ {
		names = append(names, f.String())
	}
	if want := []string{"None", "Throttle", "LoseRequest", "LoseReply", "Late", "Delay", "Fault(6)"}; !slices.Equal(names, want) {
		t.Errorf("names %q; want %q", names, want)
	}
}

func TestClock(t *testing.T) {
	c := NewClock(noon())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { c.Advance(time.Minute); c.Now() })
	}
	wg.Wait()
	if got := c.Now(); !got.Equal(noon().Add(10 * time.Minute)) {
		t.Errorf("%v; want ten minutes past noon", got)
	}
	c.Set(noon())
	if got := c.Now(); !got.Equal(noon()) {
		t.Errorf("%v; want noon", got)
	}
}
