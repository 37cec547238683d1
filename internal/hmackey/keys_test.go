package hmackey

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
)

// kept is a Secrets Manager that instances read from.
type kept struct {
	mu       sync.Mutex
	value    string
	err      error
	reads    int
	problems []error
}

func (k *kept) set(value string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value, k.err = value, err
}

func (k *kept) instance(t *testing.T, clock *capstest.Clock) *Keys {
	t.Helper()
	keys, err := New(t.Context(), Config{
		Now: clock.Now,
		Read: func(context.Context) (string, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.reads++
			return k.value, k.err
		},
		OnProblem: func(err error) { k.problems = append(k.problems, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

var (
	errDown = errors.New("the secret store is down")
	noon    = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
)

func next(t *testing.T, value string, now time.Time, blocks ...string) Rotation {
	t.Helper()
	r, err := Plan(value, now, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The ring is read every quarter of an hour with the requests, and no more often.
func TestReadEvery(t *testing.T) {
	k, clock := &kept{value: one}, capstest.NewClock(noon)
	keys := k.instance(t, clock)
	want := 1
	for i := range 2 * 60 {
		if err := keys.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i > 0 && i%15 == 0 {
			want++
		}
		if k.reads != want {
			t.Fatalf("%d readings after %d minutes, want %d", k.reads, i, want)
		}
		clock.Advance(time.Minute)
	}
	clock.Set(noon.Add(-time.Hour)) // a clock that was set back
	for range 3 {
		if err := keys.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if k.reads != want+1 {
		t.Errorf("%d readings after the clock was set back, want one more than %d", k.reads, want)
	}
}

// An outage that begins at any hour is survived for the rest of the day, and over
// midnight if the last reading is from within Lead before it. After that it is refused,
// until Secrets Manager is back.
func TestOutage(t *testing.T) {
	midnight := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	for _, began := range []time.Duration{-12 * time.Hour, -Lead - time.Second, -Lead, -Lead + time.Second, -time.Minute, 0, time.Hour} {
		k, clock := &kept{value: one}, capstest.NewClock(midnight.Add(began))
		keys := k.instance(t, clock)
		k.set("", errDown)
		for _, at := range []time.Duration{-11 * time.Hour, -2 * time.Minute, -30 * time.Second, 0, time.Second, 12 * time.Hour, 24*time.Hour - 2*time.Minute, 24 * time.Hour, 40 * time.Hour} {
			if at < began {
				continue
			}
			clock.Set(midnight.Add(at))
			// The day that a request a minute later is of.
			of := caps.DayOf(midnight.Add(at + time.Minute))
			want := !midnight.Add(began).Before(of.Start().Add(-Lead))
			err := keys.Check(t.Context())
			if (err == nil) != want || err != nil && (!errors.Is(err, ErrStale) || !errors.Is(err, errDown)) {
				t.Errorf("an outage from %v, at %v: %v; want it served: %t", began, at, err, want)
			}
		}
		k.set(one, nil)
		clock.Advance(retryEvery)
		if err := keys.Check(t.Context()); err != nil {
			t.Errorf("after the outage: %v", err)
		}
	}
}

// During an outage Secrets Manager is asked once per some seconds, not with each request.
func TestOutageIsNotHammered(t *testing.T) {
	k, clock := &kept{value: one}, capstest.NewClock(noon)
	keys := k.instance(t, clock)
	k.set("", errDown)
	clock.Advance(24 * time.Hour)
	for range 1000 {
		if err := keys.Check(t.Context()); !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
		clock.Advance(time.Millisecond)
	}
	if k.reads != 2 || len(k.problems) != 1 || !errors.Is(k.problems[0], errDown) {
		t.Errorf("%d readings, %v", k.reads, k.problems)
	}
	clock.Advance(retryEvery)
	keys.Check(t.Context())
	if k.reads != 3 {
		t.Errorf("%d readings; want another one after %v", k.reads, retryEvery)
	}
}

// Whatever minute of the day a version is added at, no two instances that serve a
// request at the same moment use different versions, whenever they read last, and the
// version changes at a midnight only.
func TestInstancesAgree(t *testing.T) {
	for added := time.Duration(0); added < 24*time.Hour; added += 97 * time.Minute {
		k, clock := &kept{value: one}, capstest.NewClock(noon)
		busy, idle := k.instance(t, clock), k.instance(t, clock)
		var rotation Rotation
		version := map[caps.Day]string{}
		for minute := range 3 * 24 * 60 {
			now := noon.Add(time.Duration(minute) * time.Minute)
			clock.Set(now)
			if rotation.ID == "" && now.Sub(noon) >= added {
				rotation = next(t, one, now)
				k.set(rotation.Value, nil)
			}
			instances := []*Keys{busy}
			if minute%1000 == 999 { // thaws now and then
				instances = append(instances, idle)
			}
			for _, keys := range instances {
				if err := keys.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
				today := caps.DayOf(now)
				if v := keys.Keyer().Version(today); version[today] == "" {
					version[today] = v
				} else if version[today] != v {
					t.Fatalf("added %v after noon: on %v there are the versions %s and %s", added, today, version[today], v)
				}
			}
		}
		for d, v := range version {
			want := "1"
			if d >= rotation.From {
				want = "2"
			}
			if v != want {
				t.Errorf("added %v after noon, from %v: version %s on %v, want %s", added, rotation.From, v, d, want)
			}
		}
	}
}

// An instance that has not heard of the new version, because Secrets Manager is down for
// it alone, does not count under the old one after midnight.
func TestInstanceThatHasNotReadRefuses(t *testing.T) {
	up, cut := &kept{value: one}, &kept{value: one}
	clock := capstest.NewClock(noon)
	informed, uninformed := up.instance(t, clock), cut.instance(t, clock)
	cut.set("", errDown)
	rotation := next(t, one, noon)
	if rotation.From != day("2026-12-02") {
		t.Fatalf("from %v", rotation.From)
	}
	up.set(rotation.Value, nil)

	now := func() time.Time { return clock.Now() }
	store := memory.New(now)
	caller, err := caps.ViewerCaller("198.51.100.10:1")
	if err != nil {
		t.Fatal(err)
	}
	// call charges one call like the request path does: nothing without the check.
	call := func(keys *Keys) (count int64, err error) {
		t.Helper()
		if err := keys.Check(t.Context()); err != nil {
			return 0, err
		}
		guard, err := caps.NewGuard(caps.Config{Store: store, Keyer: keys.Keyer(), Now: now, Caller: caps.Budget{Name: "caller", Cap: caps.Calls(100)}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := guard.Charge(t.Context(), caller, 0)
		if err != nil {
			t.Fatal(err)
		}
		return res.Used.Calls, nil
	}
	expect := func(keys *Keys, want int64) {
		t.Helper()
		if got, err := call(keys); err != nil || got != want {
			t.Errorf("at %v: call %d, %v; want %d", clock.Now(), got, err, want)
		}
	}
	expect(informed, 1)
	expect(uninformed, 2)
	clock.Set(day("2026-12-02").Start().Add(-2 * time.Minute))
	expect(informed, 3) // it knows the new version, and still counts under the old one
	expect(uninformed, 4)
	if v := informed.Keyer().Version(day("2026-12-02")); v != "2" {
		t.Errorf("the informed instance will use version %s", v)
	}
	clock.Set(day("2026-12-02").Start())
	expect(informed, 1)
	if n, err := call(uninformed); !errors.Is(err, ErrStale) {
		t.Errorf("the uninformed instance counts %d, %v", n, err)
	}
	cut.set(rotation.Value, nil)
	clock.Advance(retryEvery)
	expect(uninformed, 2)
}

// A ring that cannot be read, or that somebody has broken, changes nothing.
func TestBrokenRingIsNotTaken(t *testing.T) {
	k, clock := &kept{value: one}, capstest.NewClock(noon)
	keys := k.instance(t, clock)
	k.set(`{"versions":[]}`, nil)
	clock.Advance(ReadEvery)
	if err := keys.Check(t.Context()); err != nil || keys.Keyer().Version(day("2026-12-01")) != "1" {
		t.Errorf("%v", err)
	}
	if len(k.problems) != 1 || !strings.Contains(k.problems[0].Error(), "0 versions") {
		t.Errorf("told of %v", k.problems)
	}
	if keys, err := New(t.Context(), Config{Read: func(context.Context) (string, error) { return "", errDown }}); keys != nil || !errors.Is(err, errDown) {
		t.Errorf("%v, %v", keys, err)
	}
	if keys, err := New(t.Context(), Config{Read: func(context.Context) (string, error) { return "short", nil }}); keys != nil || err == nil {
		t.Errorf("%v, %v", keys, err)
	}
}

// Who changes today's secret by hand is told so; a new version is not such a change.
func TestChangeOfTodaysKeyIsTold(t *testing.T) {
	k, clock := &kept{value: one}, capstest.NewClock(noon)
	keys := k.instance(t, clock)
	k.set(next(t, one, noon).Value, nil)
	clock.Advance(ReadEvery)
	if err := keys.Check(t.Context()); err != nil || len(k.problems) != 0 {
		t.Errorf("%v, %v", err, k.problems)
	}
	k.set(three, nil)
	clock.Advance(ReadEvery)
	if err := keys.Check(t.Context()); err != nil || len(k.problems) != 1 || !strings.Contains(k.problems[0].Error(), "counted from 0 again") {
		t.Errorf("%v, %v", err, k.problems)
	}
}

// Requests at once read once; those that are not stale do not wait for it.
func TestOneReadsForAll(t *testing.T) {
	clock := capstest.NewClock(noon)
	reading, proceed := make(chan struct{}), make(chan struct{})
	reads := 0
	keys, err := New(t.Context(), Config{Now: clock.Now, Read: func(context.Context) (string, error) {
		reads++
		if reads == 2 {
			close(reading)
			<-proceed
		}
		return one, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(ReadEvery)
	var group sync.WaitGroup
	group.Go(func() { keys.Check(t.Context()) })
	<-reading
	for range 100 {
		if err := keys.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	clock.Advance(24 * time.Hour) // now they are stale, and have to wait
	errs := make(chan error, 100)
	for range 100 {
		group.Go(func() { errs <- keys.Check(t.Context()) })
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := keys.Check(gone); !errors.Is(err, ErrStale) {
		t.Errorf("a request that has left: %v", err)
	}
	close(proceed)
	group.Wait()
	for range 100 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if reads != 3 {
		t.Errorf("%d readings, want 3", reads)
	}
}
