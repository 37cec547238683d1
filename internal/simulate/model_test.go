package simulate

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// plain is a day in the simplest way: every request looks through all calls before it.
type plain struct {
	request     Request
	worst, cost caps.MicroUSD
}

func (p plain) lost() bool { return p.request.Latency > deadlines.Provider }

// budget is what the calls of one caller, or of all, come to at one moment.
type budget struct {
	calls, open  int64
	usd, settled caps.MicroUSD
	due          caps.MicroUSD // when those that run have been settled
}

func (b *budget) add(p plain, now time.Duration) {
	b.calls++
	if p.lost() {
		b.due += p.worst
	} else {
		b.due += p.cost
	}
	if p.lost() || p.request.At+p.request.Latency > now {
		b.open++
		b.usd += p.worst
	} else {
		b.usd += p.cost
		b.settled += p.cost
	}
}

// exceeds tells whether a call does not fit.
func exceeds(c caps.Cap, calls int64, usd, worst caps.MicroUSD) (noCalls, refused bool) {
	most, limited := c.Calls()
	noCalls = limited && calls >= most
	mostUSD, inUSD := c.USD()
	return noCalls, noCalls || inUSD && usd+worst > mostUSD
}

// note is what the guard remembers of a refusal for five seconds, before it asks the store:
// what was sure to be used, and whether there was no call left.
type note struct {
	until   time.Duration
	calls   int64
	usd     caps.MicroUSD
	noCalls bool
}

func plainDay(c *config.Config, requests []Request) (r Report, first [2]time.Duration) {
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b Request) int { return int(a.At - b.At) })
	first = [2]time.Duration{-1, -1}
	var made []plain
	notes := make(map[int]note) // by caller
	const everybody = -1
	for _, q := range requests {
		r.Attempted++
		m := c.LLM.Models[0]
		if q.Model != "" {
			i := slices.IndexFunc(c.LLM.Models, func(m llm.Model) bool { return m.Name == q.Model })
			if i < 0 {
				r.Refused.UnknownModel++
				continue
			}
			m = c.LLM.Models[i]
		}
		if q.InputBytes+16 > c.LLM.MaxInputBytes {
			r.Refused.TooLarge++
			continue
		}
		out := m.MaxOutputTokens
		if q.MaxTokens > 0 {
			out = min(out, q.MaxTokens)
		}
		this := plain{request: q}
		// In 1e-6 micro-dollars, rounded up.
		up := func(n int) caps.MicroUSD { return caps.MicroUSD((n + 999_999) / 1_000_000) }
		this.worst = up((q.InputBytes+16+512)*int(m.Price.Input) + out*int(m.Price.Output))
		this.cost = up((q.InputBytes+3)/4*int(m.Price.Input) + min(q.OutputTokens, out)*int(m.Price.Output))
		r.WithoutCaps += this.cost

		var own, all budget
		for _, p := range made {
			all.add(p, q.At)
			if p.request.Caller == q.Caller {
				own.add(p, q.At)
			}
		}
		refuse := func(which int, byCalls, byUSD *int, noCalls, crowded bool) {
			if first[which] < 0 {
				first[which] = q.At
			}
			if noCalls {
				*byCalls++
				return
			}
			*byUSD++
			if crowded {
				r.Refused.CrowdedOut++
			}
		}
		byCaller := func(noCalls, crowded bool) {
			refuse(0, &r.Refused.CallerCalls, &r.Refused.CallerUSD, noCalls, crowded)
		}
		byCeiling := func(noCalls, crowded bool) {
			refuse(1, &r.Refused.CeilingCalls, &r.Refused.CeilingUSD, noCalls, crowded)
		}
		noted := func(who int, limit caps.Cap) (noCalls, refused bool) {
			n, ok := notes[who]
			if !ok || q.At >= n.until {
				return false, false
			}
			_, refused = exceeds(limit, n.calls, n.usd, this.worst)
			return n.noCalls, refused
		}
		remember := func(who int, limit caps.Cap, sure int64, usd caps.MicroUSD, noCalls bool) {
			if _, refused := exceeds(limit, sure, usd, this.worst); refused {
				notes[who] = note{q.At + 5*time.Second, sure, usd, noCalls}
			}
		}
		crowded := func(limit caps.Cap, due caps.MicroUSD) bool {
			most, _ := limit.USD()
			return due+this.worst <= most
		}
		caller, ceiling := c.Caller.Cap, c.Global.Cap
		if noCalls, refused := noted(q.Caller, caller); refused {
			byCaller(noCalls, crowded(caller, own.due))
			continue
		}
		if noCalls, refused := noted(everybody, ceiling); refused {
			byCeiling(noCalls, crowded(ceiling, all.due))
			continue
		}
		if noCalls, refused := exceeds(caller, own.calls, own.usd, this.worst); refused {
			remember(q.Caller, caller, own.calls-own.open, own.settled, noCalls)
			byCaller(noCalls, crowded(caller, own.due))
			continue
		}
		if noCalls, refused := exceeds(ceiling, all.calls, all.usd, this.worst); refused {
			delete(notes, q.Caller) // its call came back
			var sure int64
			if all.open == 0 { // otherwise which of its calls are held cannot be told
				sure = all.calls
			}
			remember(everybody, ceiling, sure, all.settled, noCalls)
			byCeiling(noCalls, crowded(ceiling, all.due))
			continue
		}
		made = append(made, this)
		r.Admitted++
		r.Ceiling.PeakUSD = max(r.Ceiling.PeakUSD, all.usd+this.worst)
		if this.lost() {
			r.Unsettled++
			r.UnsettledHeld += this.worst
		} else {
			r.Spent += this.cost
		}
	}
	return r, first
}

