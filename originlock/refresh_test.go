package originlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

const (
	ttl          = originlock.MaxTTL
	refreshEvery = originlock.DefaultRefreshEvery
	maxAge       = originlock.DefaultMaxAge
	timeout      = originlock.DefaultTimeout
)

func TestHitsDoNotAskTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.wantCalls(t, 1)
		for range 1000 {
			accept(t, l, oldSecret)
		}
		time.Sleep(ttl - 1)
		accept(t, l, oldSecret)
		src.wantCalls(t, 0)
	})
}

func TestWithdrawnSecretIsRefusedAfterTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret, newSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.set(newSecret)
		src.wantCalls(t, 1)
		time.Sleep(ttl - 1)
		accept(t, l, oldSecret)
		src.wantCalls(t, 0)
		time.Sleep(time.Nanosecond)
		refuse(t, l, oldSecret)
		src.wantCalls(t, 1)
		accept(t, l, newSecret)
		src.wantCalls(t, 0)
	})
}

func TestTTLCountsFromEachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src, TTL: 20 * time.Second})
		src.wantCalls(t, 1)
		for range 10 {
			time.Sleep(20 * time.Second)
			accept(t, l, oldSecret)
			accept(t, l, oldSecret)
			src.wantCalls(t, 1)
			time.Sleep(20*time.Second - 1)
			accept(t, l, oldSecret)
			src.wantCalls(t, 0)
			time.Sleep(time.Nanosecond)
			accept(t, l, oldSecret)
			src.wantCalls(t, 1)
		}
	})
}

// The answer of a slow source is as old as the question.
func TestAgeCountsFromTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		src.before = func(context.Context) error { time.Sleep(2 * time.Second); return nil }
		l := newLock(t, originlock.Config{Source: src})
		src.wantCalls(t, 1)
		time.Sleep(ttl - 2*time.Second - 1)
		accept(t, l, oldSecret)
		src.wantCalls(t, 0)
		time.Sleep(time.Nanosecond)
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)
	})
}

func TestWarmInstanceGetsTheNewSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)

		src.set(oldSecret, newSecret)
		accept(t, l, newSecret)
		src.wantCalls(t, 1)
		for range 100 {
			refuse(t, l, wrong)
		}
		src.wantCalls(t, 0)

		time.Sleep(refreshEvery - 1)
		refuse(t, l, wrong)
		src.wantCalls(t, 0)
		time.Sleep(time.Nanosecond)
		for range 100 {
			refuse(t, l, wrong)
		}
		src.wantCalls(t, 1)
		accept(t, l, oldSecret)
		accept(t, l, newSecret)
		src.wantCalls(t, 0)
	})
}

func TestParallelWrongValuesShareOneRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.set(oldSecret, newSecret)
		src.before = func(context.Context) error { time.Sleep(50 * time.Millisecond); return nil }
		src.wantCalls(t, 1)

		var accepted, refused atomic.Int32
		var group sync.WaitGroup
		for i := range 1000 {
			value := wrong
			if i%10 == 0 {
				value = newSecret
			}
			group.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Microsecond) // half of them after the refresh
				ok, err := l.Check(t.Context(), value)
				switch {
				case err != nil:
					t.Error(err)
				case ok && value == newSecret:
					accepted.Add(1)
				case !ok && value == wrong:
					refused.Add(1)
				}
			})
		}
		group.Wait()
		if accepted.Load() != 100 || refused.Load() != 900 {
			t.Errorf("%d accepted and %d refused, want 100 and 900", accepted.Load(), refused.Load())
		}
		src.wantCalls(t, 1)
	})
}

func TestParallelRequestsAfterTTLShareOneRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.before = func(context.Context) error { time.Sleep(50 * time.Millisecond); return nil }
		src.wantCalls(t, 1)
		time.Sleep(ttl)
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() { accept(t, l, oldSecret) })
		}
		group.Wait()
		src.wantCalls(t, 1)
	})
}

