package llm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/demo"
)

// A request of an OpenAI client, guarded: reserve the worst case, call, settle the truth.
func Example() {
	input, _ := llm.ParseRate("0.15") // dollars per million tokens
	output, _ := llm.ParseRate("0.60")
	service, err := llm.New(llm.Config{
		Provider: llm.ProviderDemo, MaxInputBytes: 8000,
		Models: []llm.Model{{Name: "demo-small", MaxOutputTokens: 300, Price: llm.Price{Input: input, Output: output}}},
	}, demo.New())
	if err != nil {
		panic(err)
	}
	keyer, err := caps.NewKeyer([]byte(strings.Repeat("k", caps.MinSecretBytes)))
	if err != nil {
		panic(err)
	}
	guard, err := caps.NewGuard(caps.Config{
		Store: memory.New(nil), Keyer: keyer,
		Caller: caps.Budget{Name: "caller", Cap: caps.USD(50_000)}, // five cents a day
	})
	if err != nil {
		panic(err)
	}
	caller, err := caps.ViewerCaller("198.51.100.10:443")
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	call, err := service.ParseChatCompletions([]byte(`{"model":"demo-small","messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		panic(err) // a *llm.RequestError, which says what is wrong with it
	}
	res, err := guard.Reserve(ctx, caller, call.Worst())
	if err != nil || !res.Allowed {
		panic("do not call")
	}
	answer, err := call.Do(ctx)
	var failed *llm.UpstreamError
	switch {
	case errors.As(err, &failed) && failed.NothingSpent:
		res.Release(ctx)
	case err == nil && answer.CostKnown:
		res.Settle(ctx, answer.Cost)
	} // anything else may have cost something: the hold stays
	if err == nil {
		fmt.Println(call.Worst(), "held,", answer.Cost, "settled")
	}
	// Output: 0.000260 held, 0.000023 settled
}