func someCap(t *rapid.T, name string, dollars bool) caps.Cap {
	var c caps.Cap
	if dollars || rapid.Bool().Draw(t, name+" in dollars") {
		c = c.AndUSD(caps.MicroUSD(rapid.IntRange(0, 40_000).Draw(t, name+" dollars")))
	}
	if c == (caps.Cap{}) || rapid.Bool().Draw(t, name+" in calls") {
		c = c.AndCalls(int64(rapid.IntRange(0, 12).Draw(t, name+" calls")))
	}
	return c
}

// TestAgainstPlainModel plays random days, and holds the report to the plain way, and to
// what must be true of every report.
func TestAgainstPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testConfig(someCap(t, "caller", false), someCap(t, "global", true))
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Request {
			// Few moments, so that much happens at the same time.
			return Request{
				At:           time.Duration(rapid.IntRange(0, 240).Draw(t, "at")) * time.Second,
				Caller:       rapid.IntRange(0, 3).Draw(t, "caller"),
				Model:        rapid.SampledFrom([]string{"", "small", "large", "none"}).Draw(t, "model"),
				InputBytes:   rapid.IntRange(1, 2100).Draw(t, "input"),
				OutputTokens: rapid.IntRange(0, 300).Draw(t, "output"),
				MaxTokens:    rapid.SampledFrom([]int{0, 1, 50, 150, 1000}).Draw(t, "limit"),
				Latency:      time.Duration(rapid.IntRange(0, 30).Draw(t, "latency")) * time.Second,
			}
		}), 1, 60).Draw(t, "requests")
		got, err := Play(context.Background(), c, &Traffic{Day: testDay, Requests: requests})
		if err != nil {
			t.Fatal(err)
		}
		want, first := plainDay(c, requests)
		if got.Attempted != want.Attempted || got.Admitted != want.Admitted || got.Refused != want.Refused ||
			got.Spent != want.Spent || got.WithoutCaps != want.WithoutCaps || got.Unsettled != want.Unsettled ||
			got.UnsettledHeld != want.UnsettledHeld || got.Ceiling.PeakUSD != want.Ceiling.PeakUSD {
			got.Hours, got.Points = nil, nil
			t.Fatalf("got %+v\nwant %+v", *got, want)
		}
		for i, at := range []time.Time{got.FirstCallerRefusal, got.FirstCeilingRefusal} {
			if first[i] < 0 != at.IsZero() || first[i] >= 0 && !at.Equal(testDay.Start().Add(first[i])) {
				t.Fatalf("first refusal %d at %v, want %v", i, at, first[i])
			}
		}
		if err := invariants(got); err != nil {
			t.Fatal(err)
		}
	})
}

// invariants are true of every report.
func invariants(r *Report) error {
	ceiling := r.Ceiling.USD
	if r.Spent+r.UnsettledHeld > ceiling || r.Ceiling.PeakUSD > ceiling || r.Ceiling.PeakHeld > r.Ceiling.PeakUSD || r.Ceiling.Peak > 100 {
		return errors.New("above the ceiling")
	}
	if r.Attempted != r.Admitted+r.Refused.Total() || r.Spent > r.WithoutCaps {
		return errors.New("requests are lost, or money")
	}
	var sum Hour
	for _, h := range r.Hours {
		sum.Attempted += h.Attempted
		sum.Admitted += h.Admitted
		sum.CallerRefused += h.CallerRefused
		sum.CeilingRefused += h.CeilingRefused
		sum.OtherRefused += h.OtherRefused
		sum.Spent += h.Spent
	}
	if want := (Hour{Attempted: r.Attempted, Admitted: r.Admitted, CallerRefused: r.Refused.Caller(), CeilingRefused: r.Refused.Ceiling(),
		OtherRefused: r.Refused.TooLarge + r.Refused.UnknownModel, Spent: r.Spent}); sum != want {
		return errors.New("the hours do not add up")
	}
	var peak, before caps.MicroUSD
	for _, p := range r.Points {
		if p.Spent < before || p.Spent+p.Held > p.Peak || p.Peak > ceiling {
			return errors.New("a point cannot be")
		}
		before, peak = p.Spent, max(peak, p.Peak)
	}
	if last := r.Points[len(r.Points)-1]; last.Spent != r.Spent || last.Held != r.UnsettledHeld || peak != r.Ceiling.PeakUSD {
		return errors.New("the points do not end where the day does")
	}
	return nil
}

// A large day keeps the invariants as well, and the same seed is the same day.
func TestLargeDay(t *testing.T) {
	c := testConfig(caps.Calls(10).AndUSD(50_000), caps.USD(5_000_000))
	o := Options{Day: testDay, Seed: 7, Callers: 5000, CallsPerCaller: 4, InputBytes: 1400, OutputTokens: 80, Latency: 20 * time.Second, Shape: ShapePeak, Peak: 23 * time.Hour}
	var reports [2]*Report
	for i := range reports {
		traffic, err := Generate(o)
		if err != nil {
			t.Fatal(err)
		}
		reports[i] = play(t, c, traffic.Requests...)
		if err := invariants(reports[i]); err != nil {
			t.Error(err)
		}
	}
	r := reports[0]
	if again := reports[1]; r.Spent != again.Spent || r.Refused != again.Refused || !slices.Equal(r.Points, again.Points) || !slices.Equal(r.Hours, again.Hours) {
		t.Error("the same seed is another day")
	}
	if r.Attempted != 20_000 || r.Callers != 5000 || r.Refused.Caller() == 0 || r.Refused.Ceiling() == 0 || r.Refused.TooLarge == 0 || r.Unsettled == 0 {
		t.Errorf("the day has too little in it: %+v", r)
	}
}
