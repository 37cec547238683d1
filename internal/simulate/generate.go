package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Shape says when in the day calls come.
type Shape string

const (
	// ShapeUniform is the same at every hour.
	ShapeUniform Shape = "uniform"

	// ShapePeak has half of the calls spread evenly over the day, and the other half up to
	// three hours around the peak, most of them close to it.
	ShapePeak Shape = "peak"
)

// peakWidth is how far from the peak its calls are at most.
const peakWidth = 3 * time.Hour

// Options says what a day looks like.
type Options struct {
	Day  caps.Day
	Seed uint64 // the same options and seed are the same day

	Callers int // 1 to MaxCalls

	// CallsPerCaller is the mean, at least 1: the day has Callers times as many calls,
	// rounded. Every caller makes one. Who makes the others has a heavy tail, as free
	// offers see it: a caller's part follows a Pareto distribution with exponent 2, with
	// which the busiest 1 % of many callers make about 19 % of these calls.
	CallsPerCaller float64

	// Each call has between half and one and a half of these, every size as likely as
	// every other. InputBytes is at least 1.
	InputBytes   int
	OutputTokens int
	Latency      time.Duration

	Tier  string        // of all callers; empty: they are anonymous
	Model string        // empty: the first of the file
	Shape Shape         // empty: ShapeUniform
	Peak  time.Duration // of ShapePeak, since 00:00 UTC
}

func (o Options) check() error {
	switch {
	case o.Callers < 1 || o.Callers > MaxCalls:
		return fmt.Errorf("callers: want 1 to %d, got %d", MaxCalls, o.Callers)
	case !(o.CallsPerCaller >= 1 && o.CallsPerCaller <= MaxCalls): // NaN fails too
		return fmt.Errorf("calls per caller: want a mean of 1 or more, got %v", o.CallsPerCaller)
	case o.calls() > MaxCalls:
		return fmt.Errorf("calls: %d callers with %v calls each are more than the %d calls that a day may have here: take fewer of both, and lower the ceiling in proportion", o.Callers, o.CallsPerCaller, MaxCalls)
	case o.InputBytes < 1 || o.InputBytes > maxCount/2:
		return fmt.Errorf("input bytes: want 1 to %d, got %d", maxCount/2, o.InputBytes)
	case o.OutputTokens < 0 || o.OutputTokens > maxCount/2:
		return fmt.Errorf("output tokens: want 0 to %d, got %d", maxCount/2, o.OutputTokens)
	case o.Latency < 0 || o.Latency > time.Hour:
		return fmt.Errorf("latency: want 0 to an hour, got %v", o.Latency)
	case o.Shape != "" && o.Shape != ShapeUniform && o.Shape != ShapePeak:
		return fmt.Errorf("shape: want %s or %s", ShapeUniform, ShapePeak)
	case o.Peak < 0 || o.Peak >= day:
		return fmt.Errorf("peak: want a time of the day from 00:00 on and before 24:00, got %v", o.Peak)
	}
	return nil
}

func (o Options) calls() int { return int(math.Round(float64(o.Callers) * o.CallsPerCaller)) }

// Generate makes up a day. The error names the option that is out of range.
func Generate(o Options) (*Traffic, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	upTo := shares(rng, o.Callers)
	t := &Traffic{Day: o.Day, Requests: make([]Request, o.calls())}
	for i := range t.Requests {
		caller := i
		if i >= o.Callers {
			at := rng.Uint64N(upTo[len(upTo)-1])
			caller = sort.Search(len(upTo), func(c int) bool { return upTo[c] > at })
		}
		t.Requests[i] = Request{
			At:           o.arrival(rng),
			Caller:       caller,
			Tier:         o.Tier,
			Model:        o.Model,
			InputBytes:   around(rng, o.InputBytes),
			OutputTokens: around(rng, o.OutputTokens),
			Latency:      time.Duration(around(rng, int(o.Latency))),
		}
	}
	slices.SortStableFunc(t.Requests, byArrival)
	return t, nil
}

// shares draws every caller's part of the calls and returns the running sum of them. A
// part is Pareto distributed with exponent 2 and begins at 0 (Lomax), which needs only
// operations that IEEE 754 rounds the same on every machine.
func shares(rng *rand.Rand, callers int) []uint64 {
	const unit = 1 << 16
	upTo := make([]uint64, callers)
	var sum uint64
	for i := range upTo {
		u := float64(1+rng.Uint64N(1<<53)) / (1 << 53)
		sum += 1 + uint64(unit*(1/math.Sqrt(u)-1))
		upTo[i] = sum
	}
	return upTo
}

func (o Options) arrival(rng *rand.Rand) time.Duration {
	if o.Shape == ShapePeak && rng.Uint64N(2) == 0 {
		// The sum of two is a triangle.
		off := rng.Int64N(int64(peakWidth)) + rng.Int64N(int64(peakWidth)) - int64(peakWidth)
		return (o.Peak + time.Duration(off) + day) % day
	}
	return time.Duration(rng.Int64N(int64(day)))
}

func around(rng *rand.Rand, mean int) int {
	half := mean / 2
	return mean - half + rng.IntN(2*half+1)
}
