package control

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// script is a reader that answers as told, and counts.
type script struct {
	state State
	err   error
	reads int
	while func(context.Context) error // during the read
}

func (s *script) Read(ctx context.Context) (State, int64, error) {
	s.reads++
	state, err := s.state, s.err // what is there when the read begins
	if s.while != nil {
		err = errors.Join(err, s.while(ctx))
	}
	return state, 1, err
}

// clocks are the two of a machine.
type clocks struct{ wall, mono time.Duration }

func (c *clocks) pass(d time.Duration) { c.wall += d; c.mono += d }

var (
	began      = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	errScript  = errors.New("broken on purpose")
	stopped    = State{Stop: &Stop{Since: began, By: "ann"}}
	testKeyer  = must(caps.NewKeyer([]byte(strings.Repeat("k", 32))))
	testCaller = callerOf("198.51.100.7")
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func callerOf(addr string) caps.Caller { return must(caps.Mask{}.Caller(netip.MustParseAddr(addr))) }

func newWatcher(t *testing.T, r Reader) (*Watcher, *clocks) {
	t.Helper()
	c := new(clocks)
	w, err := NewWatcher(WatcherConfig{Reader: r, Keyer: testKeyer, Now: func() time.Time { return began.Add(c.wall) }})
	if err != nil {
		t.Fatal(err)
	}
	w.clock = func() instant { return instant{began.Add(c.wall), c.mono} }
	return w, c
}

func (w *Watcher) is(t *testing.T, when, want string) {
	t.Helper()
	got := "open"
	if v, err := w.Check(t.Context()); err != nil {
		got = "unknown"
	} else if v.Stop != nil {
		got = "stopped"
	}
	if got != want {
		t.Errorf("%s: %s; want %s", when, got, want)
	}
}

func (s *script) want(t *testing.T, when string, reads int) {
	t.Helper()
	if s.reads != reads {
		t.Errorf("%s: %d reads; want %d", when, s.reads, reads)
	}
}

// The promise, as arithmetic: what is served is too young to miss a change by as much,
// with time left to act on it; and one lost read does not refuse anybody.
const (
	_ = uint64(Promise - staleAfter - time.Second/2)
	_ = uint64(staleAfter - freshFor - 2*readTimeout)
	_ = uint64(readTimeout - retryAfter)
)

func TestWatcherReadsOnceInTwoSeconds(t *testing.T) {
	r := new(script)
	w, c := newWatcher(t, r)
	w.is(t, "at first", "open")
	r.state = stopped
	c.pass(freshFor - 1)
	w.is(t, "while it is fresh", "open")
	r.want(t, "while it is fresh", 1)
	c.pass(1)
	w.is(t, "after two seconds", "stopped")
	r.want(t, "after two seconds", 2)
	for range 100 {
		w.is(t, "again", "stopped")
	}
	r.want(t, "again", 2)
	r.state = State{}
	c.pass(freshFor)
	w.is(t, "after it was resumed", "open")
}

// A state is as old as the beginning of its read: a change that came after that may be
// missing in it.
func TestWatcherCountsFromTheBeginningOfARead(t *testing.T) {
	r := new(script)
	w, c := newWatcher(t, r)
	r.while = func(context.Context) error { c.pass(readTimeout); r.while = nil; r.state = stopped; return nil }
	w.is(t, "after a slow read", "open")
	c.pass(freshFor - readTimeout)
	w.is(t, "two seconds after it began", "stopped")
	r.want(t, "at the end", 2)

	r.while = func(context.Context) error { c.pass(staleAfter); return nil }
	c.pass(time.Hour)
	w.is(t, "after a read that took too long", "unknown")
}

func TestWatcherWhileTheStateCannotBeRead(t *testing.T) {
	r := &script{err: errScript}
	w, c := newWatcher(t, r)
	var told int
	w.c.OnFailure = func(err error) {
		if told++; !errors.Is(err, errScript) {
			t.Error(err)
		}
	}
	w.is(t, "before the first read", "unknown")
	if got := w.Cap(caps.Budget{Name: "caller", Cap: caps.Calls(1)}, caps.DayOf(began)); got != (caps.Cap{}) {
		t.Errorf("the cap before the first read is %v; want none that admits", got)
	}
	r.err = nil
	w.is(t, "right after a failure", "unknown")
	r.want(t, "right after a failure", 1)
	c.pass(retryAfter)
	w.is(t, "after a pause", "open")

	r.err, r.state = errScript, stopped
	c.pass(freshFor)
	w.is(t, "old", "open")
	c.pass(staleAfter - freshFor - 1)
	w.is(t, "nearly too old", "open")
	c.pass(1)
	w.is(t, "too old", "unknown")
	r.want(t, "too old", 4) // the last answer needed none: the one before failed just now
	for range 100 {
		w.is(t, "too old", "unknown")
		c.pass(retryAfter / 10)
	}
	r.want(t, "in two seconds more", 4+9)
	if told != r.reads-1 {
		t.Errorf("%d failures told; want %d", told, r.reads-1)
	}
	r.err = nil
	c.pass(retryAfter)
	w.is(t, "when it can be read again", "stopped")
}

// Whichever clock says that time has passed is right, and one that goes back says
// nothing.
func TestWatcherWithClocksThatJump(t *testing.T) {
	for name, jump := range map[string]func(*clocks){
		"thawed: only the wall clock went on":         func(c *clocks) { c.wall += time.Hour },
		"thawed: only the monotonic clock went on":    func(c *clocks) { c.mono += time.Hour },
		"the wall clock was set back":                 func(c *clocks) { c.wall -= time.Hour },
		"the wall clock was set back a little":        func(c *clocks) { c.wall--; c.mono++ },
		"the wall clock was set back over the pause":  func(c *clocks) { c.mono += time.Hour; c.wall -= time.Hour },
		"the monotonic clock went back, which cannot": func(c *clocks) { c.mono-- },
	} {
		r := new(script)
		w, c := newWatcher(t, r)
		w.is(t, name, "open")
		r.state = stopped
		jump(c)
		w.is(t, name, "stopped")
		r.want(t, name, 2)

		r.err = errScript
		jump(c)
		w.is(t, name+", and it cannot be read", "unknown")
	}
}

func TestClockOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clockOf(time.Now)
		a := clock()
		time.Sleep(3 * time.Second)
		if got := a.age(clock()); got != 3*time.Second {
			t.Errorf("%s; want 3s", got)
		}
	})
}

