package openai_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// The official SDK in a program of your own, with the cap around the call and nothing
// else of spendcap.
func Example_officialSDK() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`)
	}))
	defer upstream.Close()
	// One reservation pays for one attempt, so the SDK must not retry by itself.
	client := openai.NewClient(option.WithBaseURL(upstream.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))

	keyer, err := caps.NewKeyer([]byte(strings.Repeat("0123456789abcdef", 4)))
	if err != nil {
		log.Fatal(err)
	}
	guard, err := caps.NewGuard(caps.Config{Store: memory.New(nil), Keyer: keyer, Caller: caps.Budget{Name: "caller", Cap: caps.USD(50_000)}})
	if err != nil {
		log.Fatal(err)
	}
	price := llm.Price{Input: 150_000, Output: 600_000} // $0.15 and $0.60 per million tokens

	ask := func(ctx context.Context, viewer, prompt string) (string, error) {
		caller, err := caps.ViewerCaller(viewer)
		if err != nil {
			return "", err
		}
		const maxOutput, overhead = 300, 100
		worst, err := price.Cost(llm.Usage{Input: int64(len(prompt)) + overhead, Output: maxOutput}) // a token is at least a byte
		if err != nil {
			return "", err
		}
		res, err := guard.Reserve(ctx, caller, worst)
		if err != nil {
			return "", err
		}
		if !res.Allowed {
			return "", fmt.Errorf("that is all until %v", res.ResetAt)
		}
		answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model: "small", MaxCompletionTokens: openai.Int(maxOutput),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		})
		if err != nil {
			return "", err // what it cost is unknown: the hold stays
		}
		cost, err := price.Cost(llm.Usage{
			Input:       answer.Usage.PromptTokens - answer.Usage.PromptTokensDetails.CachedTokens,
			CachedInput: answer.Usage.PromptTokensDetails.CachedTokens,
			Output:      answer.Usage.CompletionTokens,
		})
		if err == nil {
			_, err = res.Settle(ctx, cost)
		}
		if err != nil {
			log.Print(err) // the hold stays
		}
		fmt.Printf("held $%s, cost $%s\n", worst, cost)
		return answer.Choices[0].Message.Content, nil
	}

	fmt.Println(ask(context.Background(), "198.51.100.10:46532", "Say hello."))
	// Output:
	// held $0.000197, cost $0.000004
	// Hello! <nil>
}
