package dynamo

import (
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

const windowKey = "login#0123456789abcdef0123456789abcdef"

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// newStore is a store on a scripted endpoint, with all the time it needs.
func newStore(t testing.TB, s *ddbtest.Server, change ...func(*Config)) *Store {
	t.Helper()
	c := Config{Client: s.Client(), Table: "limits", Deadline: 2 * time.Minute, AttemptTimeout: time.Minute}
	for _, f := range change {
		f(&c)
	}
	store, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	store.sender.Backoff = 100 * time.Microsecond
	return store
}

func take(limit int, now time.Time) ratelimit.Take {
	return ratelimit.Take{Key: windowKey, Limit: limit, Window: time.Minute, Now: now}
}

// used is how many slots an item has.
func used(s *ddbtest.Server) int {
	n := 0
	for name := range s.Row("rate#" + windowKey) {
		if isSlotName(name) {
			n++
		}
	}
	return n
}