// slow is a reader that takes its time.
type slow struct {
	reads atomic.Int64
	takes time.Duration
}

func (s *slow) Read(ctx context.Context) (State, int64, error) {
	s.reads.Add(1)
	select {
	case <-time.After(s.takes):
		return State{}, 0, nil
	case <-ctx.Done():
		return State{}, 0, ctx.Err()
	}
}

func TestWatcherReadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: readTimeout - 1}
		w, err := NewWatcher(WatcherConfig{Reader: r, Keyer: testKeyer})
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := w.Check(gone); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away got %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			group.Go(func() {
				if _, err := w.Check(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		group.Wait()
		if n := r.reads.Load(); n != 1 {
			t.Errorf("%d reads; want one", n)
		}
	})
}

func TestWatcherGivesAReadASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Hour}
		w, err := NewWatcher(WatcherConfig{Reader: r, Keyer: testKeyer})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := w.Check(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v; want a time-out", err)
		}
		if took := time.Since(start); took != readTimeout {
			t.Errorf("it took %s; want %s", took, readTimeout)
		}
	})
}

func TestWatcherBlocks(t *testing.T) {
	today := caps.DayOf(began)
	six := callerOf("2001:db8:0:7::1")
	block := func(purpose string, day caps.Day, caller caps.Caller, until time.Time) Block {
		b := AddressBlock(testKeyer, caller, today)
		if day != 0 {
			b = KeyBlock(caps.ItemKey{Budget: purpose, Day: day, Caller: testKeyer.Key(purpose, day, caller)})
		}
		b.Until, b.Since, b.By = until, began, "ann"
		return b
	}
	r := &script{state: State{Blocks: []Block{
		block(BlockPurpose, 0, callerOf("198.51.100.1"), time.Time{}),
		block(BlockPurpose, 0, callerOf("198.51.100.2"), began.Add(time.Hour)),
		block("caller", today, callerOf("198.51.100.3"), time.Time{}),
		block("demo", today, callerOf("198.51.100.4"), began.Add(time.Hour)),
		block("caller", today+1, callerOf("198.51.100.5"), time.Time{}),
		block(BlockPurpose, 0, six, time.Time{}),
	}}}
	if err := r.state.Check(); err != nil {
		t.Fatal(err)
	}
	w, c := newWatcher(t, r)
	tomorrow := today.End().Sub(began)
	for _, at := range []struct {
		after time.Duration
		want  string
	}{
		{0, "1 2 3 4 six six2"}, {time.Hour - 1, "1 2 3 4 six six2"}, {time.Hour, "1 3 six six2"},
		{tomorrow - 1, "1 3 six six2"}, {tomorrow, "1 5 six six2"}, {tomorrow + 24*time.Hour, "1 six six2"},
	} {
		*c = clocks{at.after, at.after}
		var got []string
		for _, who := range [][2]string{
			{"1", "198.51.100.1"}, {"2", "198.51.100.2"}, {"3", "198.51.100.3"}, {"4", "198.51.100.4"}, {"5", "198.51.100.5"},
			{"6", "198.51.100.6"}, {"six", "2001:db8:0:7::1"}, {"six2", "2001:db8:0:7:ffff::9"}, {"six3", "2001:db8:0:8::1"},
		} {
			v, err := w.Check(t.Context(), callerOf(who[1]))
			if err != nil {
				t.Fatal(err)
			}
			if v.Block != nil {
				got = append(got, who[0])
			}
		}
		if got := strings.Join(got, " "); got != at.want {
			t.Errorf("after %s %s are blocked; want %s", at.after, got, at.want)
		}
	}
	*c = clocks{}
	if v, err := w.Check(t.Context(), caps.Caller{}, testCaller, six); err != nil || v.Block == nil {
		t.Errorf("%+v, %v; want whoever is one of the blocked", v, err)
	}
	if v, err := w.Check(t.Context()); err != nil || v.Block != nil {
		t.Errorf("%+v, %v; want nobody blocked", v, err)
	}
}

func TestNewWatcherRefuses(t *testing.T) {
	for want, c := range map[string]WatcherConfig{
		"control.WatcherConfig.Reader is missing: nobody could stop the calls": {Keyer: testKeyer},
		"control.WatcherConfig.Keyer is missing":                               {Reader: new(script)},
	} {
		if _, err := NewWatcher(c); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	r := new(script)
	w, err := NewWatcher(WatcherConfig{Reader: r, Keyer: testKeyer})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Check(b.Context(), testCaller); err != nil {
			b.Fatal(err)
		}
	}
}
