package llm_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	openaisdk "github.com/openai/openai-go/v3"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/anthropic"
	"github.com/seed3e88d9a2/spendcap/llm/bedrock"
	"github.com/seed3e88d9a2/spendcap/llm/openai"
)

// upstream answers in the form of one API: a text, or a call of the tool weather if the
// user asks for it. It keeps the last request that it got.
func upstream(t *testing.T, text, tool string) (base string, last *string) {
	last = new(string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*last = string(body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(*last, "What is the weather?") {
			text = tool
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, last
}

// TestEveryFrontWithEveryProvider shows that both official SDKs get a text and a tool
// call from each upstream, whole and as a stream, with the usage of each.
func TestEveryFrontWithEveryProvider(t *testing.T) {
	const (
		openaiText    = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":5}}}`
		openaiTool    = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bern\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":5}}}`
		anthropicText = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":15,"cache_read_input_tokens":5,"output_tokens":7}}`
		anthropicTool = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Bern"}}],"stop_reason":"tool_use","usage":{"input_tokens":15,"cache_read_input_tokens":5,"output_tokens":7}}`
		bedrockText   = `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":15,"cacheReadInputTokens":5,"outputTokens":7,"totalTokens":27}}`
		bedrockTool   = `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"weather","input":{"city":"Bern"}}}]}},"stopReason":"tool_use","usage":{"inputTokens":15,"cacheReadInputTokens":5,"outputTokens":7,"totalTokens":27}}`
	)
	for name, c := range map[string]struct {
		text, tool string
		provider   func(base string) (llm.Provider, error)
	}{
		"openai":    {openaiText, openaiTool, func(b string) (llm.Provider, error) { return openai.New(openai.Config{BaseURL: b, APIKey: "k"}) }},
		"anthropic": {anthropicText, anthropicTool, func(b string) (llm.Provider, error) { return anthropic.New(anthropic.Config{BaseURL: b, APIKey: "k"}) }},
		"bedrock": {bedrockText, bedrockTool, func(b string) (llm.Provider, error) {
			return bedrock.New(bedrock.Config{AWS: aws.Config{Region: "eu-central-1", BaseEndpoint: &b, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
			})}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{"Hello", "What is the weather?"} {
				base, last := upstream(t, c.text, c.tool)
				p, err := c.provider(base)
				if err != nil {
					t.Fatal(err)
				}
				srv := front(t, p)
				chatClient, messagesClient := openaiClient(srv), anthropicClient(srv)
				asked := func(front string) {
					t.Helper()
					secret, prompt := strings.Index(*last, "Say nothing of this."), strings.Index(*last, "Be brief.")
					if secret < 0 || prompt < secret || !strings.Contains(*last, text) || !strings.Contains(*last, "Says the weather.") || !json.Valid([]byte(*last)) {
						t.Errorf("%s asked %s", front, *last)
					}
				}

				params := withTool(chatParams(text))
				params.StreamOptions.IncludeUsage = openaisdk.Bool(true)
				got, err := chatClient.Chat.Completions.New(context.Background(), params)
				if err != nil {
					t.Fatal(err)
				}
				asked("chat")
				stream := chatClient.Chat.Completions.NewStreaming(context.Background(), params)
				var all openaisdk.ChatCompletionAccumulator
				for stream.Next() {
					all.AddChunk(stream.Current())
				}
				for _, got := range []openaisdk.ChatCompletion{*got, all.ChatCompletion} {
					m := got.Choices[0].Message
					good := m.Content == "Hi" && got.Choices[0].FinishReason == "stop"
					if text != "Hello" {
						good = len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == "t1" && m.ToolCalls[0].Function.Name == "weather" &&
							m.ToolCalls[0].Function.Arguments == `{"city":"Bern"}` && got.Choices[0].FinishReason == "tool_calls"
					}
					if u := got.Usage; !good || u.PromptTokens != 20 || u.CompletionTokens != 7 || u.TotalTokens != 27 {
						t.Errorf("chat: %+v", got)
					}
				}
				if all.Usage.PromptTokensDetails.CachedTokens != 5 && got.Usage.PromptTokensDetails.CachedTokens != 5 {
					t.Errorf("chat: cached tokens of %+v", all.Usage)
				}

				message, err := messagesClient.Messages.New(context.Background(), messageParams(text))
				if err != nil {
					t.Fatal(err)
				}
				asked("messages")
				block := message.Content[0]
				good := block.Text == "Hi" && message.StopReason == "end_turn"
				if text != "Hello" {
					good = block.ID == "t1" && block.Name == "weather" && string(block.Input) == `{"city":"Bern"}` && message.StopReason == "tool_use"
				}
				if u := message.Usage; !good || u.InputTokens != 15 || u.CacheReadInputTokens != 5 || u.OutputTokens != 7 {
					t.Errorf("messages: %s", message.RawJSON())
				}
			}
		})
	}
}
