// Package controltest is the suite that every [control.Store] passes.
package controltest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/control"
)

// Run runs the suite. empty returns a store that nothing was ever set in.
func Run(t *testing.T, empty func(*testing.T) control.Store) {
	for name, test := range map[string]func(*testing.T, control.Store){
		"nothing set":  nothingSet,
		"round trip":   roundTrip,
		"version":      version,
		"concurrent":   concurrent,
		"history":      history,
		"refuses":      refuses,
		"ended before": ended,
		"full":         full,
	} {
		t.Run(name, func(t *testing.T) { test(t, empty(t)) })
	}
}

var run = rand.Text()

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const by = "arn:aws:iam::123456789012:user/Zoë"

// everything is a state with every field.
func everything() control.State {
	today := caps.DayOf(at)
	return control.State{
		Stop: &control.Stop{Message: `Pause until "noon" – back <soon>`, Since: at, By: by},
		Limits: []control.Limit{
			{Budget: "caller", Cap: caps.Calls(3).AndUSD(caps.MaxMicroUSD), Since: at, By: by},
			{Budget: "caller", Day: today, Cap: caps.USD(0), Since: at, By: by},
			{Budget: "global", Cap: caps.Calls(0), Since: at, By: by},
		},
		Blocks: []control.Block{
			{Key: key(1), Purpose: control.BlockPurpose, KeyVersion: "1", Since: at, By: by},
			{Key: key(1), Purpose: "caller", Day: today, Since: at, By: by},
			{Key: key(2), Purpose: control.BlockPurpose, KeyVersion: "1", Until: at.Add(time.Hour), Since: at, By: by},
		},
	}
}

func key(n int) string { return fmt.Sprintf("%032x", n) }

// record is one whose ID stands for id in this run and test, and for no other: DynamoDB
// knows the ID of a transaction for ten minutes, in all tables.
func record(t *testing.T, version int64, id string) control.Record {
	sum := sha256.Sum256([]byte(run + t.Name() + id))
	return control.Record{Version: version, ID: hex.EncodeToString(sum[:16]), At: at, By: by, Action: control.ActionStop, New: everything()}
}

func read(t *testing.T, s control.Store) (control.State, int64) {
	t.Helper()
	state, v, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state, v
}

