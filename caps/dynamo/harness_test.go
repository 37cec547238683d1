package dynamo

import (
	"context"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// server is a scripted endpoint, seen through budgets.
type server struct {
	*ddbtest.Server
	t testing.TB
}

func newServer(t testing.TB) server { return server{ddbtest.New(t), t} }

func (s server) row(key caps.ItemKey) ddbtest.Row { return s.Row(key.String()) }

func (s server) put(key caps.ItemKey, r ddbtest.Row) { s.Put(key.String(), r) }

// store is a store on the server, at a time that stands still.
func (s server) store(change ...func(*Config)) *Store {
	s.t.Helper()
	c := Config{Client: s.Client(), Table: "caps", Now: noon}
	for _, f := range change {
		f(&c)
	}
	store, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func caller() caps.ItemKey {
	return caps.ItemKey{Budget: "caller", Day: caps.DayOf(noon()), Caller: "0123456789abcdef0123456789abcdef"}
}

func everybody() caps.ItemKey {
	return caps.ItemKey{Budget: "global", Day: caps.DayOf(noon()), Caller: caps.Everybody}
}

func charge(amount caps.MicroUSD) caps.Charge {
	return caps.Charge{Key: caller(), Amount: amount, ID: "00112233aabbccdd"}
}

func shared(amount caps.MicroUSD) caps.Charge {
	return caps.Charge{Key: everybody(), Amount: amount}
}

func ctx(t testing.TB) context.Context { return t.Context() }
