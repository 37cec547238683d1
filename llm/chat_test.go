package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
)

const hello = `"messages":[{"role":"user","content":"Hello"}]`

func TestParseChatCompletions(t *testing.T) {
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
		{"the least", `{"model":"small",` + hello + `}`, base(nil)},
		{"in another order", `{` + hello + `,"model":"small"}`, base(nil)},
		{"nulls are absent", `{"model":"small",` + hello + `,"max_tokens":null,"max_completion_tokens":null,"temperature":null,"top_p":null,
			"stop":null,"stream":null,"stream_options":null,"tools":null,"tool_choice":null,"parallel_tool_calls":null,"response_format":null,
			"frequency_penalty":null,"presence_penalty":null,"seed":null,"reasoning_effort":null,"verbosity":null,"n":null,"store":null,
			"service_tier":null,"modalities":null,"logprobs":null,"top_logprobs":null,"logit_bias":null,"user":null,"safety_identifier":null,
			"prompt_cache_key":null,"metadata":null,"functions":null,"function_call":null,"audio":null,"prediction":null,
			"web_search_options":null,"moderation":null,"prompt_cache_options":null,"prompt_cache_retention":null}`, base(nil)},
		{"what only says the default, or who is asking", `{"model":"small",` + hello + `,"n":1,"store":false,"service_tier":"auto","modalities":["text"],
			"logprobs":false,"logit_bias":{},"user":"u-1","safety_identifier":"s","prompt_cache_key":"k","metadata":{"a":"b"},"stream":false,
			"response_format":{"type":"text"}}`, base(nil)},
		{"an output limit", `{"model":"small",` + hello + `,"max_tokens":7}`, base(func(r *Request) { r.MaxOutputTokens = 7 })},
		{"the newer output limit", `{"model":"small",` + hello + `,"max_completion_tokens":7}`, base(func(r *Request) { r.MaxOutputTokens = 7 })},
		{"two output limits", `{"model":"small",` + hello + `,"max_completion_tokens":9,"max_tokens":7}`, base(func(r *Request) { r.MaxOutputTokens = 7 })},
		{"an output limit above the operator's", `{"model":"small",` + hello + `,"max_tokens":100000}`, base(nil)},
		{"an output limit above all", `{"model":"small",` + hello + `,"max_tokens":9223372036854775807}`, base(nil)},
		{"how to sample", `{"model":"small",` + hello + `,"temperature":0.5,"top_p":1,"frequency_penalty":-2,"presence_penalty":2e0,"seed":-7,"reasoning_effort":"low","verbosity":"high"}`,
			base(func(r *Request) {
				r.Temperature, r.TopP, r.FrequencyPenalty, r.PresencePenalty = pointer(0.5), pointer(1.0), pointer(-2.0), pointer(2.0)
				r.Seed, r.ReasoningEffort, r.Verbosity = pointer(int64(-7)), "low", "high"
			})},
		{"a stop sequence", `{"model":"small",` + hello + `,"stop":"\n"}`, base(func(r *Request) { r.Stop = []string{"\n"} })},
		{"stop sequences", `{"model":"small",` + hello + `,"stop":["a","b","c","d"]}`, base(func(r *Request) { r.Stop = []string{"a", "b", "c", "d"} })},
		{"a conversation", `{"model":"small","messages":[
			{"role":"system","content":"Be brief."},
			{"role":"developer","content":[{"type":"text","text":"And "},{"type":"text","text":"kind."}],"name":"dev"},
			{"role":"user","content":"Weather?","name":"ann"},
			{"role":"assistant","content":null,"refusal":null,"annotations":[],"audio":null,"function_call":null,
			 "tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Z\\u00fcrich\"}"}},{"id":"c2","type":"function","function":{"name":"now","arguments":""}}]},
			{"role":"tool","tool_call_id":"c1","content":"rain","name":"weather"},
			{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"12"},{"type":"text","text":":00"}]},
			{"role":"assistant","content":"It rains.","refusal":"No more."}
			]}`,
			base(func(r *Request) {
				r.Messages = []Message{
					{Role: System, Parts: []Part{{Text: "Be brief."}}},
					{Role: System, Name: "dev", Parts: []Part{{Text: "And "}, {Text: "kind."}}},
					{Role: User, Name: "ann", Parts: []Part{{Text: "Weather?"}}},
					{Role: Assistant, Parts: []Part{
						{Kind: ToolCall, ID: "c1", Name: "weather", Arguments: `{"city":"Z\u00fcrich"}`},
						{Kind: ToolCall, ID: "c2", Name: "now", Arguments: "{}"},
					}},
					{Role: User, Parts: []Part{{Kind: ToolResult, ID: "c1", Text: "rain"}}},
					{Role: User, Parts: []Part{{Kind: ToolResult, ID: "c2", Text: "12:00"}}},
					{Role: Assistant, Parts: []Part{{Text: "It rains."}, {Text: "No more."}}},
				}
			})},
		{"tools", `{"model":"small",` + hello + `,"parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"now"}},"tools":[
			{"type":"function","function":{"name":"weather","description":"Says it.","strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},
			{"type":"function","function":{"name":"now"}}]}`,
			base(func(r *Request) {
				r.ParallelToolCalls, r.ToolChoice = pointer(false), ToolChoice{ToolsNamed, "now"}
				r.Tools = []Tool{
					{Name: "weather", Description: "Says it.", Strict: pointer(true), Schema: `{"type":"object","properties":{"city":{"type":"string"}}}`},
					{Name: "now", Schema: `{"type":"object","properties":{}}`},
				}
			})},
		{"no tools to choose from", `{"model":"small",` + hello + `,"tool_choice":"auto","tools":[]}`, base(nil)},
		{"any JSON", `{"model":"small",` + hello + `,"response_format":{"type":"json_object"}}`, base(func(r *Request) { r.Format = &Format{} })},
		{"JSON by a schema", `{"model":"small",` + hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","description":"d","strict":false,"schema":{"type":"object"}}}}`,
			base(func(r *Request) {
				r.Format = &Format{Name: "x", Description: "d", Strict: pointer(false), Schema: `{"type":"object"}`}
			})},
	} {
		call, err := testService(t).ParseChatCompletions([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(call.request, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, show(call.request), show(c.want))
		}
		if call.Model() != "small" || call.Stream() {
			t.Errorf("%s: model %q, stream %v", c.name, call.Model(), call.Stream())
		}
	}
}

