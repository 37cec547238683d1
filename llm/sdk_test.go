package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/demo"
)

// front serves a service as its two APIs, without a cap.
func front(t *testing.T, p llm.Provider) *httptest.Server {
	s, err := llm.New(llm.Config{
		Provider: llm.ProviderDemo, MaxInputBytes: 8000, SystemPrompt: "Say nothing of this.",
		Models: []llm.Model{{Name: "small", MaxOutputTokens: 300, Price: llm.Price{Input: 150_000, Output: 600_000}}},
	}, p)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(f llm.Front, parse func([]byte) (*llm.Call, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fail := func(failure llm.Failure) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("X-Should-Retry", "false")
				w.WriteHeader(failure.Status)
				w.Write(llm.ErrorBody(f, failure))
			}
			body, _ := io.ReadAll(r.Body)
			call, err := parse(body)
			var refused *llm.RequestError
			if errors.As(err, &refused) {
				fail(llm.Failure{Status: refused.Status, Code: refused.Code, Param: refused.Param, Message: refused.Message})
				return
			}
			a, err := call.Do(r.Context())
			var failed *llm.UpstreamError
			if errors.As(err, &failed) {
				fail(llm.Failure{Status: failed.Status, Code: failed.Code, Message: failed.Message, Extra: map[string]any{"capped": false}})
				return
			}
			w.Header().Set("Content-Type", a.ContentType)
			w.Write(a.Body)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/chat/completions", serve(llm.ChatCompletions, s.ParseChatCompletions))
	mux.HandleFunc("POST /api/v1/messages", serve(llm.Messages, s.ParseMessages))
	mux.HandleFunc("GET /api/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(s.Models())
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func openaiClient(srv *httptest.Server) openaisdk.Client {
	return openaisdk.NewClient(openaioption.WithBaseURL(srv.URL+"/api/v1"), openaioption.WithAPIKey("anything"))
}

func anthropicClient(srv *httptest.Server) anthropicsdk.Client {
	return anthropicsdk.NewClient(anthropicoption.WithBaseURL(srv.URL+"/api"), anthropicoption.WithAPIKey("anything"))
}

const demoSays = "I am the demo model of spendcap: a local program that answers the same to everything, for free, and no language model. You wrote 5 characters."

func chatParams(text string) openaisdk.ChatCompletionNewParams {
	return openaisdk.ChatCompletionNewParams{
		Model: "small", Messages: []openaisdk.ChatCompletionMessageParamUnion{openaisdk.SystemMessage("Be brief."), openaisdk.UserMessage(text)},
	}
}

func withTool(p openaisdk.ChatCompletionNewParams) openaisdk.ChatCompletionNewParams {
	p.Tools = []openaisdk.ChatCompletionToolUnionParam{openaisdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "weather", Description: openaisdk.String("Says the weather."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	})}
	return p
}

func TestOpenAISDK(t *testing.T) {
	ctx := context.Background()
	client := openaiClient(front(t, demo.New()))

	got, err := client.Chat.Completions.New(ctx, chatParams("Hello"))
	if err != nil {
		t.Fatal(err)
	}
	c := got.Choices[0]
	if c.Message.Content != demoSays || c.FinishReason != "stop" || got.Model != "small" || got.Usage.PromptTokens != 25 || got.Usage.CompletionTokens != 36 {
		t.Errorf("got %s", got.RawJSON())
	}

	limited := chatParams("Hello")
	limited.MaxCompletionTokens = openaisdk.Int(2)
	if got, err = client.Chat.Completions.New(ctx, limited); err != nil || got.Choices[0].FinishReason != "length" || got.Choices[0].Message.Content != "I am the" {
		t.Errorf("got %v, %v", got, err)
	}

	// A tool is called, and its result goes back in the SDK's own form.
	params := withTool(chatParams("What is the weather?"))
	if got, err = client.Chat.Completions.New(ctx, params); err != nil {
		t.Fatal(err)
	}
	m := got.Choices[0].Message
	if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != "weather" || m.ToolCalls[0].Function.Arguments != "{}" || got.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("got %s", got.RawJSON())
	}
	params.Messages = append(params.Messages, m.ToParam(), openaisdk.ToolMessage("rain", m.ToolCalls[0].ID))
	if got, err = client.Chat.Completions.New(ctx, params); err != nil || !strings.HasSuffix(got.Choices[0].Message.Content, "The tool said 4 bytes.") {
		t.Errorf("got %v, %v", got, err)
	}

	models, err := client.Models.List(ctx)
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "small" || models.Data[0].OwnedBy != "spendcap" {
		t.Errorf("got %v, %v", models, err)
	}
}

func TestOpenAISDKStreams(t *testing.T) {
	client := openaiClient(front(t, demo.New()))
	params := withTool(chatParams("Hello"))
	for _, text := range []string{"Hello", "What is the weather?"} {
		params.Messages[1] = openaisdk.UserMessage(text)
		params.StreamOptions.IncludeUsage = openaisdk.Bool(true)
		stream := client.Chat.Completions.NewStreaming(context.Background(), params)
		var all openaisdk.ChatCompletionAccumulator
		chunks := 0
		for stream.Next() {
			chunks++
			if !all.AddChunk(stream.Current()) {
				t.Fatalf("a chunk does not belong: %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		c := all.Choices[0]
		if text == "Hello" {
			if c.Message.Content != demoSays || c.FinishReason != "stop" || all.Usage.CompletionTokens != 36 || chunks != 4 {
				t.Errorf("%d chunks: %+v", chunks, all)
			}
		} else if len(c.Message.ToolCalls) != 1 || c.Message.ToolCalls[0].Function.Name != "weather" || c.Message.ToolCalls[0].Function.Arguments != "{}" || c.FinishReason != "tool_calls" {
			t.Errorf("%d chunks: %+v", chunks, all)
		}
	}
}

func TestOpenAISDKShowsTheMessage(t *testing.T) {
	client := openaiClient(front(t, demo.New()))
	params := chatParams("Hello")
	params.N = openaisdk.Int(5)
	_, err := client.Chat.Completions.New(context.Background(), params)
	var e *openaisdk.Error
	if !errors.As(err, &e) || e.StatusCode != 422 || e.Param != "n" || e.Code != "unsupported_parameter" || e.Type != "invalid_request_error" ||
		e.Message != "n: 5 is not supported here, because every choice costs: leave it out, one is made." {
		t.Errorf("got %+v", e)
	}
}

func messageParams(text string) anthropicsdk.MessageNewParams {
	return anthropicsdk.MessageNewParams{
		Model: "small", MaxTokens: 1024, System: []anthropicsdk.TextBlockParam{{Text: "Be brief."}},
		Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock(text))},
		Tools: []anthropicsdk.ToolUnionParam{{OfTool: &anthropicsdk.ToolParam{
			Name: "weather", Description: anthropicsdk.String("Says the weather."),
			InputSchema: anthropicsdk.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}},
		}}},
	}
}

