package ratelimittest

import "time"

const minute = time.Minute

// The window is full after the limit, and admits one more in the moment in which the
// oldest leaves it.
func upToTheLimit(e *env) {
	for _, limit := range []int{1, 2, 7, 300} {
		key, first := e.key(), e.clock.Now()
		for i := range limit {
			out := e.admit(key, limit, minute, limit-i-1)
			if !out.FreeAt.Equal(first.Add(minute)) || !out.Newest.Equal(e.clock.Now()) {
				e.Fatalf("FreeAt %v, Newest %v; want %v, %v", out.FreeAt, out.Newest, first.Add(minute), e.clock.Now())
			}
			e.clock.Advance(3 * time.Millisecond)
		}
		e.refuse(key, limit, minute, first.Add(minute))
		e.clock.Set(first.Add(minute - time.Millisecond))
		e.refuse(key, limit, minute, first.Add(minute))
		e.clock.Advance(time.Millisecond)
		next := first.Add(minute + 3*time.Millisecond)
		if limit == 1 {
			next = e.clock.Now().Add(minute)
		}
		if out := e.admit(key, limit, minute, 0); !out.FreeAt.Equal(next) {
			e.Fatalf("FreeAt %v; want %v", out.FreeAt, next)
		}
		e.refuse(key, limit, minute, next)
	}
}

// A limit's worth late in one minute leaves nothing for early in the next.
func noDoubling(e *env) {
	const limit = 10
	key := e.key()
	e.clock.Set(e.clock.Now().Truncate(minute).Add(59 * time.Second))
	first := e.clock.Now()
	for i := range limit {
		e.admit(key, limit, minute, limit-i-1)
	}
	for range 10 {
		e.clock.Advance(5900 * time.Millisecond)
		e.refuse(key, limit, minute, first.Add(minute))
	}
	e.clock.Set(first.Add(minute))
	for i := range limit {
		e.admit(key, limit, minute, limit-i-1)
	}
	e.refuse(key, limit, minute, first.Add(2*minute))
}

// Hammering does not push the window forward.
func refusalLeavesNoTrace(e *env) {
	key, first := e.key(), e.clock.Now()
	e.admit(key, 2, minute, 1)
	e.clock.Advance(10 * time.Second)
	e.admit(key, 2, minute, 0)
	for range 49 {
		e.clock.Advance(time.Second)
		e.refuse(key, 2, minute, first.Add(minute))
	}
	e.clock.Advance(time.Second)
	e.admit(key, 2, minute, 0)
	e.refuse(key, 2, minute, first.Add(minute+10*time.Second))
}

func keysAreApart(e *env) {
	a, b := e.key(), e.key()
	e.admit(a, 1, minute, 0)
	e.admit(b, 1, minute, 0)
	e.admit(b+"#", 1, minute, 0)
	e.refuse(a, 1, minute, e.clock.Now().Add(minute))
	e.refuse(b, 1, minute, e.clock.Now().Add(minute))
}

func longIdle(e *env) {
	key := e.key()
	for range 3 {
		for i := range 5 {
			e.admit(key, 5, time.Second, 4-i)
		}
		e.refuse(key, 5, time.Second, e.clock.Now().Add(time.Second))
		e.clock.Advance(20 * time.Hour)
	}
}

// A rule may change. A raised limit is there at once; a lowered one within a window.
func otherLimit(e *env) {
	key, first := e.key(), e.clock.Now()
	for i := range 3 {
		e.admit(key, 3, minute, 2-i)
		e.clock.Advance(time.Second)
	}
	e.refuse(key, 3, minute, first.Add(minute))
	e.admit(key, 5, minute, 1)
	e.admit(key, 5, minute, 0)
	e.clock.Set(first.Add(2 * minute))
	e.admit(key, 2, minute, 1)
	e.admit(key, 2, minute, 0)
	e.refuse(key, 2, minute, first.Add(3*minute))

	// A longer window has more in it, if the store still knows.
	other := e.key()
	e.admit(other, 1, minute, 0)
	e.clock.Advance(minute / 2)
	e.refuse(other, 1, time.Hour, e.clock.Now().Add(time.Hour-minute/2))
}

// Stores on one backend are one limit, each with what the others did behind its back.
func severalStores(e *env) {
	for _, limit := range []int{1, 3, 300} {
		key, first := e.key(), e.clock.Now()
		for round := range 2 {
			for i := range limit {
				out, err := e.take(i%len(e.stores), key, limit, minute)
				if err != nil || out.Admission == "" || out.Remaining != limit-i-1 {
					e.Fatalf("limit %d, round %d: take %d = %+v, %v", limit, round, i, out, err)
				}
			}
			for i := range e.stores {
				out, err := e.take(i, key, limit, minute)
				if err != nil || out.Admission != "" || !out.FreeAt.Equal(first.Add(minute)) {
					e.Fatalf("limit %d, round %d: store %d = %+v, %v; want it refused", limit, round, i, out, err)
				}
			}
			first = first.Add(minute)
			e.clock.Set(first)
		}
	}
}
