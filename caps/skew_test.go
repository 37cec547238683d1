package caps_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

// TestClocksThatDiffer lets instances whose clocks are minutes apart, some of which are set
// back, count over midnight: a call counts on the day of its own instance, no day's cap is
// passed, and no third day appears for anybody to spend on.
func TestClocksThatDiffer(t *testing.T) {
	const limit, ceiling, worst = 5_000, 40_000, 1_000
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(1, 2))
	var now time.Time // the true time
	store := memory.New(func() time.Time { return now })
	keyer, err := caps.NewKeyer(secret)
	if err != nil {
		t.Fatal(err)
	}
	skew := make([]time.Duration, 8)
	guards := make([]*caps.Guard, len(skew))
	for i := range guards {
		guards[i], err = caps.NewGuard(caps.Config{
			Store: store, Keyer: keyer,
			Caller: caps.Budget{Name: "caller", Cap: caps.USD(limit)},
			Global: caps.Budget{Name: "global", Cap: caps.USD(ceiling)},
			Now:    func() time.Time { return now.Add(skew[i]) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	callers := make([]caps.Caller, 12) // together they want more than the ceiling has
	for i := range callers {
		if callers[i], err = caps.ViewerCaller(fmt.Sprintf("198.51.100.%d:1", i)); err != nil {
			t.Fatal(err)
		}
	}
	usage := func(day caps.Day, budget, key string) caps.Usage {
		u, err := store.Usage(t.Context(), caps.ItemKey{Budget: budget, Day: day, Caller: key})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	yesterday, today := caps.DayOf(midnight)-1, caps.DayOf(midnight)
	paid := map[caps.Day]caps.MicroUSD{}
	type open struct {
		*caps.Reservation
		day caps.Day
	}
	var running []open
	refused := map[caps.Scope]int{}
	for range 20_000 {
		now = midnight.Add(time.Duration(rng.IntN(20*60)-10*60) * time.Second) // forth and back
		i := rng.IntN(len(guards))
		if rng.IntN(50) == 0 {
			skew[i] = time.Duration(rng.IntN(10*60)-5*60) * time.Second
		}
		if len(running) > 0 && rng.IntN(2) == 0 {
			// Settled whenever, also on what is the other day by then.
			n := rng.IntN(len(running))
			cost := caps.MicroUSD(rng.IntN(worst + 1))
			if _, err := running[n].Settle(t.Context(), cost); err != nil {
				t.Fatal(err)
			}
			paid[running[n].day] += cost
			running[n] = running[len(running)-1]
			running = running[:len(running)-1]
			continue
		}
		day := caps.DayOf(now.Add(skew[i]))
		caller := callers[rng.IntN(len(callers))]
		res, err := guards[i].Reserve(t.Context(), caller, worst)
		if err != nil {
			t.Fatal(err)
		}
		if want := day.End(); !res.ResetAt.Equal(want) {
			t.Fatalf("the budget starts afresh at %v, want %v", res.ResetAt, want)
		}
		if res.Allowed {
			running = append(running, open{res, day})
		} else {
			refused[res.Scope]++
		}
		if u := usage(day, "caller", keyer.Key("caller", day, caller)); u.USD > limit {
			t.Fatalf("a caller has used %+v of %d", u, limit)
		}
		if u := usage(day, "global", caps.Everybody); u.USD > ceiling {
			t.Fatalf("all have used %+v of %d", u, ceiling)
		}
	}
	for _, o := range running {
		if _, err := o.Settle(t.Context(), worst); err != nil {
			t.Fatal(err)
		}
		paid[o.day] += worst
	}
	if refused[caps.ScopeCaller] == 0 || refused[caps.ScopeGlobal] == 0 {
		t.Errorf("the caps were not reached: refused %v", refused)
	}
	if len(paid) != 2 || paid[yesterday] == 0 || paid[today] == 0 {
		t.Errorf("spent by day: %v", paid)
	}
	for day, sum := range paid {
		if u := usage(day, "global", caps.Everybody); u.USD != sum || u.Held != 0 || sum > ceiling {
			t.Errorf("%s: %+v in the store, %d paid of %d", day, u, sum, ceiling)
		}
	}
}

// TestDaylightSaving: the day is the UTC date whatever zone the machine keeps, also in the
// hour that such a zone has twice or not at all.
func TestDaylightSaving(t *testing.T) {
	for _, zone := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"} {
		there, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		days := map[caps.Day]int{}
		for hour := range 365 * 24 {
			at := start.Add(time.Duration(hour) * time.Hour)
			day := caps.DayOf(at.In(there))
			if day != caps.DayOf(at) || at.Before(day.Start()) || !at.Before(day.End()) {
				t.Fatalf("%s: %s is on %s", zone, at, day)
			}
			days[day]++
		}
		for day, hours := range days {
			if hours != 24 {
				t.Errorf("%s: %s has %d hours", zone, day, hours)
			}
		}
	}
}