// Wrong values all day long: the source is asked at the rate that is stated, and who
// has the secret notices nothing.
func TestFloodOfWrongValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.wantCalls(t, 1)
		for range 60 * 100 { // one minute
			refuse(t, l, wrong)
			accept(t, l, oldSecret)
			time.Sleep(10 * time.Millisecond)
		}
		src.wantCalls(t, int(time.Minute/refreshEvery))
	})
}

func TestStartAsksForTheCurrentSecretOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &starter{source: newSource(oldSecret, newSecret)}
		l := newLock(t, originlock.Config{Source: src})
		accept(t, l, oldSecret)
		src.wantCalls(t, 0)
		if src.starts != 1 {
			t.Errorf("the current secret was asked for %d times, want once", src.starts)
		}

		// A value that is not the current one may be pending or previous: the first
		// answer has to be right already.
		accept(t, l, newSecret)
		src.wantCalls(t, 1)
		refuse(t, l, wrong)
		src.wantCalls(t, 0)

		time.Sleep(ttl)
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)
		if src.starts != 1 {
			t.Errorf("the current secret was asked for %d times, want once", src.starts)
		}
	})
}

func TestLastGoodSecretsOutliveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		var told []error
		l := newLock(t, originlock.Config{Source: src, OnFailure: func(err error) { told = append(told, err) }})
		src.fail(errOutage)
		src.wantCalls(t, 1)

		time.Sleep(ttl)
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)
		if len(told) != 1 || !errors.Is(told[0], errOutage) {
			t.Errorf("OnFailure was told %v, want the outage once", told)
		}
		// It is not hammered while it is down, whatever comes.
		accept(t, l, oldSecret)
		undecided(t, l, newSecret, errOutage.Error())
		time.Sleep(refreshEvery - 1)
		accept(t, l, oldSecret)
		undecided(t, l, newSecret, errOutage.Error())
		src.wantCalls(t, 0)
		time.Sleep(time.Nanosecond)
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)

		time.Sleep(maxAge - ttl - refreshEvery - 1)
		accept(t, l, oldSecret)
		time.Sleep(time.Nanosecond)
		undecided(t, l, oldSecret, "older than 1h0m0s")
		undecided(t, l, newSecret, "older than 1h0m0s")
		refuse(t, l, "")

		// After the outage all is well again, RefreshEvery later at most.
		src.set(oldSecret)
		time.Sleep(refreshEvery)
		accept(t, l, oldSecret)
		refuse(t, l, wrong)
	})
}

// A source without a secret is a broken one: neither does everything pass, nor
// does nothing.
func TestAnswerWithoutAUsableSecretIsAFailure(t *testing.T) {
	for name, answer := range map[string][]string{
		"none":                nil,
		"empty":               {""},
		"short, blank, empty": {oldSecret[:31], strings.Repeat(" ", 40), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource(oldSecret)
				l := newLock(t, originlock.Config{Source: src})
				src.set(answer...)
				src.wantCalls(t, 1)
				time.Sleep(ttl)
				accept(t, l, oldSecret)
				src.wantCalls(t, 1)
				undecided(t, l, newSecret, "the source has no")
				refuse(t, l, "")
				time.Sleep(maxAge - ttl)
				undecided(t, l, oldSecret, "older than 1h0m0s")
				undecided(t, l, newSecret, "older than 1h0m0s")
			})
		})
	}
}

func TestMismatchDuringAnOutageIsUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.fail(errOutage)
		src.wantCalls(t, 1)
		for range 100 {
			undecided(t, l, newSecret, "new ones cannot be read")
		}
		src.wantCalls(t, 1)
		src.set(newSecret)
		time.Sleep(refreshEvery)
		accept(t, l, newSecret)
		src.wantCalls(t, 1)
	})
}