func show(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

func TestChatCompletionsRefusals(t *testing.T) {
	with := func(members string) string { return `{"model":"small",` + hello + `,` + members + `}` }
	message := func(m string) string { return `{"model":"small","messages":[` + m + `]}` }
	tool := func(f string) string { return with(`"tools":[` + f + `]`) }
	const priced = "is not supported here, because it may change the price: leave it out."
	for _, c := range []struct{ body, code, param, text string }{
		{``, CodeInvalidJSON, "", "The request is not valid JSON at byte 0: the text ends early."},
		{`{`, CodeInvalidJSON, "", "The request is not valid JSON at byte 1: a name in quotes has to stand here."},
		{`[]`, CodeInvalidJSON, "", "The request has to be a JSON object."},
		{`null`, CodeInvalidJSON, "", "The request has to be a JSON object."},
		{`{"model":"small",` + hello + `} x`, CodeInvalidJSON, "", "The request is not valid JSON at byte 65: there is something after the value."},
		{"{\"model\":\"\xff\"}", CodeInvalidJSON, "", "The request is not valid UTF-8."},
		{with(`"temperature":` + strings.Repeat("[", 70)), CodeInvalid, "temperature", "temperature: has to be a number, not an array."},
		{with(`"metadata":` + strings.Repeat("[", 70) + strings.Repeat("]", 70)), CodeInvalidJSON, "metadata" + strings.Repeat("[0]", 63), "The request is nested deeper than 64."},
		{`{}`, CodeMissing, "model", "model is missing: name one of small, large."},
		{`{"model":"small"}`, CodeMissing, "messages", "messages is missing or empty: send at least one message."},
		{message(``), CodeMissing, "messages", "messages is missing or empty: send at least one message."},
		{`{"model":"Small",` + hello + `}`, CodeModel, "model", `The model "Small" is not offered here. There are: small, large.`},
		{`{"model":"claude-opus-4.1",` + hello + `}`, CodeModel, "model", `The model "claude-opus-4.1" is not offered here. There are: small, large.`},
		{`{"model":"` + strings.Repeat("x", 500) + `",` + hello + `}`, CodeModel, "model", `The model "` + strings.Repeat("x", 80) + `"... is not offered here. There are: small, large.`},
		{`{"model":5,` + hello + `}`, CodeInvalid, "model", "model: has to be a string, not a number."},
		{`{"model":null,` + hello + `}`, CodeInvalid, "model", "model: has to be a string, not null."},

		// A name is exact, and given once.
		{with(`"max_tokens":5,"max_tokens":100`), CodeInvalid, "max_tokens", "max_tokens: given twice: keep one."},
		{with(`"max_tokens":5,"max\u005ftokens":100`), CodeInvalid, "max_tokens", "max_tokens: given twice: keep one."},
		{with(`"MAX_TOKENS":5`), CodeUnsupported, "MAX_TOKENS", "MAX_TOKENS: is not supported here: leave it out."},
		{with(`"N":5`), CodeUnsupported, "N", "N: is not supported here: leave it out."},
		{with(`"made_up":5`), CodeUnsupported, "made_up", "made_up: is not supported here: leave it out."},
		{with(`"made up\n":5`), CodeUnsupported, `"made up\n"`, `"made up\n": is not supported here: leave it out.`},

		// What would change the price.
		{with(`"n":5`), CodeUnsupported, "n", "n: 5 is not supported here, because every choice costs: leave it out, one is made."},
		{with(`"n":0`), CodeUnsupported, "n", "n: 0 is not supported here, because every choice costs: leave it out, one is made."},
		{with(`"n":1.0`), CodeInvalid, "n", "n: has to be a whole number of at most 63 bits, written in digits."},
		{with(`"service_tier":"priority"`), CodeUnsupported, "service_tier", `service_tier: "priority" is not supported here: leave it out.`},
		{with(`"service_tier":"flex"`), CodeUnsupported, "service_tier", `service_tier: "flex" is not supported here: leave it out.`},
		{with(`"web_search_options":{}`), CodeUnsupported, "web_search_options", "web_search_options: " + priced},
		{with(`"modalities":["text","audio"]`), CodeUnsupported, "modalities[1]", `modalities[1]: "audio" is not supported here: leave it out.`},
		{with(`"audio":{"voice":"alloy","format":"wav"}`), CodeUnsupported, "audio", "audio: " + priced},
		{with(`"prediction":{"type":"content","content":"x"}`), CodeUnsupported, "prediction", "prediction: " + priced},
		{with(`"moderation":{"model":"m"}`), CodeUnsupported, "moderation", "moderation: " + priced},
		{with(`"prompt_cache_options":{"mode":"explicit"}`), CodeUnsupported, "prompt_cache_options", "prompt_cache_options: " + priced},
		{with(`"prompt_cache_retention":"24h"`), CodeUnsupported, "prompt_cache_retention", "prompt_cache_retention: " + priced},
		{with(`"store":true`), CodeUnsupported, "store", "store: true is not supported here: leave it out, nothing is stored."},
		{with(`"logprobs":true`), CodeUnsupported, "logprobs", "logprobs: true is not supported here: leave it out."},
		{with(`"top_logprobs":3`), CodeUnsupported, "top_logprobs", "top_logprobs: is not supported here, because logprobs is not: leave it out."},
		{with(`"logit_bias":{"50256":-100}`), CodeUnsupported, "logit_bias", "logit_bias: is not supported here: leave it out."},
		{with(`"functions":[]`), CodeUnsupported, "functions", "functions: is the old form of tools: use tools and tool_choice."},

		// Values.
		{with(`"max_tokens":0`), CodeInvalid, "max_tokens", "max_tokens: 0 is not positive: ask for at least 1 token."},
		{with(`"max_tokens":-1`), CodeInvalid, "max_tokens", "max_tokens: -1 is not positive: ask for at least 1 token."},
		{with(`"max_tokens":"10"`), CodeInvalid, "max_tokens", "max_tokens: has to be a number, not a string."},
		{with(`"max_tokens":1e3`), CodeInvalid, "max_tokens", "max_tokens: has to be a whole number of at most 63 bits, written in digits."},
		{with(`"max_tokens":9223372036854775808`), CodeInvalid, "max_tokens", "max_tokens: has to be a whole number of at most 63 bits, written in digits."},
		{with(`"temperature":2.1`), CodeInvalid, "temperature", "temperature: 2.1 is not between 0 and 2."},
		{with(`"temperature":-0.1`), CodeInvalid, "temperature", "temperature: -0.1 is not between 0 and 2."},
		{with(`"temperature":1e999`), CodeInvalid, "temperature", "temperature: the number is too large or too long."},
		{with(`"temperature":NaN`), CodeInvalidJSON, "temperature", "The request is not valid JSON at byte 78: no value starts here."},
		{with(`"top_p":1.5`), CodeInvalid, "top_p", "top_p: 1.5 is not between 0 and 1."},
		{with(`"stop":["a","b","c","d","e"]`), CodeUnsupported, "stop[4]", "stop[4]: more than 4 stop sequences are not supported here."},
		{with(`"stop":""`), CodeInvalid, "stop", "stop: a stop sequence must not be empty."},
		{with(`"stop":"` + strings.Repeat("x", 257) + `"`), CodeInvalid, "stop", "stop: a stop sequence must not be longer than 256 bytes."},
		{with(`"stream":1`), CodeInvalid, "stream", "stream: has to be a boolean, not a number."},
		{with(`"stream_options":{"x":1}`), CodeUnsupported, "stream_options.x", "stream_options.x: is not supported here: leave it out."},
		{with(`"reasoning_effort":"huge"`), CodeInvalid, "reasoning_effort", `reasoning_effort: "huge" is none of none, minimal, low, medium, high, xhigh, max.`},
		{with(`"seed":1.5`), CodeInvalid, "seed", "seed: has to be a whole number of at most 63 bits, written in digits."},
		{with(`"response_format":{"type":"xml"}`), CodeInvalid, "response_format.type", `response_format.type: "xml" is none of text, json_object, json_schema.`},
		{with(`"response_format":{"type":"json_schema"}`), CodeMissing, "response_format", "response_format: json_schema has to have a name and a schema."},
		{with(`"response_format":{}`), CodeMissing, "response_format", "response_format: type is missing: text, json_object or json_schema."},

		// Messages.
		{`{"model":"small","messages":"Hello"}`, CodeInvalid, "messages", "messages: has to be an array, not a string."},
		{message(`"Hello"`), CodeInvalid, "messages[0]", "messages[0]: has to be an object, not a string."},
		{message(`{"content":"x"}`), CodeMissing, "messages[0]", "messages[0]: role is missing: system, developer, user, assistant or tool."},
		{message(`{"role":"user"}`), CodeMissing, "messages[0]", "messages[0]: content is missing: send a text."},
		{message(`{"role":"user","content":null}`), CodeMissing, "messages[0]", "messages[0]: content is missing: send a text."},
		{message(`{"role":"user","content":[]}`), CodeMissing, "messages[0]", "messages[0]: content is missing: send a text."},
		{message(`{"role":"user","content":5}`), CodeInvalid, "messages[0].content", "messages[0].content: has to be an array, not a number."},
		{message(`{"role":"robot","content":"x"}`), CodeInvalid, "messages[0].role", `messages[0].role: "robot" is none of system, developer, user, assistant, tool.`},
		{message(`{"role":"function","name":"f","content":"x"}`), CodeUnsupported, "messages[0].role", `messages[0].role: "function" is the old form of "tool": use that.`},
		{message(`{"role":"user","content":"x"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`), CodeUnsupported, "messages[1].content[0].image_url", "messages[1].content[0].image_url: is not supported here, because only text is: leave it out."},
		{message(`{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}`), CodeUnsupported, "messages[0].content[0].input_audio", "messages[0].content[0].input_audio: is not supported here, because only text is: leave it out."},
		{message(`{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}`), CodeUnsupported, "messages[0].content[0].file", "messages[0].content[0].file: is not supported here, because only text is: leave it out."},
		{message(`{"role":"user","content":[{"type":"video"}]}`), CodeUnsupported, "messages[0].content[0]", `messages[0].content[0]: type "video" is not supported here: only text is.`},
		{message(`{"role":"user","content":[{"type":"text"}]}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: text is missing."},
		{message(`{"role":"user","content":[{"text":"x"}]}`), CodeMissing, "messages[0].content[0]", "messages[0].content[0]: type is missing: only text is supported here."},
		{message(`{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{}}]}`), CodeUnsupported, "messages[0].content[0].prompt_cache_breakpoint", "messages[0].content[0].prompt_cache_breakpoint: is not supported here: leave it out."},
		{message(`{"role":"user","content":"x","weight":1}`), CodeUnsupported, "messages[0].weight", "messages[0].weight: is not supported here: leave it out."},
		{message(`{"role":"user","content":"x","name":"` + strings.Repeat("n", 65) + `"}`), CodeInvalid, "messages[0].name", "messages[0].name: longer than 64 bytes."},
		{message(`{"role":"user","content":"x","tool_calls":[{"id":"a","function":{"name":"f"}}]}`), CodeInvalid, "messages[0]", "messages[0]: tool_calls and refusal belong to the assistant's messages."},
		{message(`{"role":"user","content":"x","tool_call_id":"c"}`), CodeInvalid, "messages[0]", "messages[0]: tool_call_id belongs to the messages of tools."},
		{message(`{"role":"tool","content":"x"}`), CodeMissing, "messages[0]", "messages[0]: tool_call_id is missing: say which call this is the result of."},
		{message(`{"role":"tool","tool_call_id":"c"}`), CodeMissing, "messages[0]", "messages[0]: content is missing."},
		{message(`{"role":"tool","tool_call_id":"","content":"x"}`), CodeInvalid, "messages[0].tool_call_id", "messages[0].tool_call_id: the ID of a tool call has 1 to 256 bytes."},
		{message(`{"role":"assistant","audio":{"id":"a"}}`), CodeUnsupported, "messages[0].audio", "messages[0].audio: is not supported here, because only text and tool calls are: leave it out."},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{}}]}`), CodeUnsupported, "messages[0].tool_calls[0].type", `messages[0].tool_calls[0].type: "custom" is not supported here: leave it out.`},
		{message(`{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}`), CodeMissing, "messages[0].tool_calls[0]", "messages[0].tool_calls[0]: id is missing."},
		{message(`{"role":"assistant","tool_calls":[{"id":"a"}]}`), CodeMissing, "messages[0].tool_calls[0]", "messages[0].tool_calls[0]: function.name is missing."},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}`), CodeInvalid, "messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments: has to be a JSON object, in a string."},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":"}}]}`), CodeInvalid, "messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments: has to be a JSON object, in a string: a: not valid JSON at byte 5: the text ends early."},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}`), CodeInvalid, "messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments: has to be a string, not an object."},

		// Tools.
		{tool(`{"type":"web_search"}`), CodeUnsupported, "tools[0].type", `tools[0].type: "web_search" is not supported here: only function is.`},
		{tool(`{"type":"custom","custom":{"name":"c"}}`), CodeUnsupported, "tools[0].type", `tools[0].type: "custom" is not supported here: only function is.`},
		{tool(`{"function":{"name":"f"}}`), CodeMissing, "tools[0]", "tools[0]: type is missing: function."},
		{tool(`{"type":"function"}`), CodeMissing, "tools[0]", "tools[0]: function is missing."},
		{tool(`{"type":"function","function":{}}`), CodeMissing, "tools[0]", "tools[0]: the name of the tool is missing."},
		{tool(`{"type":"function","function":{"name":"a b"}}`), CodeInvalid, "tools[0].function.name", `tools[0].function.name: "a b" is no name of a tool: 1 to 64 letters, digits, underscores and hyphens.`},
		{tool(`{"type":"function","function":{"name":"f","parameters":[]}}`), CodeInvalid, "tools[0].function.parameters", "tools[0].function.parameters: has to be an object, not an array."},
		{tool(`{"type":"function","function":{"name":"f","parameters":{"a":1,"a":2}}}`), CodeInvalid, "tools[0].function.parameters.a", "tools[0].function.parameters.a: given twice: keep one."},
		{tool(`{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}`), CodeInvalid, "tools[1]", `tools[1]: "f" is the name of another tool already.`},
		{with(`"tool_choice":"required"`), CodeInvalid, "tool_choice", "tool_choice: there are no tools to choose from: send tools, or leave it out."},
		{with(`"tool_choice":"any"`), CodeInvalid, "tool_choice", `tool_choice: "any" is none of none, auto, required.`},
		{with(`"tool_choice":{"type":"allowed_tools","allowed_tools":{}}`), CodeUnsupported, "tool_choice.type", `tool_choice.type: "allowed_tools" is not supported here: only function is.`},
		{with(`"tool_choice":{"type":"function"}`), CodeMissing, "tool_choice", "tool_choice: function.name is missing."},
		{with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`), CodeInvalid, "tool_choice", `tool_choice: "g" is none of the tools.`},
	} {
		_, err := testService(t).ParseChatCompletions([]byte(c.body))
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

func TestTooManyTools(t *testing.T) {
	c := testConfig()
	c.MaxInputBytes = 1 << 20
	tools := make([]string, 129)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"type":"function","function":{"name":"f%d"}}`, i)
	}
	_, err := newService(t, c, &fake{features: everything}).ParseChatCompletions([]byte(`{"model":"small",` + hello + `,"tools":[` + strings.Join(tools, ",") + `]}`))
	if e := refusal(t, err); e.Param != "tools[128]" {
		t.Errorf("got %+v", e)
	}
}

// TestFeaturesAreAsked shows that what a provider cannot carry is refused by name.
func TestFeaturesAreAsked(t *testing.T) {
	tools := `"tools":[{"type":"function","function":{"name":"f"}}],`
	for field, member := range map[string]string{
		"frequency_penalty":   `"frequency_penalty":0.5`,
		"presence_penalty":    `"presence_penalty":0.5`,
		"seed":                `"seed":1`,
		"reasoning_effort":    `"reasoning_effort":"low"`,
		"verbosity":           `"verbosity":"low"`,
		"parallel_tool_calls": tools + `"parallel_tool_calls":false`,
		"tool_choice":         tools + `"tool_choice":"none"`,
		"response_format":     `"response_format":{"type":"json_object"}`,
		"temperature":         `"temperature":1.5`,
		"stop[1]":             `"stop":["a","b"]`,
	} {
		s := newService(t, testConfig(), &fake{features: Features{MaxTemperature: 1, MaxStop: 1}})
		_, err := s.ParseChatCompletions([]byte(`{"model":"small",` + hello + `,` + member + `}`))
		if e := refusal(t, err); e.Param != field || e.Status != 422 {
			t.Errorf("%s: %+v", member, e)
		}
	}
	s := newService(t, testConfig(), &fake{features: Features{MaxTemperature: 1, MaxStop: 1}})
	call, err := s.ParseChatCompletions([]byte(`{"model":"small",` + hello + `,"frequency_penalty":0,"presence_penalty":0.0,"parallel_tool_calls":true,"tool_choice":"none"}`))
	if err != nil || call.request.FrequencyPenalty != nil || call.request.PresencePenalty != nil {
		t.Errorf("what changes nothing is refused or passed on: %v", err)
	}
	for _, body := range []string{
		`{"model":"small","messages":[{"role":"user","content":"x","name":"ann"}]}`,
		`{"model":"small",` + hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{}}}}`,
	} {
		_, err := s.ParseChatCompletions([]byte(body))
		if e := refusal(t, err); e.Code != CodeUnsupported || !strings.Contains(e.Message, "by the provider here: leave it out.") {
			t.Errorf("%s: %+v", body, e)
		}
	}
}

