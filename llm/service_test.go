package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed3e88d9a2/spendcap/caps"
)

var (
	text  = &Response{ID: "gen-1", Parts: []Part{{Text: "Hi \"you\"\n"}}, Usage: &Usage{Input: 9, CachedInput: 3, Output: 4, Reasoning: 2}}
	tools = &Response{
		ID:     "gen-2",
		Parts:  []Part{{Text: "I look."}, {Kind: ToolCall, ID: "t1", Name: "weather", Arguments: `{"city":"Zürich"}`}, {Kind: ToolCall, ID: "t2", Name: "now", Arguments: "{}"}},
		Finish: FinishTools, Usage: &Usage{Input: 12, Output: 5},
	}
)

func answer(t *testing.T, front Front, members string, r *Response) *Answer {
	t.Helper()
	s := newService(t, testConfig(), &fake{features: everything, response: r})
	parse := s.ParseChatCompletions
	if front == Messages {
		parse = s.ParseMessages
	}
	call, err := parse([]byte(`{"model":"small",` + hello + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := call.Do(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnswers(t *testing.T) {
	const head = `{"id":"%s","object":"chat.completion","created":1800000000,"model":"small","choices":[{"index":0,"message":{"role":"assistant",`
	const usage1 = `"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}`
	const usage2 = `"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`
	refused := &Response{ID: "gen-3", Refusal: "No.", Finish: FinishStop, Usage: &Usage{Input: 12, Output: 5}}
	chunk := func(id, choices, usage string) string {
		return `data: {"id":"` + id + `","object":"chat.completion.chunk","created":1800000000,"model":"small","choices":[` + choices + `]` + usage + "}\n\n"
	}
	delta := func(d, finish string) string {
		return `{"index":0,"delta":{` + d + `},"logprobs":null,"finish_reason":` + finish + `}`
	}
	event := func(name, rest string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
	}
	const mhead = `{"id":"%s","type":"message","role":"assistant","model":"small","content":[`
	for _, c := range []struct {
		name     string
		front    Front
		members  string
		response *Response
		want     string
	}{
		{"a chat completion", ChatCompletions, ``, text,
			fmt.Sprintf(head, "gen-1") + `"content":"Hi \"you\"\n","refusal":null},"logprobs":null,"finish_reason":"stop"}],` + usage1 + `}`},
		{"tool calls", ChatCompletions, ``, tools,
			fmt.Sprintf(head, "gen-2") + `"content":"I look.","refusal":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}},` +
				`{"id":"t2","type":"function","function":{"name":"now","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` + usage2 + `}`},
		{"a tool call alone", ChatCompletions, ``, &Response{ID: "gen-2", Parts: tools.Parts[2:], Finish: FinishTools, Usage: tools.Usage},
			fmt.Sprintf(head, "gen-2") + `"content":null,"refusal":null,"tool_calls":[{"id":"t2","type":"function","function":{"name":"now","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` + usage2 + `}`},
		{"a refusal", ChatCompletions, ``, refused, fmt.Sprintf(head, "gen-3") + `"content":null,"refusal":"No."},"logprobs":null,"finish_reason":"stop"}],` + usage2 + `}`},
		{"cut off by a limit, usage unknown", ChatCompletions, ``, &Response{ID: "gen-4", Finish: FinishLength},
			fmt.Sprintf(head, "gen-4") + `"content":"","refusal":null},"logprobs":null,"finish_reason":"length"}]}`},
		{"filtered", ChatCompletions, ``, &Response{ID: "gen-4", Finish: FinishFilter},
			fmt.Sprintf(head, "gen-4") + `"content":"","refusal":null},"logprobs":null,"finish_reason":"content_filter"}]}`},

		{"chunks", ChatCompletions, `,"stream":true`, text,
			chunk("gen-1", delta(`"role":"assistant","content":"","refusal":null`, "null"), "") +
				chunk("gen-1", delta(`"content":"Hi \"you\"\n"`, "null"), "") +
				chunk("gen-1", delta(``, `"stop"`), "") + "data: [DONE]\n\n"},
		{"chunks with usage", ChatCompletions, `,"stream":true,"stream_options":{"include_usage":true}`, tools,
			chunk("gen-2", delta(`"role":"assistant","content":"","refusal":null`, "null"), `,"usage":null`) +
				chunk("gen-2", delta(`"content":"I look."`, "null"), `,"usage":null`) +
				chunk("gen-2", delta(`"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}}]`, "null"), `,"usage":null`) +
				chunk("gen-2", delta(`"tool_calls":[{"index":1,"id":"t2","type":"function","function":{"name":"now","arguments":"{}"}}]`, "null"), `,"usage":null`) +
				chunk("gen-2", delta(``, `"tool_calls"`), `,"usage":null`) +
				chunk("gen-2", ``, `,`+usage2) + "data: [DONE]\n\n"},
		{"chunks of a refusal", ChatCompletions, `,"stream":true`, refused,
			chunk("gen-3", delta(`"role":"assistant","content":"","refusal":null`, "null"), "") +
				chunk("gen-3", delta(`"refusal":"No."`, "null"), "") +
				chunk("gen-3", delta(``, `"stop"`), "") + "data: [DONE]\n\n"},

		{"a message", Messages, ``, text, fmt.Sprintf(mhead, "gen-1") + `{"type":"text","text":"Hi \"you\"\n"}],"stop_reason":"end_turn","stop_sequence":null,` +
			`"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":4}}`},
		{"tool uses", Messages, ``, tools, fmt.Sprintf(mhead, "gen-2") + `{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Zürich"}},` +
			`{"type":"tool_use","id":"t2","name":"now","input":{}}],"stop_reason":"tool_use","stop_sequence":null,` +
			`"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}}`},
		{"half a tool use", Messages, ``, &Response{ID: "gen-2", Parts: []Part{{Kind: ToolCall, ID: "t", Name: "f", Arguments: `{"a":`}}, Finish: FinishLength},
			fmt.Sprintf(mhead, "gen-2") + `{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"max_tokens","stop_sequence":null,` +
				`"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`},
		{"a message that refuses", Messages, ``, refused, fmt.Sprintf(mhead, "gen-3") + `{"type":"text","text":"No."}],"stop_reason":"refusal","stop_sequence":null,` +
			`"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}}`},
		{"a stop sequence", Messages, ``, &Response{ID: "gen-4", StopSequence: "END", Usage: &Usage{Input: 1}}, fmt.Sprintf(mhead, "gen-4") + `],"stop_reason":"stop_sequence","stop_sequence":"END",` +
			`"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`},
		{"events", Messages, `,"stream":true`, &Response{ID: "gen-2", Parts: []Part{{Text: "I look."}, {Text: ""}, {Kind: ToolCall, ID: "t1", Name: "f", Arguments: "{\n}"}}, Finish: FinishTools, Usage: tools.Usage},
			event("message_start", `,"message":`+fmt.Sprintf(mhead, "gen-2")+`],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}`) +
				event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`) +
				event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"I look."}`) +
				event("content_block_stop", `,"index":0`) +
				event("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}`) +
				event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{ }"}`) +
				event("content_block_stop", `,"index":1`) +
				event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}`) +
				event("message_stop", "")},
	} {
		a := answer(t, c.front, c.members, c.response)
		if string(a.Body) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, a.Body, c.want)
		}
		contentType := "application/json"
		if strings.Contains(c.members, "stream") {
			contentType = "text/event-stream"
		} else if !json.Valid(a.Body) {
			t.Errorf("%s: not valid JSON", c.name)
		}
		if a.ContentType != contentType {
			t.Errorf("%s: %s", c.name, a.ContentType)
		}
	}
}

func TestIDs(t *testing.T) {
	for given, want := range map[string]string{
		"chatcmpl-Abc_123":       `^"id":"chatcmpl-Abc_123"`,
		"":                       `^"id":"chatcmpl-[0-9a-f]{24}"`,
		"a\r\nb":                 `^"id":"chatcmpl-[0-9a-f]{24}"`,
		strings.Repeat("x", 129): `^"id":"chatcmpl-[0-9a-f]{24}"`,
	} {
		a := answer(t, ChatCompletions, ``, &Response{ID: given})
		if !regexp.MustCompile(want).Match(a.Body[1:]) {
			t.Errorf("%q: %s", given, a.Body)
		}
	}
}

func TestWhatACallCost(t *testing.T) {
	for _, c := range []struct {
		name    string
		usage   *Usage
		problem string
		cost    caps.MicroUSD
		known   bool
		want    string
	}{
		{"usual", &Usage{Input: 100, CachedInput: 10, Output: 20}, "", 28, true, ""}, // 15 + 0.75 + 12
		{"above its bounds", &Usage{Input: 1_000_000, Output: 1000}, "", 150_600, true, ""},
		{"none", nil, "", 0, false, "the upstream reported no usage"},
		{"none, for a reason", nil, "because", 0, false, "because"},
		{"one that cannot be", &Usage{Input: -5, Output: 3}, "", 0, false, "no usable usage: a number of tokens is negative or too large"},
		{"no input", &Usage{Output: 3}, "", 0, false, "no usable usage: there is no input"},
		{"one without a price", &Usage{Input: 5, CacheWrite: 3}, "", 0, false, "no usable usage: 3 tokens were written to the cache, and there is no price for that"},
	} {
		for _, front := range []Front{ChatCompletions, Messages} {
			a := answer(t, front, ``, &Response{ID: "g", Parts: text.Parts, Usage: c.usage, UsageProblem: c.problem})
			if a.Cost != c.cost || a.CostKnown != c.known || a.Problem != c.want || (a.Usage != nil) != c.known {
				t.Errorf("%s: %d, %v, %q, %+v", c.name, a.Cost, a.CostKnown, a.Problem, a.Usage)
			}
			if !strings.Contains(string(a.Body), `Hi \"you\"`) {
				t.Errorf("%s: the answer is lost: %s", c.name, a.Body)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	f := &fake{features: everything}
	call, err := newService(t, testConfig(), f).ParseChatCompletions([]byte(`{"model":"small",` + hello + `}`))
	if err != nil {
		t.Fatal(err)
	}
	f.err = fmt.Errorf("wrapped: %w", &UpstreamError{Status: 429, NothingSpent: true, Upstream: 429, Code: "slow_down", Message: "Later."})
	_, err = call.Do(context.Background())
	var e *UpstreamError
	if !errors.As(err, &e) || e.Status != 429 || !e.NothingSpent || e.Error() != "Later. (upstream status 429): slow_down" {
		t.Errorf("got %v", err)
	}
	f.err = errors.New("dial tcp 198.51.100.7:443: key sk-secret")
	_, err = call.Do(context.Background())
	if !errors.As(err, &e) || *e != (UpstreamError{Status: 502, Message: "The call failed."}) {
		t.Errorf("an error of another kind: %#v", err)
	}
	if f.got.Model != "small-2026" {
		t.Errorf("asked for %q", f.got.Model)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(testConfig(), nil); err == nil || !strings.Contains(err.Error(), "provider is missing") {
		t.Errorf("got %v", err)
	}
	c := testConfig()
	c.Models[0].Price.Input = 0
	if _, err := New(c, &fake{}); err == nil || !strings.Contains(err.Error(), "llm.models[0].input_usd_per_million: ") {
		t.Errorf("got %v", err)
	}
	c = testConfig()
	c.Temperature = &Range{0, 1.5}
	if _, err := New(c, &fake{features: Features{MaxTemperature: 1}}); err == nil || err.Error() != "llm.temperature.max: 1.5 is above 1, which is the most that the provider takes: lower it" {
		t.Errorf("got %v", err)
	}
}

func TestErrorBody(t *testing.T) {
	capped := map[string]any{"capped": true, "scope": "caller", "retryAfter": 60, "type": "mine", "error": "mine", "message": "mine"}
	for _, c := range []struct {
		name  string
		front Front
		f     Failure
		want  string
	}{
		{"plain", ChatCompletions, Failure{Status: 422, Code: "invalid_value", Param: "n", Message: "n: no."},
			`{"error":{"code":"invalid_value","message":"n: no.","param":"n","type":"invalid_request_error"}}`},
		{"capped", ChatCompletions, Failure{Status: 429, Code: "budget_exceeded", Message: "Enough.", Extra: map[string]any{"capped": true, "scope": "caller"}},
			`{"capped":true,"error":{"capped":true,"code":"budget_exceeded","message":"Enough.","param":null,"scope":"caller","type":"rate_limit_error"},"scope":"caller"}`},
		{"capped, Anthropic", Messages, Failure{Status: 429, Message: "Enough.", Extra: map[string]any{"capped": true, "scope": "global"}},
			`{"capped":true,"error":{"capped":true,"code":null,"message":"Enough.","param":null,"scope":"global","type":"rate_limit_error"},"scope":"global","type":"error"}`},
		{"the form wins over what is extra", Messages, Failure{Status: 413, Message: "Big.", Extra: capped},
			`{"capped":true,"error":{"capped":true,"code":null,"error":"mine","message":"Big.","param":null,"retryAfter":60,"scope":"caller","type":"request_too_large"},"message":"mine","retryAfter":60,"scope":"caller","type":"error"}`},
		{"without a form", ChatCompletions, Failure{Status: 503, Message: "Later.", Extra: map[string]any{"f": func() {}}},
			`{"error":{"code":null,"message":"Later.","param":null,"type":"server_error"}}`},
	} {
		if got := string(ErrorBody(c.front, c.f)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	for status, want := range map[int][2]string{
		401: {"authentication_error", "authentication_error"}, 403: {"permission_error", "permission_error"},
		404: {"invalid_request_error", "not_found_error"}, 409: {"invalid_request_error", "invalid_request_error"},
		413: {"invalid_request_error", "request_too_large"}, 422: {"invalid_request_error", "invalid_request_error"},
		429: {"rate_limit_error", "rate_limit_error"}, 502: {"server_error", "api_error"}, 503: {"server_error", "api_error"}, 504: {"server_error", "timeout_error"},
	} {
		for front, want := range want {
			if got := string(ErrorBody(Front(front), Failure{Status: status})); !strings.Contains(got, `"type":"`+want+`"`) {
				t.Errorf("%d: %s, want %s", status, got, want)
			}
		}
	}
}

func TestModels(t *testing.T) {
	c := testConfig()
	c.Models[1].Name = `la"rge`
	const want = `{"object":"list","data":[` +
		`{"id":"small","object":"model","created":0,"owned_by":"spendcap","type":"model","display_name":"small","created_at":"1970-01-01T00:00:00Z","max_input_tokens":8000,"max_tokens":300},` +
		`{"id":"la\"rge","object":"model","created":0,"owned_by":"spendcap","type":"model","display_name":"la\"rge","created_at":"1970-01-01T00:00:00Z","max_input_tokens":8000,"max_tokens":1000}` +
		`],"has_more":false,"first_id":"small","last_id":"la\"rge"}`
	if got := string(newService(t, c, &fake{features: everything}).Models()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é字😀", "\u2028\u2029", "<script>&amp;", "x\u2028", "\\u0041"} {
		b := appendString([]byte("x"), s)
		var got string
		if err := json.Unmarshal(b[1:], &got); err != nil || got != s {
			t.Errorf("%q became %s, read as %q, %v", s, b, got, err)
		}
		if strings.ContainsAny(string(b), "\n\r\u2028\u2029") {
			t.Errorf("%q became %q, which has a line break", s, b)
		}
	}
	if got := string(appendString(nil, "a\xff\xc3b\xe2\x80")); got != "\"a\uFFFD\uFFFDb\uFFFD\uFFFD\"" || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}
