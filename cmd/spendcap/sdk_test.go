//go:build sdk

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The official SDKs for JavaScript and Python, which scripts/test installs into the
// folder that SPENDCAP_TEST_SDKS names, with nothing but their base URL changed.
func TestSDKs(t *testing.T) {
	sdks := os.Getenv("SPENDCAP_TEST_SDKS")
	if sdks == "" {
		t.Fatal("SPENDCAP_TEST_SDKS is not set; scripts/test installs the SDKs and sets it")
	}
	for _, file := range []string{"openai.mjs", "anthropic.mjs", "openai_sdk.py"} {
		t.Run(file, func(t *testing.T) {
			p := start(t, nil)
			program := "node"
			if strings.HasSuffix(file, ".py") {
				program = filepath.Join(sdks, "venv", "bin", "python")
			}
			cmd := exec.Command(program, filepath.Join(sdks, file))
			cmd.Env = append(os.Environ(), "SPENDCAP_EDGE="+p.edge, "SPENDCAP_LOSSY="+lossy(t, p.edge))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// lossy passes requests on to url and loses the first answer.
func lossy(t *testing.T, url string) string {
	var lost atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		req, err := http.NewRequest(r.Method, url+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if lost.CompareAndSwap(false, true) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
			return
		}
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		io.Copy(w, res.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func used(t *testing.T, edge string) int {
	t.Helper()
	res, err := client.Get(edge + "/api/cap")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body struct{ Calls struct{ Used int } }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.Calls.Used
}

const refusal = "You have used today's 10 calls. Try again in"

func TestOpenAIGoSDK(t *testing.T) {
	p := start(t, nil)
	ctx := context.Background()
	ask := openai.ChatCompletionNewParams{Model: "demo-small", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello.")}}
	chat := openai.NewClient(option.WithBaseURL(p.edge+"/api/v1"), option.WithAPIKey("none")).Chat.Completions

	answer, err := chat.New(ctx, ask)
	if err != nil || answer.Choices[0].Message.Content == "" || answer.Usage.PromptTokens < 1 {
		t.Fatalf("%+v %v", answer, err)
	}
	var sum openai.ChatCompletionAccumulator
	stream := chat.NewStreaming(ctx, ask)
	for stream.Next() {
		sum.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || sum.Choices[0].Message.Content != answer.Choices[0].Message.Content {
		t.Fatalf("%+v %v", sum, err)
	}
	tool := ask
	tool.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "get_weather", Parameters: openai.FunctionParameters{"type": "object"},
	})}
	tool.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	call, err := chat.New(ctx, tool)
	if err != nil || len(call.Choices[0].Message.ToolCalls) != 1 || call.Choices[0].Message.ToolCalls[0].Function.Name != "get_weather" {
		t.Fatalf("%+v %v", call, err)
	}

	before := used(t, p.edge)
	far := openai.NewClient(option.WithBaseURL(lossy(t, p.edge)+"/api/v1"), option.WithAPIKey("none")).Chat.Completions
	if _, err := far.New(ctx, ask, option.WithHeader("Idempotency-Key", "openai-go")); err != nil {
		t.Fatal(err)
	}
	if after := used(t, p.edge); after != before+1 {
		t.Errorf("%d calls are counted for one that was tried twice", after-before)
	}

	for range 10 - used(t, p.edge) {
		if _, err := chat.New(ctx, ask); err != nil {
			t.Fatal(err)
		}
	}
	_, err = chat.New(ctx, ask)
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 429 || !strings.Contains(refused.Message, refusal) {
		t.Errorf("%v, want 429 and the message", err)
	}
}

func TestAnthropicGoSDK(t *testing.T) {
	p := start(t, nil)
	ctx := context.Background()
	ask := anthropic.MessageNewParams{Model: "demo-small", MaxTokens: 200, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Say hello."))}}
	messages := anthropic.NewClient(anthropicoption.WithBaseURL(p.edge+"/api"), anthropicoption.WithAPIKey("none")).Messages

	answer, err := messages.New(ctx, ask)
	if err != nil || answer.Content[0].Text == "" || answer.Usage.InputTokens < 1 {
		t.Fatalf("%+v %v", answer, err)
	}
	var sum anthropic.Message
	stream := messages.NewStreaming(ctx, ask)
	for stream.Next() {
		if err := sum.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || sum.Content[0].Text != answer.Content[0].Text {
		t.Fatalf("%+v %v", sum, err)
	}
	tool := ask
	tool.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "get_weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]string{"type": "string"}}},
	}}}
	tool.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
	call, err := messages.New(ctx, tool)
	if err != nil || call.StopReason != "tool_use" || call.Content[len(call.Content)-1].Name != "get_weather" {
		t.Fatalf("%+v %v", call, err)
	}

	before := used(t, p.edge)
	far := anthropic.NewClient(anthropicoption.WithBaseURL(lossy(t, p.edge)+"/api"), anthropicoption.WithAPIKey("none")).Messages
	if _, err := far.New(ctx, ask, anthropicoption.WithHeader("Idempotency-Key", "anthropic-go")); err != nil {
		t.Fatal(err)
	}
	if after := used(t, p.edge); after != before+1 {
		t.Errorf("%d calls are counted for one that was tried twice", after-before)
	}

	for range 10 - used(t, p.edge) {
		if _, err := messages.New(ctx, ask); err != nil {
			t.Fatal(err)
		}
	}
	_, err = messages.New(ctx, ask)
	var refused *anthropic.Error
	if !errors.As(err, &refused) || refused.StatusCode != 429 || !strings.Contains(err.Error(), refusal) {
		t.Errorf("%v, want 429 and the message", err)
	}
}