func write(t *testing.T, s control.Store, version int64, state control.State, id string) bool {
	t.Helper()
	ok, err := s.Write(t.Context(), version, state, record(t, version+1, id))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func nothingSet(t *testing.T, s control.Store) {
	if state, v := read(t, s); v != 0 || !reflect.DeepEqual(state, control.State{}) {
		t.Errorf("%+v, version %d; want nothing", state, v)
	}
	if h, err := s.History(t.Context()); err != nil || len(h) != 0 {
		t.Errorf("history %+v, %v; want none", h, err)
	}
}

func roundTrip(t *testing.T, s control.Store) {
	if !write(t, s, 0, everything(), "a") {
		t.Fatal("not written")
	}
	if state, v := read(t, s); v != 1 || !reflect.DeepEqual(state, everything()) {
		t.Errorf("version %d, got\n%+v\nwant\n%+v", v, state, everything())
	}
	if h, err := s.History(t.Context()); err != nil || len(h) != 1 || !reflect.DeepEqual(h[0], record(t, 1, "a")) {
		t.Errorf("history %+v, %v", h, err)
	}
	if !write(t, s, 1, control.State{}, "b") {
		t.Fatal("not written")
	}
	if state, v := read(t, s); v != 2 || !reflect.DeepEqual(state, control.State{}) {
		t.Errorf("%+v, version %d; want nothing set by the second change", state, v)
	}
}

func version(t *testing.T, s control.Store) {
	write(t, s, 0, control.State{}, "a")
	for _, v := range []int64{0, 2, 7} {
		if write(t, s, v, everything(), "b") {
			t.Errorf("written over version 1 as if it were %d", v)
		}
	}
	if state, v := read(t, s); v != 1 || state.Stop != nil {
		t.Errorf("%+v, version %d; want it untouched", state, v)
	}
	if h, err := s.History(t.Context()); err != nil || len(h) != 1 || h[0].ID != record(t, 1, "a").ID {
		t.Errorf("history %+v, %v; want the one change that was made", h, err)
	}
}

// Of changes on the same version one is made; none is lost, none is made twice.
func concurrent(t *testing.T, s control.Store) {
	const writers = 4
	var group sync.WaitGroup
	var made atomic.Int64
	for n := range writers {
		group.Go(func() {
			ok, err := s.Write(t.Context(), 0, control.State{}, record(t, 1, fmt.Sprint("w", n)))
			if err != nil {
				t.Error(err)
			}
			if ok {
				made.Add(1)
			}
		})
	}
	group.Wait()
	if _, v := read(t, s); v != 1 || made.Load() > 1 {
		t.Errorf("version %d after %d changes of version 0", v, made.Load())
	}

	operators := make([]*control.Operator, writers)
	for n := range operators {
		var err error
		operators[n], err = control.NewOperator(control.OperatorConfig{Store: s, By: by, Now: func() time.Time { return at }})
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if _, err := operators[n].Block(t.Context(), control.Block{Key: key(n), Purpose: control.BlockPurpose, KeyVersion: "1"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if state, v := read(t, s); len(state.Blocks) != writers || v != 1+writers {
		t.Errorf("%d blocks, version %d; want %d, %d", len(state.Blocks), v, writers, 1+writers)
	}
}

func history(t *testing.T, s control.Store) {
	const changes = control.HistoryKept + 3
	for v := range int64(changes) {
		write(t, s, v, control.State{}, fmt.Sprint(v+1))
	}
	h, err := s.History(t.Context())
	if err != nil || len(h) != control.HistoryKept {
		t.Fatalf("%d records, %v; want %d", len(h), err, control.HistoryKept)
	}
	for i, r := range h {
		if want := record(t, int64(changes-i), fmt.Sprint(changes-i)); !reflect.DeepEqual(r, want) {
			t.Errorf("record %d is %+v; want %+v", i, r, want)
		}
	}
}

func refuses(t *testing.T, s control.Store) {
	bad := everything()
	bad.Stop.Message = "two\nlines"
	if ok, err := s.Write(t.Context(), 0, bad, record(t, 1, "a")); ok || err == nil || errors.Is(err, control.ErrUnknownOutcome) {
		t.Errorf("a bad state: %t, %v", ok, err)
	}
	r := record(t, 1, "a")
	r.By = ""
	if ok, err := s.Write(t.Context(), 0, everything(), r); ok || err == nil || errors.Is(err, control.ErrUnknownOutcome) {
		t.Errorf("a bad record: %t, %v", ok, err)
	}
	if ok, err := s.Write(t.Context(), 0, everything(), record(t, 7, "a")); ok || err == nil {
		t.Errorf("a record of another version: %t, %v", ok, err)
	}
	nothingSet(t, s)
}

func ended(t *testing.T, s control.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Read(ctx); err == nil {
		t.Error("Read does not give up")
	}
	if _, err := s.Write(ctx, 0, control.State{}, record(t, 1, "a")); err == nil {
		t.Error("Write does not give up")
	}
	if _, err := s.History(ctx); err == nil {
		t.Error("History does not give up")
	}
}

// The largest state that is accepted can be kept.
func full(t *testing.T, s control.Store) {
	var state control.State
	for n := range control.MaxBlocks {
		state.Blocks = append(state.Blocks, control.Block{Key: key(n), Purpose: control.BlockPurpose, KeyVersion: "1", Until: at.Add(time.Hour), Since: at, By: strings.Repeat("b", 100)})
	}
	if !write(t, s, 0, state, "a") {
		t.Fatal("not written")
	}
	if got, _ := read(t, s); !reflect.DeepEqual(got, state) {
		t.Error("it came back different")
	}
}
