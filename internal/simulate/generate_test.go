package simulate

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func options() Options {
	return Options{Day: testDay, Seed: 1, Callers: 1000, CallsPerCaller: 3.5, InputBytes: 1001, OutputTokens: 200, Latency: 2 * time.Second}
}

func generate(t testing.TB, o Options) *Traffic {
	t.Helper()
	traffic, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return traffic
}

func TestGenerate(t *testing.T) {
	o := options()
	o.Model = "small"
	traffic := generate(t, o)
	if len(traffic.Requests) != 3500 || traffic.Day != testDay {
		t.Errorf("%d requests of %v", len(traffic.Requests), traffic.Day)
	}
	if !slices.IsSortedFunc(traffic.Requests, byArrival) {
		t.Error("not in order")
	}
	made := make([]int, o.Callers)
	var input, output, latency int
	for _, r := range traffic.Requests {
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
		if r.Model != "small" || r.InputBytes < 501 || r.InputBytes > 1501 || r.OutputTokens < 100 || r.OutputTokens > 300 || r.Latency < time.Second || r.Latency > 3*time.Second {
			t.Fatalf("%+v", r)
		}
		made[r.Caller]++
		input += r.InputBytes
		output += r.OutputTokens
		latency += int(r.Latency)
	}
	for name, got := range map[string]float64{
		"input":   float64(input) / 1001,
		"output":  float64(output) / 200,
		"latency": float64(latency) / 2e9,
	} {
		if mean := got / 3500; math.Abs(mean-1) > 0.03 {
			t.Errorf("%s: the mean is %v of what it should be", name, mean)
		}
	}
	if slices.Min(made) < 1 {
		t.Error("a caller makes no call")
	}
	if slices.Equal(generate(t, o).Requests, traffic.Requests) == false {
		t.Error("the same seed is another day")
	}
	o.Seed = 2
	if slices.Equal(generate(t, o).Requests, traffic.Requests) {
		t.Error("another seed is the same day")
	}
}

// The busiest hundredth of the callers makes about a fifth of the calls after the first.
func TestHeavyTail(t *testing.T) {
	o := options()
	o.Callers, o.CallsPerCaller = 100_000, 10
	made := make([]int, o.Callers)
	for _, r := range generate(t, o).Requests {
		made[r.Caller]++
	}
	slices.Sort(made)
	busiest := 0
	for _, n := range made[len(made)*99/100:] {
		busiest += n - 1
	}
	if part := float64(busiest) / 900_000; part < 0.17 || part > 0.21 {
		t.Errorf("the busiest 1 %% make %v of the calls", part)
	}
	if median := made[len(made)/2]; median < 4 || median > 6 {
		t.Errorf("the median is %d", median)
	}
}

func TestShape(t *testing.T) {
	o := options()
	o.Callers = 24_000
	o.CallsPerCaller = 1
	hours := func() (h [24]int) {
		for _, r := range generate(t, o).Requests {
			h[r.At/time.Hour]++
		}
		return h
	}
	for i, n := range hours() {
		if n < 850 || n > 1150 {
			t.Errorf("uniform: %d at %d:00", n, i)
		}
	}
	o.Shape, o.Peak = ShapePeak, time.Hour // so that it passes midnight
	h := hours()
	if h[12] > 600 || h[0] < 3500 || h[1] < 3500 || h[23] < 1800 || h[22] < 800 || h[3] < 800 {
		t.Errorf("peak: %v", h)
	}
}

// Whatever the options, what is made up is what was asked for, and can be played.
func TestGenerateAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Day: testDay, Seed: rapid.Uint64().Draw(t, "seed"),
			Callers:        rapid.IntRange(1, 200).Draw(t, "callers"),
			CallsPerCaller: rapid.Float64Range(1, 10).Draw(t, "calls"),
			InputBytes:     rapid.IntRange(1, 5000).Draw(t, "input"),
			OutputTokens:   rapid.IntRange(0, 500).Draw(t, "output"),
			Latency:        time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "latency")),
			Shape:          rapid.SampledFrom([]Shape{"", ShapeUniform, ShapePeak}).Draw(t, "shape"),
			Peak:           time.Duration(rapid.Int64Range(0, int64(day)-1).Draw(t, "peak")),
		}
		traffic, err := Generate(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(traffic.Requests) != int(math.Round(float64(o.Callers)*o.CallsPerCaller)) {
			t.Fatalf("%d requests", len(traffic.Requests))
		}
		for _, r := range traffic.Requests {
			if err := r.check(); err != nil || r.Caller >= o.Callers {
				t.Fatalf("%+v: %v", r, err)
			}
		}
	})
}

func TestGenerateRefuses(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"callers: want 1 to 1000000, got 0":              func(o *Options) { o.Callers = 0 },
		"callers: want 1 to 1000000, got 1000001":        func(o *Options) { o.Callers = MaxCalls + 1 },
		"calls per caller: want a mean of 1 or more":     func(o *Options) { o.CallsPerCaller = 0.5 },
		"calls per caller: want a mean of 1 or more, g":  func(o *Options) { o.CallsPerCaller = math.NaN() },
		"calls per caller: want a mean of 1 or more, go": func(o *Options) { o.CallsPerCaller = math.Inf(1) },
		"calls: 1000 callers with 1001 calls each":       func(o *Options) { o.CallsPerCaller = 1001 },
		"input bytes: want 1":                            func(o *Options) { o.InputBytes = 0 },
		"output tokens: want 0":                          func(o *Options) { o.OutputTokens = -1 },
		"latency: want 0":                                func(o *Options) { o.Latency = -1 },
		"latency: want 0 to an hour":                     func(o *Options) { o.Latency = time.Hour + 1 },
		"shape: want uniform or peak":                    func(o *Options) { o.Shape = "round" },
		"peak: want a time of the day":                   func(o *Options) { o.Peak = day },
	} {
		o := options()
		change(&o)
		if _, err := Generate(o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