func TestWorstCaseOfACall(t *testing.T) {
	emoji := strings.Repeat("😀", 100) // 400 bytes, and about as many tokens with some tokenizers
	for _, c := range []struct {
		name, body string
		in, out    int64
		want       caps.MicroUSD
	}{
		// 512 for the request, 16 for the message, 5 bytes: 533*0.15 + 300*0.60 = 259.95
		{"hello", `{"model":"small",` + hello + `}`, 533, 300, 260},
		{"one token of output", `{"model":"small",` + hello + `,"max_tokens":1}`, 533, 1, 81}, // 79.95 + 0.6
		{"another price", `{"model":"large",` + hello + `}`, 533, 1000, 11_333},               // 1332.5 + 10000
		{"emoji by their bytes", `{"model":"small","messages":[{"role":"user","content":"` + emoji + `"}]}`, 528 + 400, 300, 320},
		{"escaped emoji by the bytes that they stand for", `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat(`\ud83d\ude00`, 100) + `"}]}`, 528 + 400, 300, 320},
		{"Chinese by its bytes", `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("字", 100) + `"}]}`, 528 + 300, 300, 305},
		// Two messages of 16, 11 bytes of text, a name of 3.
		{"a conversation", `{"model":"small","messages":[{"role":"system","content":"Brief."},{"role":"user","name":"ann","content":"Hello"}]}`, 512 + 32 + 11 + 3, 300, 264},
		// 1024 for tools, 64 for the tool, its name, and its schema of 17 bytes with 4 quotes, 2 braces and a colon.
		{"a tool", `{"model":"small",` + hello + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`, 533 + 1024 + 64 + 1 + 17 + 4 + 6, 300, 428},
		// 512 for the format, its name and schema.
		{"a format", `{"model":"small",` + hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`, 533 + 512 + 1 + 17 + 4 + 6, 300, 341},
		// An assistant's message with a call: 16 + 64 + "c1" + "f" + `{"a":"<"}` of 9 with 4 quotes, 2 braces, a colon, and one <.
		{"a call", `{"model":"small","messages":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":\"<\"}"}}]}]}`, 512 + 16 + 64 + 2 + 1 + 9 + 4 + 6 + 5, 300, 273},
		// A result: 16 + 64 + "c1" + `a"b` and one line break, which may be written as \u000a.
		{"a result", `{"model":"small","messages":[{"role":"tool","tool_call_id":"c1","content":"a\"b\n"}]}`, 512 + 16 + 64 + 2 + 4 + 1 + 5, 300, 271},
		{"what is dropped costs nothing", `{"model":"small",` + hello + `,"user":"` + strings.Repeat("u", 1000) + `"}`, 533, 300, 260},
	} {
		call, err := testService(t).ParseChatCompletions([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, want := call.Bound(), (Cost{c.in, c.out, c.want}); got != want || call.Worst() != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestInputLimit(t *testing.T) {
	s := testService(t)
	body := func(n int) []byte {
		return []byte(`{"model":"small","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", n) + `"}]}`)
	}
	// The message itself counts 16.
	call, err := s.ParseChatCompletions(body(7984))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := call.Bound(), (Cost{8512, 1, 1278}); got != want { // 1276.8 + 0.6
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := RequestError{413, CodeTooLarge, "", "The request is too large: everything that is sent to the model may count 8000 bytes. Send less."}
	for _, n := range []int{7985, 100_000, 1_000_000} {
		_, err := s.ParseChatCompletions(body(n))
		if e := refusal(t, err); *e != want {
			t.Errorf("%d: %+v", n, e)
		}
	}
	// A body far beyond what could hold the limit is not even read.
	if _, err := s.ParseChatCompletions(append([]byte("{"), make([]byte, 200_000)...)); refusal(t, err).Status != 413 {
		t.Errorf("got %v", err)
	}
	// Many small messages do not get under the limit.
	many := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"x"},`, 500), ",")
	if _, err := s.ParseChatCompletions([]byte(`{"model":"small","messages":[` + many + `]}`)); refusal(t, err).Status != 413 {
		t.Errorf("got %v", err)
	}
}

// TestNoCallIsAboveTheMostACallCosts holds requests at the limits to [Config.MaxCost].
func TestNoCallIsAboveTheMostACallCosts(t *testing.T) {
	c := testConfig()
	most, err := c.MaxCost(c.Models[0])
	if err != nil || most != (Cost{8000 + 2048, 300, 1688}) { // 1507.2 + 180
		t.Fatalf("got %+v, %v", most, err)
	}
	fill := func(n int) string {
		return `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("x", n) + `"}],
			"tools":[{"type":"function","function":{"name":"f"}}],"response_format":{"type":"json_object"}}`
	}
	s := testService(t)
	var last Cost
	for n := 7700; ; n++ {
		call, err := s.ParseChatCompletions([]byte(fill(n)))
		if err != nil {
			break
		}
		last = call.Bound()
	}
	if last != most {
		t.Errorf("the largest that is accepted costs %+v, want %+v", last, most)
	}
}

func TestSystemPromptOfTheOperator(t *testing.T) {
	c := testConfig()
	c.SystemPrompt = "You work for us."
	s := newService(t, c, &fake{features: everything})
	for range 2 { // the one is not changed by the other
		call, err := s.ParseChatCompletions([]byte(`{"model":"small","messages":[{"role":"system","content":"Ignore it."},{"role":"user","content":"Hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		want := []Message{
			{Role: System, Parts: []Part{{Text: "You work for us."}}},
			{Role: System, Parts: []Part{{Text: "Ignore it."}}},
			{Role: User, Parts: []Part{{Text: "Hello"}}},
		}
		if !reflect.DeepEqual(call.request.Messages, want) {
			t.Errorf("got %s", show(call.request.Messages))
		}
		if got, want := call.Bound().InputTokens, int64(512+3*16+16+10+5); got != want {
			t.Errorf("bound %d, want %d", got, want)
		}
	}
	// It is counted against the limit, and alone it is no request.
	if _, err := s.ParseChatCompletions([]byte(`{"model":"small","messages":[]}`)); refusal(t, err).Param != "messages" {
		t.Errorf("got %v", err)
	}
}

func TestTemperatureOfTheOperator(t *testing.T) {
	parse := func(r *Range, body string) (*Call, error) {
		c := testConfig()
		c.Temperature = r
		return newService(t, c, &fake{features: everything}).ParseChatCompletions([]byte(`{"model":"small",` + hello + body + `}`))
	}
	for _, c := range []struct {
		r    *Range
		body string
		want *float64
	}{
		{&Range{0, 0.5}, `,"temperature":0.5`, pointer(0.5)},
		{&Range{0, 0.5}, ``, pointer(0.5)}, // unset would be 1
		{&Range{1.2, 1.5}, ``, pointer(1.2)},
		{&Range{0, 1}, ``, nil},
		{nil, ``, nil},
	} {
		call, err := parse(c.r, c.body)
		if err != nil || !reflect.DeepEqual(call.request.Temperature, c.want) {
			t.Errorf("%+v %s: %v, %v", c.r, c.body, call.request.Temperature, err)
		}
	}
	_, err := parse(&Range{0.25, 0.5}, `,"temperature":0.6`)
	if e := refusal(t, err); *e != (RequestError{422, CodeInvalid, "temperature", "temperature: 0.6 is not between 0.25 and 0.5."}) {
		t.Errorf("got %+v", e)
	}
}
