package dynamo

import (
	"hash/fnv"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/ratelimittest"
)

// The whole suite runs through the SDK over HTTP.
func TestStore(t *testing.T) {
	ratelimittest.Run(t, func(tb testing.TB) func() ratelimit.Store {
		server := ddbtest.New(tb)
		return func() ratelimit.Store { return newStore(tb, server) }
	})
}

// And once more with a network and an endpoint that fail all the time: the windows have
// to come out exactly the same.
func TestStoreWithFaults(t *testing.T) {
	faults := []ddbtest.Fault{
		ddbtest.Throttled, ddbtest.Conflict, ddbtest.Lost, ddbtest.NeverCame, ddbtest.Status500, ddbtest.Late500,
		ddbtest.Garbage, ddbtest.HTML, ddbtest.HTML502, ddbtest.WrongCRC, ddbtest.Truncated,
	}
	ratelimittest.Run(t, func(tb testing.TB) func() ratelimit.Store {
		server := ddbtest.New(tb)
		met := map[string]bool{}
		server.Script(func(_ int, r ddbtest.Seen) ddbtest.Fault {
			write := string(ddbtest.MustJSON(r.Request)) // the body has its maps in any order
			h := fnv.New32a()
			h.Write([]byte(write))
			sum := h.Sum32()
			if met[write] || sum%3 != 0 {
				return ddbtest.Fine
			}
			met[write] = true
			f := faults[sum/3%uint32(len(faults))]
			// A give-back that finds nothing says so only if it was told so at once.
			f.UnlessFailed = r.Request.UpdateExpression == giveUpdate
			return f
		})
		return func() ratelimit.Store { return newStore(tb, server) }
	})
}
