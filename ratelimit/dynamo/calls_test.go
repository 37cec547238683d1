package dynamo

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// A store that is alone, or has seen the window, needs one write, whether it admits or
// refuses. The item says how full the window is, so nothing is read beforehand.
func TestOneCall(t *testing.T) {
	for _, limit := range []int{1, 10, 300} {
		s := ddbtest.New(t)
		store := newStore(t, s)
		now := noon()
		for range 2 {
			for i := range limit + 3 {
				out, err := store.Take(t.Context(), take(limit, now))
				if n := len(s.Requests()); n != 1 || err != nil || (out.Admission != "") != (i < limit) {
					t.Fatalf("limit %d, take %d: %d requests, %+v, %v; want one", limit, i, n, out, err)
				}
			}
			now = now.Add(time.Minute)
		}
	}
}

// A store that has not seen the window needs two at most, however full it is.
func TestTwoCallsWithoutKnowledge(t *testing.T) {
	s := ddbtest.New(t)
	for i := range 40 {
		out, err := newStore(t, s).Take(t.Context(), take(40, noon()))
		if n := len(s.Requests()); n > 2 || err != nil || out.Remaining != 39-i {
			t.Fatalf("take %d: %d requests, %+v, %v; want two at most", i, n, out, err)
		}
	}
	if out, err := newStore(t, s).Take(t.Context(), take(40, noon())); out.Admission != "" || err != nil || len(s.Requests()) != 1 {
		t.Fatalf("%+v, %v; want it refused with one request", out, err)
	}
}

// Stores that take turns know of each other what they saw last, and still need little
// more than one write on the average.
func TestCallsOfSeveralStores(t *testing.T) {
	s := ddbtest.New(t)
	stores := []*Store{newStore(t, s), newStore(t, s), newStore(t, s), newStore(t, s)}
	now := noon()
	const takes = 1200
	for i := range takes { // 150 a minute under a limit of 300
		now = now.Add(400 * time.Millisecond)
		if out, err := stores[i%len(stores)].Take(t.Context(), take(300, now)); err != nil || out.Admission == "" {
			t.Fatal(i, out, err)
		}
	}
	n := len(s.Requests())
	t.Logf("%d requests for %d takes", n, takes)
	if n > takes*11/10 {
		t.Errorf("%d requests for %d takes; want 1.1 of each at most", n, takes)
	}
}
