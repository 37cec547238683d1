package assemble_test

import (
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	claims "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	rates "github.com/seed3e88d9a2/spendcap/ratelimit/dynamo"
)

// newDown is the request path with the stores of a deployment on a table of its own, and
// a limit on bursts with a policy. bill is above 0 once a paid call was made.
func newDown(t *testing.T, whenDown string) (handler *api.Handler, table *ddbtest.Server, log *written, bill *caps.MicroUSD) {
	t.Helper()
	cfg, err := config.Load(strings.NewReader(`
caps: {caller: {calls: 4, usd: 0.01}, global: {usd: 0.05}}
rate_limits:
  - {name: burst, requests: 100, window: 1m, when_down: ` + whenDown + `, paths: ["/api/v1/*"]}
llm:
  provider: demo
  max_input_bytes: 1000
  models:
    - {name: demo-small, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 300}
`))
	if err != nil {
		t.Fatal(err)
	}
	table = ddbtest.New(t)
	counts, err := dynamo.New(dynamo.Config{Client: table.Client(), Table: "spendcap", Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	bursts, err := rates.New(rates.Config{Client: table.Client(), Table: "spendcap"})
	if err != nil {
		t.Fatal(err)
	}
	lock := testLock(t, noon)
	log, bill = new(written), new(caps.MicroUSD)
	handler, err = assemble.Handler(assemble.Parts{
		Config: cfg, Store: counts, Claims: claims.New(), Rates: bursts, Control: new(controlmemory.Store), Lock: lock, Keyer: testKeyer(t),
		Provider: meter{price: 1, rng: rand.New(rand.NewPCG(1, 2)), bill: bill},
		Logger:   slog.New(slog.NewJSONHandler(log, nil)),
		Now:      noon,
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler, table, log, bill
}

// Whatever is wrong with the table, a limit on bursts does what its rule says, and no
// paid call is made without its budgets, whatever the rule says.
func TestTableIsDown(t *testing.T) {
	const refused = `"code":"store_unavailable"`
	const down, misconfigured = "the rate limit's store could not be asked", "the rate limit is misconfigured"
	for _, c := range []struct {
		name  string
		fault ddbtest.Fault
		logs  string
	}{
		{"refuses", ddbtest.Denied, misconfigured},
		{"is missing", ddbtest.NoTable, misconfigured},
		{"hangs", ddbtest.Hangs, down},
		{"throttles", ddbtest.Throttled, down},
		{"breaks", ddbtest.Status500, down},
	} {
		for _, whenDown := range []string{"allow", "refuse"} {
			t.Run(c.name+", "+whenDown, func(t *testing.T) {
				t.Parallel()
				handler, table, log, bill := newDown(t, whenDown)
				call := func(status int, body string, paid bool) {
					t.Helper()
					*bill = 0
					res := ask(t, handler, "198.51.100.10:1", "POST", "/api/v1/chat/completions")
					if res.StatusCode != status || !strings.Contains(res.Body, body) || (*bill > 0) != paid {
						t.Errorf("%d %s, the bill is %s; want %d %s, paid: %t", res.StatusCode, res.Body, *bill, status, body, paid)
					}
				}

				table.Script(func(_ int, s ddbtest.Seen) ddbtest.Fault {
					if strings.HasPrefix(s.Request.Key["k"]["S"], "rate#") {
						return c.fault
					}
					return ddbtest.Fine
				})
				if whenDown == "allow" {
					call(200, "hi", true)
				} else {
					call(503, refused, false)
				}
				if !strings.Contains(log.String(), c.logs) {
					t.Errorf("the log is %s", log.String())
				}

				table.Always(c.fault)
				call(503, refused, false)
				table.Always(ddbtest.Fine)
				call(200, "hi", true)
			})
		}
	}
}