// The pause after a failure counts from its end: a source that needs the whole
// Timeout to fail is left alone as long as one that fails at once.
func TestPauseAfterASlowFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		src.wantCalls(t, 1)
		time.Sleep(ttl)

		start := time.Now()
		accept(t, l, oldSecret)
		if waited := time.Since(start); waited != timeout {
			t.Errorf("a good value waited %v for a source that is stuck, want %v", waited, timeout)
		}
		start = time.Now()
		for time.Since(start) < refreshEvery {
			before := time.Now()
			accept(t, l, oldSecret)
			if time.Since(before) != 0 {
				t.Fatal("a good value waited although no refresh was due")
			}
			time.Sleep(100 * time.Millisecond)
		}
		src.wantCalls(t, 1)
		accept(t, l, oldSecret)
		src.wantCalls(t, 1)
	})
}

// The Timeout holds even against a source that does not look at its context, and
// then there is one call of it at a time still.
func TestSourceThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.set(newSecret)
		release := make(chan struct{})
		src.before = func(context.Context) error { <-release; return nil }
		src.wantCalls(t, 1)
		time.Sleep(ttl)

		start := time.Now()
		accept(t, l, oldSecret)
		if waited := time.Since(start); waited != timeout {
			t.Errorf("a good value waited %v, want %v", waited, timeout)
		}
		undecided(t, l, newSecret, "has not answered in time")
		time.Sleep(maxAge)
		undecided(t, l, oldSecret, "has not answered in time")
		src.wantCalls(t, 1)

		// An answer that comes so late is as old as its question.
		close(release)
		synctest.Wait()
		time.Sleep(refreshEvery)
		accept(t, l, newSecret)
		src.wantCalls(t, 1)
	})
}

func TestRefreshOutlivesTheRequestThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.set(oldSecret, newSecret)
		type key struct{}
		src.before = func(ctx context.Context) error {
			if ctx.Value(key{}) != "kept" {
				t.Error("the values of the request's context are lost")
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}
		src.wantCalls(t, 1)

		gone, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		var group sync.WaitGroup
		group.Go(func() {
			start := time.Now()
			ok, err := l.Check(gone, newSecret)
			if ok || err == nil || time.Since(start) != 100*time.Millisecond {
				t.Errorf("Check = %v, %v after %v; want an error when its viewer left", ok, err, time.Since(start))
			}
		})
		time.Sleep(100 * time.Millisecond)
		group.Go(func() { accept(t, l, newSecret) })
		synctest.Wait()
		leave()
		group.Wait()
		src.wantCalls(t, 1)

		// A request that is over when it arrives begins a refresh all the same, and
		// does not wait for it.
		src.set(wrong)
		time.Sleep(refreshEvery)
		if ok, err := l.Check(gone, wrong); ok || err == nil {
			t.Errorf("Check = %v, %v; want an error", ok, err)
		}
		accept(t, l, wrong)
		src.wantCalls(t, 1)
	})
}

func TestPanicOfTheSourceIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(oldSecret)
		l := newLock(t, originlock.Config{Source: src})
		src.before = func(context.Context) error { panic(errors.New(oldSecret)) }
		undecided(t, l, newSecret, "the source panicked with a *errors.errorString")
		accept(t, l, oldSecret)
	})
}

// clock is a clock that can be set back, which that of synctest cannot.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time        { return time.Unix(0, c.ns.Load()) }
func (c *clock) step(by time.Duration) { c.ns.Add(int64(by)) }

func TestClockThatIsSetBack(t *testing.T) {
	src := newSource(oldSecret)
	var c clock
	c.step(24 * time.Hour)
	l := newLock(t, originlock.Config{Source: src, Now: c.now})
	refuse(t, l, wrong) // so that there was a refresh as well
	src.wantCalls(t, 2)

	// How old the secrets are is unknown now, so they are asked for at once.
	src.set(newSecret)
	c.step(-time.Hour)
	refuse(t, l, oldSecret)
	src.wantCalls(t, 1)
	accept(t, l, newSecret)
	src.wantCalls(t, 0)

	// And if they cannot be had, nothing that is of unknown age is accepted.
	src.fail(errOutage)
	c.step(-time.Hour)
	undecided(t, l, newSecret, errOutage.Error())
	src.wantCalls(t, 1)
	undecided(t, l, newSecret, errOutage.Error())
	src.wantCalls(t, 0)
}
