package dynamo

import (
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// backend returns stores on a scripted server, with all the time they need.
func backend(script func(s server) func(int, ddbtest.Seen) ddbtest.Fault) capstest.Backend {
	return func(tb testing.TB, clock *capstest.Clock) func() caps.Store {
		s := newServer(tb)
		if script != nil {
			s.Script(script(s))
		}
		return func() caps.Store {
			store := s.store(func(c *Config) { c.Deadline, c.AttemptTimeout, c.Now = time.Minute, time.Minute, clock.Now })
			store.sender.Backoff = 100 * time.Microsecond
			return store
		}
	}
}

// The whole suite runs through the SDK over HTTP.
func TestStore(t *testing.T) { capstest.Run(t, backend(nil)) }

// And once more with a network and an endpoint that fail all the time. A caller's
// budget has to come out exactly the same. A shared budget gets no faults but those
// after which the write certainly did not land: the others are for the caller to see.
func TestStoreWithFaults(t *testing.T) {
	certain := []ddbtest.Fault{ddbtest.Throttled, ddbtest.Conflict}
	unsure := []ddbtest.Fault{ddbtest.Lost, ddbtest.NeverCame, ddbtest.Status500, ddbtest.Late500, ddbtest.Garbage, ddbtest.HTML, ddbtest.HTML502, ddbtest.Empty, ddbtest.WrongCRC, ddbtest.Truncated}
	capstest.Run(t, backend(func(s server) func(int, ddbtest.Seen) ddbtest.Fault {
		met := map[string]bool{}
		return func(_ int, r ddbtest.Seen) ddbtest.Fault {
			write := string(ddbtest.MustJSON(r.Request)) // the body has its maps in any order
			if met[write] {
				return ddbtest.Fine
			}
			met[write] = true
			h := fnv.New32a()
			h.Write([]byte(write))
			sum := h.Sum32()
			if sum%3 != 0 {
				return ddbtest.Fine
			}
			sum /= 3
			shared := strings.HasSuffix(r.Request.Key[attrKey]["S"], "#"+caps.Everybody)
			// See LinearizableApart.
			rivals := strings.HasSuffix(s.t.Name(), "/Linearizable") || strings.HasSuffix(s.t.Name(), "/SettleInParallel")
			if shared || rivals || sum%4 == 0 {
				return certain[sum/4%uint32(len(certain))]
			}
			f := unsure[sum/4%uint32(len(unsure))]
			if !strings.HasPrefix(r.Request.UpdateExpression, take) {
				// A settle or release that finds nothing says so only if it was told so at once.
				f.UnlessFailed = true
				if f.Body == ddbtest.Empty.Body {
					return ddbtest.Fine // which is what the reply looks like anyway
				}
			}
			return f
		}
	}))
}