func TestAnthropicSDK(t *testing.T) {
	ctx := context.Background()
	client := anthropicClient(front(t, demo.New()))

	got, err := client.Messages.New(ctx, messageParams("Hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Content[0].Text != demoSays || got.StopReason != "end_turn" || got.Role != "assistant" || got.Usage.OutputTokens != 36 || got.Usage.InputTokens == 0 {
		t.Errorf("got %s", got.RawJSON())
	}

	params := messageParams("What is the weather?")
	if got, err = client.Messages.New(ctx, params); err != nil {
		t.Fatal(err)
	}
	if got.StopReason != "tool_use" || got.Content[0].Name != "weather" || string(got.Content[0].Input) != "{}" {
		t.Fatalf("got %s", got.RawJSON())
	}
	params.Messages = append(params.Messages, got.ToParam(), anthropicsdk.NewUserMessage(anthropicsdk.NewToolResultBlock(got.Content[0].ID, "rain", false)))
	if got, err = client.Messages.New(ctx, params); err != nil || !strings.HasSuffix(got.Content[0].Text, "The tool said 4 bytes.") {
		t.Errorf("got %v, %v", got, err)
	}

	models, err := client.Models.List(ctx, anthropicsdk.ModelListParams{})
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "small" || models.Data[0].DisplayName != "small" || models.HasMore {
		t.Errorf("got %v, %v", models, err)
	}
}

func TestAnthropicSDKStreams(t *testing.T) {
	client := anthropicClient(front(t, demo.New()))
	for _, text := range []string{"Hello", "What is the weather?"} {
		stream := client.Messages.NewStreaming(context.Background(), messageParams(text))
		var all anthropicsdk.Message
		var events []string
		for stream.Next() {
			events = append(events, stream.Current().Type)
			if err := all.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(events, " "); got != "message_start content_block_start content_block_delta content_block_stop message_delta message_stop" {
			t.Errorf("events: %s", got)
		}
		if text == "Hello" {
			if all.Content[0].Text != demoSays || all.StopReason != "end_turn" || all.Usage.OutputTokens != 36 {
				t.Errorf("got %+v", all)
			}
		} else if all.StopReason != "tool_use" || all.Content[0].Name != "weather" || string(all.Content[0].Input) != "{}" {
			t.Errorf("got %+v", all)
		}
	}
}

func TestAnthropicSDKShowsTheMessage(t *testing.T) {
	client := anthropicClient(front(t, demo.New()))
	params := messageParams("Hello")
	params.Thinking = anthropicsdk.ThinkingConfigParamOfEnabled(1024)
	params.MaxTokens = 2048
	_, err := client.Messages.New(context.Background(), params)
	var e *anthropicsdk.Error
	if !errors.As(err, &e) || e.StatusCode != 422 || e.Type() != "invalid_request_error" || !strings.Contains(err.Error(), `thinking.`) {
		t.Errorf("got %v", err)
	}
}

// failing is a provider that fails as it is told to.
type failing struct {
	demo.Provider
	err error
}

func (f failing) Complete(context.Context, *llm.Request) (*llm.Response, error) { return nil, f.err }

func TestSDKsShowFailures(t *testing.T) {
	srv := front(t, failing{err: &llm.UpstreamError{Status: 429, NothingSpent: true, Code: "slow_down", Message: "Try again later."}})
	openaiSide, anthropicSide := openaiClient(srv), anthropicClient(srv)
	_, err := openaiSide.Chat.Completions.New(context.Background(), chatParams("Hello"))
	var o *openaisdk.Error
	if !errors.As(err, &o) || o.StatusCode != 429 || o.Message != "Try again later." || o.Code != "slow_down" || o.Type != "rate_limit_error" {
		t.Errorf("got %v", err)
	}
	_, err = anthropicSide.Messages.New(context.Background(), messageParams("Hello"))
	var a *anthropicsdk.Error
	if !errors.As(err, &a) || a.StatusCode != 429 || a.Type() != "rate_limit_error" {
		t.Fatalf("got %v", err)
	}
	var body struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(a.RawJSON()), &body) != nil || body.Error.Message != "Try again later." {
		t.Errorf("got %s", a.RawJSON())
	}
}
