package demo_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/demo"
)

func user(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}}
}

const says = "I am the demo model of spendcap: a local program that answers the same to everything, for free, and no language model."

func TestComplete(t *testing.T) {
	tools := []llm.Tool{{Name: "now"}, {Name: "weather"}}
	call := func(name string) []llm.Part {
		return []llm.Part{{Kind: llm.ToolCall, ID: "call_demo_1", Name: name, Arguments: "{}"}}
	}
	text := func(s string) []llm.Part { return []llm.Part{{Text: s}} }
	for _, c := range []struct {
		name    string
		request llm.Request
		want    llm.Response
	}{
		{"it says what it is", llm.Request{Messages: []llm.Message{user("Hi 😀")}, MaxOutputTokens: 300},
			llm.Response{Parts: text(says + " You wrote 4 characters."), Usage: &llm.Usage{Input: 9, Output: 36}}},
		{"the output limit", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 1},
			llm.Response{Parts: text("I am"), Finish: llm.FinishLength, Usage: &llm.Usage{Input: 8, Output: 1}}},
		{"a stop sequence", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 300, Stop: []string{"no such thing", " demo"}},
			llm.Response{Parts: text("I am the"), StopSequence: " demo", Usage: &llm.Usage{Input: 8, Output: 2}}},
		{"a stop sequence beyond the limit", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 1, Stop: []string{" demo"}},
			llm.Response{Parts: text("I am"), Finish: llm.FinishLength, Usage: &llm.Usage{Input: 8, Output: 1}}},
		{"no need of a tool", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 300, Tools: tools[:1]},
			llm.Response{Parts: text(says + " You wrote 2 characters."), Usage: &llm.Usage{Input: 17, Output: 36}}},
		{"a tool that is named", llm.Request{Messages: []llm.Message{user("weather?")}, MaxOutputTokens: 300, Tools: tools},
			llm.Response{Parts: call("weather"), Finish: llm.FinishTools, Usage: &llm.Usage{Input: 28, Output: 6}}},
		{"a tool that is named in vain", llm.Request{Messages: []llm.Message{user("weather?")}, MaxOutputTokens: 300, Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNone}},
			llm.Response{Parts: text(says + " You wrote 8 characters."), Usage: &llm.Usage{Input: 28, Output: 36}}},
		{"some tool", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 3, Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolsRequired}},
			llm.Response{Parts: call("now"), Finish: llm.FinishTools, Usage: &llm.Usage{Input: 27, Output: 3}}},
		{"a certain tool", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 300, Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNamed, Name: "weather"}},
			llm.Response{Parts: call("weather"), Finish: llm.FinishTools, Usage: &llm.Usage{Input: 27, Output: 6}}},
		{"the result of a tool", llm.Request{Messages: []llm.Message{user("weather?"), {Role: llm.Assistant, Parts: call("weather")}, {Role: llm.User, Parts: []llm.Part{{Kind: llm.ToolResult, ID: "call_demo_1", Text: "rain"}}}}, MaxOutputTokens: 300, Tools: tools},
			llm.Response{Parts: text(says + " The tool said 4 bytes."), Usage: &llm.Usage{Input: 40, Output: 36}}},
		{"JSON", llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 300, Format: &llm.Format{}},
			llm.Response{Parts: text(`{"demo":true}`), Usage: &llm.Usage{Input: 8, Output: 4}}},
		{"after the assistant", llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Parts: text("weather")}}, MaxOutputTokens: 300, Tools: tools},
			llm.Response{Parts: text(says + " You wrote 0 characters."), Usage: &llm.Usage{Input: 28, Output: 36}}},
	} {
		for range 2 {
			got, err := demo.New().Complete(context.Background(), &c.request)
			if err != nil || !reflect.DeepEqual(*got, c.want) {
				t.Errorf("%s:\n%+v %+v, %v\nwant\n%+v %+v", c.name, got, got.Usage, err, c.want, c.want.Usage)
			}
			if err := got.Usage.Check(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestNoCharacterIsCut shows that a limit in the middle of a character takes it whole.
func TestNoCharacterIsCut(t *testing.T) {
	for limit := 1; limit < 40; limit++ {
		r := llm.Request{Messages: []llm.Message{user(strings.Repeat("é", 50))}, MaxOutputTokens: limit}
		got, err := demo.New().Complete(context.Background(), &r)
		if err != nil || got.Usage.Output > int64(limit) || strings.ToValidUTF8(got.Parts[0].Text, "") != got.Parts[0].Text {
			t.Errorf("%d: %+v, %v", limit, got, err)
		}
	}
}

func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := demo.New().Complete(ctx, &llm.Request{Messages: []llm.Message{user("Hi")}, MaxOutputTokens: 1})
	var e *llm.UpstreamError
	if !errors.As(err, &e) || !e.NothingSpent {
		t.Errorf("got %v", err)
	}
}
