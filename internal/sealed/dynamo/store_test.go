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
	put := func(text string, until time.Time, first bool) {
		t.Helper()
		if err := s.Put(t.Context(), name, []byte(text), until, first); err != nil {
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
	put("first", end, true)
	want("first", "1796169600")
	put("second", end, true) // the first stays
	want("first", "1796169600")
	put("third", time.Time{}, false) // an operator's replaces it, also its end
	want("third", "")
	if err := s.Erase(t.Context(), name, now); err != nil {
		t.Fatal(err)
	}
	want("", "1796126400")
	put("late", end, true) // an instance that has not heard of the end
	want("", "1796126400")
	put("again", end, false)
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
	for _, err := range []error{reading, s.Put(t.Context(), name, []byte("hidden"), end, true), s.Erase(t.Context(), name, now)} {
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
