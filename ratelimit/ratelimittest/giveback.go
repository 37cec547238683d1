package ratelimittest

import (
	"time"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

func (e *env) giveBack(store int, key string, a ratelimit.Admission, want bool) {
	e.Helper()
	if got, err := e.stores[store].GiveBack(e.Context(), key, a); got != want || err != nil {
		e.Fatalf("GiveBack = %v, %v; want %v", got, err, want)
	}
}

// What is given back was never there, whichever store gives it back.
func giveBack(e *env) {
	key, first := e.key(), e.clock.Now()
	e.admit(key, 2, minute, 1)
	e.clock.Advance(time.Second)
	second := e.admit(key, 2, minute, 0)
	e.refuse(key, 2, minute, first.Add(minute))
	e.giveBack(1, key, second.Admission, true)
	e.clock.Advance(time.Second)
	third := e.admit(key, 2, minute, 0)
	e.refuse(key, 2, minute, first.Add(minute))
	e.giveBack(0, key, third.Admission, true)
	e.giveBack(0, e.key(), third.Admission, false)
}

func giveBackTwice(e *env) {
	key := e.key()
	a, b := e.admit(key, 3, minute, 2), e.admit(key, 3, minute, 1)
	e.giveBack(0, key, a.Admission, true)
	for store := range e.stores {
		e.giveBack(store, key, a.Admission, false)
	}
	e.admit(key, 3, minute, 1)
	e.admit(key, 3, minute, 0)
	e.giveBack(2, key, b.Admission, true)
	e.admit(key, 3, minute, 0)
}

// An admission that has left the window takes none of those with it that came in its
// place.
func giveBackIsNotTheNext(e *env) {
	key := e.key()
	old := e.admit(key, 1, minute, 0)
	e.clock.Advance(minute)
	e.admit(key, 1, minute, 0)
	e.giveBack(0, key, old.Admission, false)
	e.refuse(key, 1, minute, e.clock.Now().Add(minute))
}
