package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

func row(version, state string) ddbtest.Row {
	r := ddbtest.Row{"k": {"S": "control#state"}}
	if version != "" {
		r["version"] = map[string]string{"N": version}
	}
	if state != "" {
		r["state"] = map[string]string{"S": state}
	}
	return r
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const stopState = `{"stop":{"since":"2026-11-30T12:00:00Z","by":"ann"}}`

func newStore(t *testing.T) (*dynamo.Store, *ddbtest.Server) {
	t.Helper()
	server := ddbtest.New(t)
	store, err := dynamo.New(dynamo.Config{Client: server.Client(), Table: "spendcap"})
	if err != nil {
		t.Fatal(err)
	}
	return store, server
}

// What goes wrong on the way is tried again, and never read as "nothing set".
func TestReadOnTheWire(t *testing.T) {
	for name, faults := range map[string][]ddbtest.Fault{
		"fine":         {},
		"lost":         {ddbtest.Lost},
		"hangs":        {ddbtest.Hangs},
		"500":          {ddbtest.Status500},
		"throttled":    {ddbtest.Throttled},
		"an HTML 502":  {ddbtest.HTML502},
		"HTML as 200":  {ddbtest.HTML},
		"an empty 200": {ddbtest.Empty},
		"damaged":      {ddbtest.WrongCRC},
		"cut":          {ddbtest.Truncated},
	} {
		store, server := newStore(t)
		server.Put("control#state", row("3", stopState))
		server.Faults(faults...)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if name == "hangs" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		}
		s, version, err := store.Read(ctx)
		cancel()
		if err != nil || version != 3 || s.Stop == nil {
			t.Errorf("%s: %+v, %d, %v; want the stop of version 3", name, s, version, err)
		}
		if n := len(server.Requests()); n != len(faults)+1 {
			t.Errorf("%s: %d requests; want %d", name, n, len(faults)+1)
		}
		for _, r := range server.Requests() {
			if r.Operation != "GetItem" || !strings.Contains(r.Body, `"ConsistentRead":true`) {
				t.Errorf("%s: %s %s; want a consistent GetItem", name, r.Operation, r.Body)
			}
		}
	}
}

func TestReadFails(t *testing.T) {
	for name, f := range map[string]ddbtest.Fault{
		"AccessDenied":      ddbtest.Denied,
		"ResourceNotFound":  ddbtest.NoTable,
		"not one of Dynamo": ddbtest.Empty,
	} {
		store, server := newStore(t)
		server.Put("control#state", row("3", stopState))
		server.Always(f)
		if s, _, err := store.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "DynamoDB table spendcap, GetItem: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestNothingSet(t *testing.T) {
	store, _ := newStore(t)
	if s, version, err := store.Read(t.Context()); err != nil || version != 0 || s.Stop != nil {
		t.Errorf("%+v, %d, %v; want nothing set", s, version, err)
	}
}

// An item that cannot be read is never "nothing set".
func TestUnreadableItem(t *testing.T) {
	for name, r := range map[string]ddbtest.Row{
		"no version":         row("", stopState),
		"version 0":          row("0", stopState),
		"half a version":     row("1.5", stopState),
		"no state":           row("1", ""),
		"no JSON":            row("1", "stop"),
		"an unknown field":   row("1", `{"pause":true}`),
		"a bad block":        row("1", `{"blocks":[{"key":"198.51.100.7","purpose":"block","since":"2026-11-30T12:00:00Z","by":"ann"}]}`),
		"state not a string": {"k": {"S": "control#state"}, "version": {"N": "1"}, "state": {"N": "1"}},
	} {
		store, server := newStore(t)
		server.Put("control#state", r)
		s, _, err := store.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the item control#state cannot be read") || strings.Contains(err.Error(), "198.51") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]dynamo.Config{
		"dynamo.Config.Client is missing: pass a *dynamodb.Client":   {Table: "spendcap"},
		"dynamo.Config.Table is missing: pass the name of the table": {Client: ddbtest.New(t).Client()},
	} {
		if _, err := dynamo.New(c); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// inProgress says that a transaction with the same token is still under way.
var inProgress = ddbtest.Fault{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionInProgressException","message":"in progress"}`}

// Whatever comes of the reply, a write tells the truth: written, not written because
// somebody else was first, certainly not written, or unknown.
func TestWriteOnTheWire(t *testing.T) {
	stop := control.State{Stop: &control.Stop{Since: noon, By: "ann"}}
	record := control.Record{Version: 1, ID: "the first", At: noon, By: "ann", Action: control.ActionStop, New: stop}
	for name, c := range map[string]struct {
		always  bool
		fault   ddbtest.Fault
		written bool
		err     string // a part of it; empty: none
		unknown bool
		landed  bool
	}{
		"fine":                       {fault: ddbtest.Fine, written: true, landed: true},
		"the reply is lost":          {fault: ddbtest.Lost, written: true, landed: true},
		"the request is lost":        {fault: ddbtest.NeverCame, written: true, landed: true},
		"applied, and yet 500":       {fault: ddbtest.Late500, written: true, landed: true},
		"not applied, 500":           {fault: ddbtest.Status500, written: true, landed: true},
		"throttled":                  {fault: ddbtest.Throttled, written: true, landed: true},
		"HTML, applied":              {fault: ddbtest.HTML, written: true, landed: true},
		"an empty 200, not applied":  {fault: ddbtest.Fault{Skip: true, Body: `{}`}, written: true, landed: true},
		"never more than that":       {always: true, fault: ddbtest.Fault{Skip: true, Body: `{}`}, err: "not one of DynamoDB", unknown: true},
		"in progress, and applied":   {fault: inProgress, written: true, landed: true},
		"never more than 500":        {always: true, fault: ddbtest.Status500, err: "oops", unknown: true},
		"in progress and not landed": {always: true, fault: ddbtest.Fault{Status: 400, Skip: true, Body: inProgress.Body}, err: "still under way", unknown: true},
		"denied":                     {always: true, fault: ddbtest.Denied, err: "not authorized"},
	} {
		store, server := newStore(t)
		server.Script(func(n int, s ddbtest.Seen) ddbtest.Fault {
			if s.Operation == "TransactWriteItems" && (n == 0 || c.always) {
				return c.fault
			}
			return ddbtest.Fine
		})
		written, err := store.Write(t.Context(), 0, stop, record)
		if written != c.written || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) || errors.Is(err, control.ErrUnknownOutcome) != c.unknown {
			t.Errorf("%s: %t, %v", name, written, err)
		}
		if s, _, err := store.Read(t.Context()); err != nil || (s.Stop != nil) != c.landed {
			t.Errorf("%s: then the state is %+v, %v", name, s, err)
		}
	}
}
