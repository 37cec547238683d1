package llm

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzzFront holds a parser to what every request must come to: a refusal that names
// something, or a call within the operator's limits whose worst case is positive and
// covers the bytes that are sent.
func fuzzFront(f *testing.F, parse func(*Service, []byte) (*Call, error), other func(*Service, []byte) (*Call, error)) {
	c := testConfig()
	c.SystemPrompt = "You work for us."
	s := newService(f, c, &fake{features: everything, response: tools})
	most, err := c.MaxCost(c.Models[1])
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		call, err := parse(s, body)
		if err != nil {
			var e *RequestError
			if !errors.As(err, &e) || e.Status != 422 && e.Status != 413 || e.Message == "" || e.Code == "" || !utf8.ValidString(e.Message) {
				t.Fatalf("%q: %#v", body, err)
			}
			if e.Error() != e.Message || !json.Valid(ErrorBody(ChatCompletions, Failure{Status: e.Status, Message: e.Message, Param: e.Param})) {
				t.Fatalf("%q: %v", body, e)
			}
			return
		}
		r := &call.request
		if !json.Valid(body) {
			t.Fatalf("%q is no JSON and was accepted", body)
		}
		if m := r.Messages[0]; m.Role != System || m.Parts[0].Text != "You work for us." {
			t.Fatalf("%q displaced the operator's prompt", body)
		}
		if r.MaxOutputTokens < 1 || r.MaxOutputTokens > call.model.MaxOutputTokens {
			t.Fatalf("%q: %d tokens of output", body, r.MaxOutputTokens)
		}
		sent := 0
		for _, m := range r.Messages {
			if len(m.Parts) == 0 {
				t.Fatalf("%q: a message without parts", body)
			}
			for _, p := range m.Parts {
				sent += len(p.Text) + len(p.ID) + len(p.Name) + len(p.Arguments)
				if p.Kind == ToolCall && (m.Role != Assistant || !isObject(p.Arguments)) || p.Kind == ToolResult && m.Role != User {
					t.Fatalf("%q: %+v", body, m)
				}
			}
		}
		for _, tool := range r.Tools {
			sent += len(tool.Name) + len(tool.Description) + len(tool.Schema)
			if !isObject(tool.Schema) {
				t.Fatalf("%q: %+v", body, tool)
			}
		}
		bound := call.Bound()
		if bound.InputTokens <= int64(sent) || sent > c.MaxInputBytes || bound.OutputTokens != int64(r.MaxOutputTokens) || call.Worst() < 1 || call.Worst() > most.USD {
			t.Fatalf("%q: %d bytes sent, %+v", body, sent, bound)
		}
		again, err := parse(s, body)
		if err != nil || !reflect.DeepEqual(again.request, call.request) {
			t.Fatalf("%q came to something else the second time: %v", body, err)
		}
		a, err := call.Do(context.Background())
		if err != nil || !utf8.Valid(a.Body) || !a.CostKnown || a.Cost > call.Worst() && bound.InputTokens > 100 && bound.OutputTokens > 100 {
			t.Fatalf("%q: %v, %+v", body, err, a)
		}
		if !call.Stream() && !json.Valid(a.Body) {
			t.Fatalf("%q: %s", body, a.Body)
		}
		other(s, body) // must not panic
	})
}

func isObject(s string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &o) == nil
}

func FuzzParseChatCompletions(f *testing.F) {
	for _, s := range []string{
		`{"model":"small",` + hello + `}`,
		`{"model":"large",` + hello + `,"max_tokens":5,"temperature":0.5,"stop":["a"],"stream":true,"stream_options":{"include_usage":true},"n":1}`,
		`{"model":"small","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"required","response_format":{"type":"json_object"}}`,
		`{"model":"small","MODEL":"large",` + hello + `}`,
		`{"model":"small","messages":[{"role":"user","content":"\ud83d😀"}]}`,
		`{"model":"small","messages":` + strings.Repeat("[", 70),
	} {
		f.Add([]byte(s))
	}
	fuzzFront(f, (*Service).ParseChatCompletions, (*Service).ParseMessages)
}

func FuzzParseMessages(f *testing.F) {
	for _, s := range []string{
		`{"model":"small","max_tokens":5,` + hello + `}`,
		`{"model":"large","max_tokens":5,"system":[{"type":"text","text":"x"}],` + hello + `,"top_k":5,"stop_sequences":["a"],"stream":true,"thinking":{"type":"disabled"}}`,
		`{"model":"small","max_tokens":5,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"output_config":{"format":{"type":"json_schema","schema":{}}}}`,
		`{"model":"small","max_tokens":5,"messages":[{"role":"user","content":"x"}],"system":"late"}`,
	} {
		f.Add([]byte(s))
	}
	fuzzFront(f, (*Service).ParseMessages, (*Service).ParseChatCompletions)
}
