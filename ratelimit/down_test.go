package ratelimit_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Whatever is wrong with the store, each rule does what it says, inside its budget, with
// a log line and an event.
func TestDown(t *testing.T) {
	faults := map[string]func(context.Context, string) error{"refuses": refuses, "throttles": throttles, "hangs": hangs, "misconfigured": misconfigured}
	for name, fault := range faults {
		for _, policy := range []ratelimit.Policy{ratelimit.Allow, ratelimit.Refuse} {
			for _, budget := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second} {
				synctest.Test(t, func(t *testing.T) {
					s := newSystem(t)
					s.store.take = fault
					rule := ratelimit.Rule{Name: "rule", Requests: 2, Window: time.Minute, WhenDown: policy, Budget: budget}
					began := time.Now()
					d := s.check(rule.For("secret-key"))
					took, most := time.Since(began), budget
					if budget == 0 {
						most = time.Second
					}
					if took > most || name == "hangs" && took != most {
						t.Errorf("%s, %v: took %v; want %v", name, policy, took, most)
					}
					if want := (ratelimit.Decision{Allowed: policy == ratelimit.Allow, Rule: rule, Down: true}); d != want {
						t.Errorf("%s: %+v; want %+v", name, d, want)
					}
					event, level, text := "rule RefusedDown", "level=WARN", "could not be asked"
					if policy == ratelimit.Allow {
						event = "rule AllowedDown"
					}
					if name == "misconfigured" {
						level, text = "level=ERROR", "misconfigured"
					}
					log := s.log.String()
					if told := s.told(); told != event || !strings.Contains(log, level) || !strings.Contains(log, text) || !strings.Contains(log, "rule=rule whenDown="+policy.String()) || strings.Contains(log, "secret-key") {
						t.Errorf("%s: event %s, log %s", name, told, log)
					}
					// And it is over when it is over.
					s.store.take = nil
					if d := s.check(rule.For("secret-key")); !d.Allowed || d.Remaining != 1 {
						t.Errorf("%s: afterwards %+v", name, d)
					}
				})
			}
		}
	}
}

// A crowd on one key does not queue up behind a store that hangs.
func TestDownForACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		s.store.take = hangs
		began := time.Now()
		results := make(chan bool)
		for range 100 {
			go func() {
				d, err := s.Check(t.Context(), search.For("k"))
				results <- err == nil && d.Allowed && d.Down
			}()
		}
		for range 100 {
			if !<-results {
				t.Error("a check did not do what the rule says")
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v; want the budget", took)
		}
	})
}

// A key that is full refuses also while the store is down, and of two keys each rule
// decides for itself.
func TestPartlyDown(t *testing.T) {
	s := newSystem(t)
	for range 3 {
		s.check(search.For("a"))
	}
	s.store.take = refuses
	if d := s.check(search.For("a")); d.Allowed || d.Down {
		t.Errorf("a full key: %+v", d)
	}
	s.store.take = forRule(search, refuses)
	if d := s.check(search.For("b"), perEmail.For("b")); !d.Allowed || d.Down || d.Rule != perEmail {
		t.Errorf("the one that allows is down: %+v", d)
	}
	s.store.take = forRule(perEmail, refuses)
	s.store.calls()
	if d := s.check(search.For("c"), perEmail.For("c")); d.Allowed || !d.Down || d.Rule != perEmail {
		t.Errorf("the one that refuses is down: %+v", d)
	}
	if _, gives := s.store.calls(); gives != 1 {
		t.Errorf("%d give-backs; want the admission of the other", gives)
	}
	// A refusal with a wait says more than one without.
	s.store.take = nil
	s.check(search.For("d"))
	s.check(search.For("d"))
	s = newSystemOn(t, s.store, s.clock)
	s.store.take = forRule(perEmail, refuses)
	if d := s.check(perEmail.For("d"), search.For("d")); d.Allowed || d.Down || d.Rule != search || d.RetryAfter != search.Window {
		t.Errorf("%+v", d)
	}
}

// What cannot be given back stays counted, is told, and takes no more than a moment.
func TestGiveBackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		s.store.take, s.store.give = forRule(perAddress, hangs), hangs
		began := time.Now()
		if d := s.check(perEmail.For("a"), perAddress.For("x")); d.Allowed {
			t.Error(d)
		}
		if took := time.Since(began); took > time.Second+250*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if log := s.log.String(); !strings.Contains(log, "an admission could not be given back and stays counted until it leaves its window") {
			t.Error(log)
		}
		if told := s.told(); told != "login-email Admitted, login-address RefusedDown" {
			t.Error(told)
		}
		s.store.take = nil
		if d := s.check(perEmail.For("a")); d.Remaining != 1 {
			t.Errorf("%+v; want two counted", d)
		}
	})
}

// An outage does not fill the disk: one line in a second for a rule, with how many there
// would have been.
func TestLogIsBounded(t *testing.T) {
	s := newSystem(t)
	s.store.take = misconfigured
	for range 1000 {
		s.clock.Advance(10 * time.Millisecond)
		s.check(search.For("a"))
		s.check(perEmail.For("a"))
	}
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	if len(lines) != 20 || !strings.HasSuffix(lines[0], "linesLeftOut=0") || !strings.HasSuffix(lines[19], "linesLeftOut=99") {
		t.Errorf("%d lines: %s", len(lines), s.log.String())
	}
	s.clock.Advance(-time.Hour) // a clock that was set back is no reason to be silent
	s.check(search.For("a"))
	if got := strings.Split(strings.TrimSpace(s.log.String()), "\n"); len(got) != 21 {
		t.Errorf("%d lines", len(got))
	}
}

// Of a crowd on one key a few ask the store, and the others learn from those.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		s.store.take = func(context.Context, string) error { time.Sleep(100 * time.Millisecond); return nil }
		allowed := make(chan bool)
		for range 100 {
			go func() {
				d, err := s.Check(t.Context(), search.For("k"))
				allowed <- err == nil && d.Allowed && !d.Down
			}()
		}
		n := 0
		for range 100 {
			if <-allowed {
				n++
			}
		}
		// Four go at a time, and each that is admitted without filling the window lets one more go.
		if takes, _ := s.store.calls(); n != search.Requests || takes < 4 || takes > 4+search.Requests-1 {
			t.Errorf("%d allowed, %d store calls; want %d, and 4 or 5", n, takes, search.Requests)
		}
	})
}

// A burst does not bring its own store down: who waits for a turn gets it within the
// budget, so that those whom the limit has room for are admitted, and no others, whatever
// the rule says about a store that is down.
func TestBurstIsNoOutage(t *testing.T) {
	for _, policy := range []ratelimit.Policy{ratelimit.Allow, ratelimit.Refuse} {
		for _, limit := range []int{1, 60, 300, ratelimit.MaxRequests} {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t)
				s.store.take = func(context.Context, string) error { time.Sleep(30 * time.Millisecond); return nil }
				rule := ratelimit.Rule{Name: "rule", Requests: limit, Window: time.Minute, WhenDown: policy}
				answers := make(chan ratelimit.Decision)
				for range 2 * limit {
					go func() {
						d, err := s.Check(t.Context(), rule.For("k"))
						if err != nil {
							t.Error(err)
						}
						answers <- d
					}()
				}
				allowed, down := 0, 0
				for range 2 * limit {
					d := <-answers
					if d.Allowed {
						allowed++
					}
					if d.Down {
						down++
					}
				}
				if allowed != limit || down != 0 {
					t.Errorf("%v, limit %d: %d allowed, and the store was down for %d; want %d and 0", policy, limit, allowed, down, limit)
				}
			})
		}
	}
}
