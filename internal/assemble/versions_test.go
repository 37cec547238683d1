package assemble_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/api"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	claims "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// meter is a provider that uses some of what it may, and keeps its own bill.
type meter struct {
	price caps.MicroUSD // of a token of output, in micro-dollars
	rng   *rand.Rand
	bill  *caps.MicroUSD
}

func (m meter) Features() llm.Features { return llm.Features{MaxTemperature: 2} }

func (m meter) Complete(_ context.Context, r *llm.Request) (*llm.Response, error) {
	out := int64(m.rng.IntN(r.MaxOutputTokens + 1))
	*m.bill += m.price*caps.MicroUSD(out) + 1 // the input's price is rounded up to one
	return &llm.Response{Parts: []llm.Part{{Text: "hi"}}, Usage: &llm.Usage{Input: 1, Output: out}}, nil
}

// TestTwoVersionsOfTheFile lets two versions of a deployment, with other prices and caps,
// run at the same time: both count in one ledger, which is the sum of the provider's
// bills, and neither admits a call above its own ceiling.
func TestTwoVersionsOfTheFile(t *testing.T) {
	store := memory.New(noon)
	lock := testLock(t, noon)
	var bill caps.MicroUSD
	rng := rand.New(rand.NewPCG(1, 2))
	version := func(price int, ceiling string) *api.Handler {
		cfg, err := config.Load(strings.NewReader(fmt.Sprintf(`
caps: {caller: {usd: 0.02}, global: {usd: %s}}
llm:
  provider: demo
  max_input_bytes: 1000
  models:
    - {name: small, input_usd_per_million: 0.000001, output_usd_per_million: %d, max_output_tokens: 100}
`, ceiling, price)))
		if err != nil {
			t.Fatal(err)
		}
		h, err := assemble.Handler(assemble.Parts{
			Config: cfg, Store: store, Claims: claims.New(), Control: new(controlmemory.Store), Lock: lock, Keyer: testKeyer(t),
			Provider: meter{price: caps.MicroUSD(price), rng: rng, bill: &bill},
			Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)), Now: noon,
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	versions := []struct {
		*api.Handler
		ceiling caps.MicroUSD
	}{
		{version(10, "0.50"), 500_000},
		{version(70, "0.30"), 300_000},
	}
	key := caps.ItemKey{Budget: "global", Day: caps.DayOf(noon()), Caller: caps.Everybody}
	admitted, refused := make([]int, 2), make([]int, 2)
	for range 3000 {
		i := rng.IntN(2)
		e := events.APIGatewayV2HTTPRequest{
			RawPath: "/api/v1/chat/completions",
			Body:    `{"model":"small","messages":[{"role":"user","content":"hi"}]}`,
			Headers: map[string]string{
				"x-origin-verify":           originSecret,
				"cloudfront-viewer-address": fmt.Sprintf("198.51.100.%d:1", rng.IntN(100)),
			},
		}
		e.RequestContext.HTTP.Method = "POST"
		res, err := versions[i].Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		u, err := store.Usage(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		switch res.StatusCode {
		case 200:
			admitted[i]++
			if u.USD > versions[i].ceiling {
				t.Fatalf("version %d admitted a call above its ceiling: %+v", i, u)
			}
		case 429:
			refused[i]++
		default:
			t.Fatalf("%d %s", res.StatusCode, res.Body)
		}
		if u.USD != bill || u.Held != 0 {
			t.Fatalf("the ledger has %+v, the bill is %d", u, bill)
		}
	}
	if admitted[0] == 0 || admitted[1] == 0 || refused[0] == 0 || refused[1] == 0 {
		t.Errorf("admitted %v, refused %v: too little happened", admitted, refused)
	}
}
