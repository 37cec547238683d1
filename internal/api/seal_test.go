package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	"github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
)

// A caller that was blocked by a key has its address sealed at its next call, once; one
// that is not blocked, never.
func TestBlockedCallerIsSealed(t *testing.T) {
	key, err := sealed.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	table := ddbtest.New(t)
	table.Table = "spendcap"
	store := dynamo.Store{Client: table.Client(), Table: "spendcap"}
	var b *board
	s := newSystem(t, func(c *api.Config) {
		b = watched(t, c)
		c.Sealed = &sealed.Keeper{Key: key.Public(), Store: store, Now: c.Now}
	})
	if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, res.Body)
	}
	caller, err := caps.ViewerCaller(viewer)
	if err != nil {
		t.Fatal(err)
	}
	today := caps.DayOf(s.clock.Now())
	block := control.KeyBlock(caps.ItemKey{Budget: "demo", Day: today, Caller: b.keyer.Key("demo", today, caller)})
	if _, err := b.Block(t.Context(), block); err != nil {
		t.Fatal(err)
	}
	s.clock.Set(s.clock.Now().Add(10 * time.Second))
	for range 20 {
		if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 429 {
			t.Fatalf("%d %s", res.StatusCode, res.Body)
		}
	}
	if n := len(table.Requests()); n != 1 || len(table.Rows()) != 1 {
		t.Errorf("%d requests, %d rows; want one of each", n, len(table.Rows()))
	}
	text, err := store.Get(t.Context(), sealed.NameOf(block))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := key.Open(text, sealed.NameOf(block)); err != nil || got != caller.String() {
		t.Errorf("%q, %v; want %s", got, err, caller)
	}
	if strings.Contains(string(ddbtest.MustJSON(table.Rows())), caller.String()) || strings.Contains(s.log.String(), caller.String()) {
		t.Error("the address is readable in the table or the log")
	}
}

// That the address cannot be kept changes nothing for the caller.
func TestSealingFails(t *testing.T) {
	key, err := sealed.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	table := ddbtest.New(t)
	table.Table = "another"
	var b *board
	s := newSystem(t, func(c *api.Config) {
		b = watched(t, c)
		c.Sealed = &sealed.Keeper{Key: key.Public(), Store: dynamo.Store{Client: table.Client(), Table: "spendcap"}, Now: c.Now}
	})
	caller, err := caps.ViewerCaller(viewer)
	if err != nil {
		t.Fatal(err)
	}
	today := caps.DayOf(s.clock.Now())
	if _, err := b.Block(t.Context(), control.KeyBlock(caps.ItemKey{Budget: "demo", Day: today, Caller: b.keyer.Key("demo", today, caller)})); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if res := s.send(t, event("POST", "/api/demo/cap")); res.StatusCode != 429 || !strings.Contains(res.Body, `"scope":"blocked"`) {
			t.Errorf("%d %s", res.StatusCode, res.Body)
		}
	}
	if n := strings.Count(s.log.String(), "could not be sealed"); n != 1 || strings.Contains(s.log.String(), caller.String()) {
		t.Errorf("%d lines say so: %s", n, s.log)
	}
}
