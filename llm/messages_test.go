package llm

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseMessages(t *testing.T) {
	user := func(text string) Message { return Message{Role: User, Parts: []Part{{Text: text}}} }
	base := func(change func(*Request)) Request {
		r := Request{Model: "small-2026", MaxOutputTokens: 300, Messages: []Message{user("Hello")}}
		if change != nil {
			change(&r)
		}
		return r
	}
	for _, c := range []struct {
		name, body string
		want       Request
	}{
		{"the least", `{"model":"small","max_tokens":300,` + hello + `}`, base(nil)},
		{"without a limit", `{"model":"small",` + hello + `}`, base(nil)},
		{"a limit", `{"model":"small","max_tokens":9,` + hello + `}`, base(func(r *Request) { r.MaxOutputTokens = 9 })},
		{"what only says the default, or who is asking", `{"model":"small","max_tokens":1024,` + hello + `,"metadata":{"user_id":"u"},"service_tier":"auto","speed":"standard",
			"thinking":{"type":"disabled"},"stream":false,"stop_sequences":[],"system":null,"tools":null,"tool_choice":null,"temperature":null,"top_p":null,"top_k":null,
			"cache_control":null,"container":null,"mcp_servers":null,"inference_geo":null,"context_management":null,"output_config":null}`, base(nil)},
		{"how to sample", `{"model":"small","max_tokens":300,` + hello + `,"temperature":1.0,"top_p":0.9,"top_k":5,"stop_sequences":["a","b"]}`, base(func(r *Request) {
			r.Temperature, r.TopP, r.TopK, r.Stop = pointer(1.0), pointer(0.9), pointer(int64(5)), []string{"a", "b"}
		})},
		{"a system prompt, after the messages", `{"model":"small","max_tokens":300,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"system":"Be brief."}`, base(func(r *Request) {
			r.Messages = []Message{
				{Role: System, Parts: []Part{{Text: "Be brief."}}},
				user("a"),
				{Role: Assistant, Parts: []Part{{Text: "b"}}},
			}
		})},
		{"a conversation", `{"model":"small","max_tokens":300,"system":[{"type":"text","text":"One."},{"type":"text","text":"Two."}],"messages":[
			{"role":"user","content":[{"type":"text","text":"Weather?"}]},
			{"role":"assistant","content":[{"type":"text","text":"I look.","citations":null},{"type":"tool_use","id":"t1","name":"weather","input":{"city": "Zürich"}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"ra"},{"type":"text","text":"in"}]},
				{"type":"tool_result","tool_use_id":"t2","is_error":true},
				{"type":"tool_result","tool_use_id":"t3","content":"x","is_error":false},
				{"type":"text","text":"So?"}]}]}`,
			base(func(r *Request) {
				r.Messages = []Message{
					{Role: System, Parts: []Part{{Text: "One."}, {Text: "Two."}}},
					user("Weather?"),
					{Role: Assistant, Parts: []Part{{Text: "I look."}, {Kind: ToolCall, ID: "t1", Name: "weather", Arguments: `{"city": "Zürich"}`}}},
					{Role: User, Parts: []Part{
						{Kind: ToolResult, ID: "t1", Text: "rain"},
						{Kind: ToolResult, ID: "t2", IsError: true},
						{Kind: ToolResult, ID: "t3", Text: "x"},
						{Text: "So?"},
					}},
				}
			})},
		{"tools", `{"model":"small","max_tokens":300,` + hello + `,"tool_choice":{"type":"tool","name":"now","disable_parallel_tool_use":true},"tools":[
			{"name":"weather","description":"Says it.","strict":true,"input_schema":{"type":"object","properties":{"city":{"type":"string"}}}},
			{"type":"custom","name":"now","input_schema":{"type":"object"}}]}`,
			base(func(r *Request) {
				r.ParallelToolCalls, r.ToolChoice = pointer(false), ToolChoice{ToolsNamed, "now"}
				r.Tools = []Tool{
					{Name: "weather", Description: "Says it.", Strict: pointer(true), Schema: `{"type":"object","properties":{"city":{"type":"string"}}}`},
					{Name: "now", Schema: `{"type":"object"}`},
				}
			})},
		{"any tool", `{"model":"small","max_tokens":300,` + hello + `,"tool_choice":{"type":"any"},"tools":[{"name":"now","input_schema":{}}]}`,
			base(func(r *Request) {
				r.ToolChoice, r.Tools = ToolChoice{Mode: ToolsRequired}, []Tool{{Name: "now", Schema: `{}`}}
			})},
		{"JSON by a schema", `{"model":"small","max_tokens":300,` + hello + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`,
			base(func(r *Request) { r.Format = &Format{Name: "answer", Schema: `{"type":"object"}`} })},
	} {
		call, err := testService(t).ParseMessages([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(c.want.Stop) == 0 {
			call.request.Stop = nil
		}
		if !reflect.DeepEqual(call.request, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, show(call.request), show(c.want))
		}
	}
}

func TestMessagesRefusals(t *testing.T) {
	with := func(members string) string { return `{"model":"small","max_tokens":5,` + hello + `,` + members + `}` }
	message := func(m string) string { return `{"model":"small","max_tokens":5,"messages":[` + m + `]}` }
	block := func(b string) string { return message(`{"role":"user","content":[` + b + `]}`) }
	tool := func(f string) string { return with(`"tools":[` + f + `]`) }
	const priced = "is not supported here, because it may change the price: leave it out."
	const cache = "is not supported here, because writes to a cache have a price of their own: leave it out."
	kind := func(k string) string {
		return `messages[0].content[0].type: "` + k + `" is not supported here: only text, tool_use and tool_result are.`
	}
	for _, c := range []struct{ body, code, param, text string }{
		{`{"model":"small","max_tokens":5}`, CodeMissing, "messages", "messages is missing or empty: send at least one message."},
		{`{"model":"small","max_tokens":5,"system":"x","messages":[]}`, CodeMissing, "messages", "messages is missing or empty: send at least one message."},
		{`{"model":"x","max_tokens":5,` + hello + `}`, CodeModel, "model", `The model "x" is not offered here. There are: small, large.`},
		{`{"model":"small","max_tokens":0,` + hello + `}`, CodeInvalid, "max_tokens", "max_tokens: 0 is not positive: ask for at least 1 token."},
		{with(`"Max_Tokens":5`), CodeUnsupported, "Max_Tokens", "Max_Tokens: is not supported here: leave it out."},
		{with(`"max_tokens":6`), CodeInvalid, "max_tokens", "max_tokens: given twice: keep one."},
		{with(`"temperature":1.1`), CodeInvalid, "temperature", "temperature: 1.1 is not between 0 and 1."},
		{with(`"top_k":-1`), CodeInvalid, "top_k", "top_k: -1 is negative."},
		{with(`"stop_sequences":"x"`), CodeInvalid, "stop_sequences", "stop_sequences: has to be an array, not a string."},
		{with(`"thinking":{"type":"enabled","budget_tokens":1024}`), CodeUnsupported, "thinking.type", `thinking.type: "enabled" is not supported here: leave it out.`},
		{with(`"thinking":{"type":"adaptive"}`), CodeUnsupported, "thinking.type", `thinking.type: "adaptive" is not supported here: leave it out.`},
		{with(`"thinking":{"display":"x"}`), CodeUnsupported, "thinking.display", "thinking.display: is not supported here: leave it out."},
		{with(`"service_tier":"priority"`), CodeUnsupported, "service_tier", `service_tier: "priority" is not supported here: leave it out.`},
		{with(`"speed":"fast"`), CodeUnsupported, "speed", `speed: "fast" is not supported here: leave it out.`},
		{with(`"cache_control":{"type":"ephemeral"}`), CodeUnsupported, "cache_control", "cache_control: " + priced},
		{with(`"container":"c"`), CodeUnsupported, "container", "container: " + priced},
		{with(`"mcp_servers":[]`), CodeUnsupported, "mcp_servers", "mcp_servers: " + priced},
		{with(`"inference_geo":"us"`), CodeUnsupported, "inference_geo", "inference_geo: " + priced},
		{with(`"context_management":{"edits":[]}`), CodeUnsupported, "context_management", "context_management: is not supported here, because only what is sent is passed on: leave it out."},
		{with(`"output_config":{"effort":"max"}`), CodeUnsupported, "output_config.effort", "output_config.effort: is not supported here: leave it out."},
		{with(`"output_config":{"format":{"type":"json_schema"}}`), CodeMissing, "output_config.format", "output_config.format: a format has a type, json_schema, and a schema."},
		{with(`"diagnostics":{}`), CodeUnsupported, "diagnostics", "diagnostics: is not supported here: leave it out."},
		{with(`"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]`), CodeUnsupported, "system[0].cache_control", "system[0].cache_control: " + cache},
		{with(`"system":[{"type":"tool_use","id":"a","name":"b","input":{}}]`), CodeInvalid, "system[0]", "system[0]: only text may stand here, not tool_use."},

		{message(`{"role":"system","content":"x"}`), CodeUnsupported, "messages[0].role", `messages[0].role: "system" is not supported here: use the member system of the request.`},
		{message(`{"role":"tool","content":"x"}`), CodeInvalid, "messages[0].role", `messages[0].role: "tool" is neither user nor assistant.`},
		{message(`{"content":"x"}`), CodeMissing, "messages[0]", "messages[0]: role is missing: user or assistant."},
		{message(`{"role":"user"}`), CodeMissing, "messages[0]", "messages[0]: content is missing or empty: send a text."},
		{message(`{"role":"user","content":""}`), CodeMissing, "messages[0]", "messages[0]: content is missing or empty: send a text."},
		{message(`{"role":"user","content":[]}`), CodeMissing, "messages[0]", "messages[0]: content is missing or empty: send a text."},
		{message(`{"role":"user","content":"x","name":"n"}`), CodeUnsupported, "messages[0].name", "messages[0].name: is not supported here: leave it out."},
		{block(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`), CodeUnsupported, "messages[0].content[0].type", kind("image")},
		{block(`{"source":{"type":"url"},"type":"image"}`), CodeUnsupported, "messages[0].content[0].source", "messages[0].content[0].source: is not supported here, because only text is: leave it out."},
		{block(`{"type":"document","source":{}}`), CodeUnsupported, "messages[0].content[0].type", kind("document")},
		{block(`{"type":"thinking","thinking":"x","signature":"y"}`), CodeUnsupported, "messages[0].content[0].type", kind("thinking")},
		{block(`{"type":"server_tool_use","id":"a"}`), CodeUnsupported, "messages[0].content[0].type", kind("server_tool_use")},
		{block(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`), CodeUnsupported, "messages[0].content[0].cache_control", "messages[0].content[0].cache_control: " + cache},
		{block(`{"type":"text","text":"x","citations":[{"type":"char_location"}]}`), CodeUnsupported, "messages[0].content[0].citations", "messages[0].content[0].citations: is not supported here: leave it out."},
		{block(`{"type":"text"}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: text is missing."},
		{block(`{"text":"x"}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: type is missing."},
		{block(`{"type":"tool_result"}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: tool_use_id is missing: say which call this is the result of."},
		{block(`{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{}}]}`), CodeUnsupported, "messages[0].content[0].content[0].type", `messages[0].content[0].content[0].type: "image" is not supported here: only text, tool_use and tool_result are.`},
		{block(`{"type":"tool_use","id":"t","name":"n","input":{}}`), CodeInvalid, "messages[0]", "messages[0]: tool_use belongs to the assistant's messages and tool_result to the user's."},
		{message(`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n"}]}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: a tool_use has an id, a name and an input."},
		{message(`{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":[]}]}`), CodeInvalid, "messages[0].content[0].input", "messages[0].content[0].input: has to be an object, not an array."},

		{tool(`{"type":"web_search_20250305","name":"web_search"}`), CodeUnsupported, "tools[0].type", `tools[0].type: "web_search_20250305" is not supported here: leave it out.`},
		{tool(`{"type":"bash_20250124","name":"bash"}`), CodeUnsupported, "tools[0].type", `tools[0].type: "bash_20250124" is not supported here: leave it out.`},
		{tool(`{"name":"f"}`), CodeMissing, "tools[0]", "tools[0]: input_schema is missing."},
		{tool(`{"input_schema":{}}`), CodeMissing, "tools[0]", "tools[0]: the name of the tool is missing."},
		{tool(`{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"}}`), CodeUnsupported, "tools[0].cache_control", "tools[0].cache_control: " + cache},
		{with(`"tool_choice":{"type":"any"}`), CodeInvalid, "tool_choice", "tool_choice: there are no tools to choose from: send tools, or leave it out."},
		{with(`"tool_choice":{"type":"required"}`), CodeInvalid, "tool_choice.type", `tool_choice.type: "required" is none of auto, any, tool, none.`},
		{with(`"tool_choice":{"type":"tool"}`), CodeMissing, "tool_choice", "tool_choice: name is missing: say which tool."},
		{with(`"tool_choice":{}`), CodeMissing, "tool_choice", "tool_choice: type is missing: auto, any, tool or none."},
	} {
		_, err := testService(t).ParseMessages([]byte(c.body))
		if err == nil {
			t.Errorf("%.200s: accepted", c.body)
			continue
		}
		e := refusal(t, err)
		if want := (RequestError{422, c.code, c.param, c.text}); *e != want {
			t.Errorf("%.200s:\n%+v\nwant\n%+v", c.body, *e, want)
		}
	}
}

func TestMessagesFeaturesAreAsked(t *testing.T) {
	tools := `"tools":[{"name":"f","input_schema":{}}],`
	for field, member := range map[string]string{
		"top_k":                                 `"top_k":5`,
		"tool_choice.disable_parallel_tool_use": tools + `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
		"tool_choice":                           tools + `"tool_choice":{"type":"none"}`,
		"output_config.format":                  `"output_config":{"format":{"type":"json_schema","schema":{}}}`,
		"temperature":                           `"temperature":0.9`,
	} {
		s := newService(t, testConfig(), &fake{features: Features{MaxTemperature: 0.5, MaxStop: 1}})
		_, err := s.ParseMessages([]byte(`{"model":"small","max_tokens":5,` + hello + `,` + member + `}`))
		if e := refusal(t, err); e.Param != field || e.Status != 422 {
			t.Errorf("%s: %+v", member, e)
		}
	}
}

// TestBothFrontsAskTheSame shows that a request comes to the same, whichever API it is in.
func TestBothFrontsAskTheSame(t *testing.T) {
	c := testConfig()
	c.SystemPrompt = "You work for us."
	s := newService(t, c, &fake{features: everything})
	chat, err := s.ParseChatCompletions([]byte(`{"model":"small","max_tokens":9,"messages":[
		{"role":"system","content":"Brief."},{"role":"user","content":"Weather?"},
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"weather","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"t1","content":"rain"}],
		"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}],"tool_choice":"required","stop":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := s.ParseMessages([]byte(`{"model":"small","max_tokens":9,"system":"Brief.","messages":[
		{"role":"user","content":"Weather?"},
		{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"weather","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"rain"}]}],
		"tools":[{"name":"weather","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"stop_sequences":["x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(chat.request, messages.request) || chat.Bound() != messages.Bound() {
		t.Errorf("%s\nand\n%s", show(chat.request), show(messages.request))
	}
	if first := messages.request.Messages[0].Parts[0].Text; first != "You work for us." {
		t.Errorf("the first message is %q", first)
	}
}

func TestMessagesInputLimit(t *testing.T) {
	_, err := testService(t).ParseMessages([]byte(`{"model":"small","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", 100_000) + `"}]}`))
	if e := refusal(t, err); e.Status != 413 || e.Code != CodeTooLarge {
		t.Errorf("got %+v", e)
	}
}
