package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// A change of the secret at midnight gives nobody a second window.
func TestForCaller(t *testing.T) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	keyer, err := caps.NewKeyring(
		caps.KeyVersion{ID: "1", Secret: []byte(strings.Repeat("1", 32))},
		caps.KeyVersion{ID: "2", Secret: []byte(strings.Repeat("2", 32)), From: caps.DayOf(midnight)},
	)
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := caps.ViewerCaller("198.51.100.10:46532")
	if err != nil {
		t.Fatal(err)
	}
	s := newSystem(t)
	s.clock.Set(midnight.Add(-5 * time.Minute))
	var admitted []time.Time
	for range 60 { // one in half a minute
		now := s.clock.Now()
		attempts := perEmail.ForCaller(keyer, viewer, now)
		if s.check(attempts...).Allowed {
			admitted = append(admitted, now)
		}
		want := 1
		if after := now.Sub(midnight); after >= 0 && after < perEmail.Window {
			want = 2
		}
		if len(attempts) != want {
			t.Errorf("%v: %d keys; want %d", now, len(attempts), want)
		}
		s.clock.Advance(30 * time.Second)
	}
	if len(admitted) != 6 {
		t.Errorf("%d admitted in half an hour; want 6", len(admitted))
	}
	for i := 3; i < len(admitted); i++ {
		if d := admitted[i].Sub(admitted[i-3]); d < perEmail.Window {
			t.Errorf("four within %v", d)
		}
	}
	email, address := perEmail.ForCaller(keyer, viewer, midnight.Add(time.Hour)), perAddress.ForCaller(keyer, viewer, midnight.Add(time.Hour))
	if email[0].Key == address[0].Key || len(email[0].Key) != 32 {
		t.Errorf("keys %s, %s; want one for each rule", email[0].Key, address[0].Key)
	}
	if d, err := s.Check(t.Context(), perEmail.ForCaller(keyer, caps.Caller{}, midnight)...); err == nil || d != (ratelimit.Decision{}) {
		t.Errorf("nobody: %+v, %v; want an error", d, err)
	}
}
