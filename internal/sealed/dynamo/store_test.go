package dynamo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
)

const name = "caller#2026-12-01#0123456789abcdef0123456789abcdef"

var (
	now = time.Date(2026, 12, 1, 12, 0, 0, 500, time.UTC)
	end = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
)

func TestStore(t *testing.T) {
	table := ddbtest.New(t)
	table.Table = "spendcap"
	s := dynamo.Store{Client: table.Client(), Table: "spendcap"}
	put := func(text string, until time.Time) {
		t.Helper()
		if err := s.Put(t.Context(), name, []byte(text), until); err != nil {
			t.Fatal(err)
		}
	}
	putFirst := func(text string, until, since time.Time) {
		t.Helper()
		if err := s.PutFirst(t.Context(), name, []byte(text), until, since); err != nil {
			t.Fatal(err)
		}
	}
	// want checks the address and the expiry in seconds, empty for none.
	want := func(text, expiry string) {
		t.Helper()
		got, err := s.Get(t.Context(), name)
		if err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
		if got := table.Row("sealed#" + name)["expiresAt"]["N"]; got != expiry {
			t.Errorf("expires at %q, want %q", got, expiry)
		}
	}
	want("", "")
	putFirst("first", end.Add(-time.Hour), now)
	want("first", "1796166000")
	putFirst("second", end.Add(-time.Hour), now) // the first stays
	want("first", "1796166000")
	putFirst("longer", end, now.Add(time.Hour)) // unless the block was made longer
	want("longer", "1796169600")
	putFirst("shorter", end.Add(-time.Hour), now)
	want("longer", "1796169600")
	put("third", time.Time{}) // an operator's replaces it, also its end
	want("third", "")
	putFirst("fourth", end, now)
	want("third", "")
	if err := s.Erase(t.Context(), name, now); err != nil {
		t.Fatal(err)
	}
	want("", "1796126400")
	putFirst("late", end, now.Add(-time.Hour)) // an instance that has not heard of the end
	want("", "1796126400")
	putFirst("late", end, now)
	want("", "1796126400")
	putFirst("blocked again", end, now.Add(time.Second))
	want("blocked again", "1796169600")
	putFirst("of another day", end.AddDate(0, 0, 1), end.Add(time.Second)) // TTL is late
	want("of another day", "1796256000")
	if err := s.Erase(t.Context(), name, now); err != nil {
		t.Fatal(err)
	}
	put("again", end)
	want("again", "1796169600")

	for key := range table.Rows() {
		if _, err := caps.ParseItemKey(key); err == nil || !strings.HasPrefix(key, "sealed#") {
			t.Errorf("%s reads as the item of a budget", key)
		}
	}
}

func TestErrorsNameTheTable(t *testing.T) {
	table := ddbtest.New(t)
	table.Table = "another"
	s := dynamo.Store{Client: table.Client(), Table: "spendcap"}
	_, reading := s.Get(t.Context(), name)
	for _, err := range []error{reading, s.Put(t.Context(), name, []byte("hidden"), end), s.PutFirst(t.Context(), name, []byte("hidden"), end, now), s.Erase(t.Context(), name, now)} {
		if err == nil || !strings.Contains(err.Error(), "DynamoDB table spendcap") || strings.Contains(err.Error(), "hidden") {
			t.Error(err)
		}
	}
	table.Table = "spendcap"
	table.Put("sealed#"+name, ddbtest.Row{"address": {"S": "text"}})
	if _, err := s.Get(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is not binary") {
		t.Error(err)
	}
}
