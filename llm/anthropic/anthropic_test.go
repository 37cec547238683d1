package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/upstreamtest"
)

const reply = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`

func provider(t *testing.T, c Config) *Provider {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, handler http.HandlerFunc) *Provider {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return provider(t, Config{BaseURL: srv.URL, APIKey: upstreamtest.Key})
}

func pointer[T any](v T) *T { return &v }

func TestUpstream(t *testing.T) {
	upstreamtest.Suite{
		New: func(t *testing.T, base string) llm.Provider {
			return provider(t, Config{BaseURL: base, APIKey: upstreamtest.Key})
		},
		Refusal: func(code string) string {
			return `{"type":"error","error":{"type":"` + code + `","message":"` + upstreamtest.Indiscreet + `"},"request_id":"req_1"}`
		},
		Unreadable: []string{
			`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`,
			`{"id":"msg_1","type":"completion","content":[]}`,
			`{"id":"msg_1","type":"message","content":null}`,
		},
	}.Run(t)
}

func TestFiltersOfTheOutputMayBeBilled(t *testing.T) {
	p := serve(t, upstreamtest.Say(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`))
	_, err := p.Complete(context.Background(), upstreamtest.Request())
	if got := upstreamtest.Failure(t, err); got.NothingSpent {
		t.Errorf("got %#v", got)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*llm.Request)
		want   string
	}{
		{"the least", func(*llm.Request) {}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}`},
		{"a large output limit", func(r *llm.Request) { r.MaxOutputTokens = 1_000_000 }, `{"model":"m","max_tokens":1000000,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}`},
		{"how to sample", func(r *llm.Request) {
			r.Temperature, r.TopP, r.TopK, r.Stop = pointer(0.0), pointer(0.5), pointer(int64(7)), []string{"a"}
		}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}],"temperature":0,"top_p":0.5,"top_k":7,"stop_sequences":["a"]}`},
		{"a conversation", func(r *llm.Request) {
			r.Messages = []llm.Message{
				{Role: llm.System, Parts: []llm.Part{{Text: "One."}}},
				{Role: llm.System, Parts: []llm.Part{{Text: "Two."}, {Text: ""}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "a"}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "b"}, {Text: ""}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look."}, {Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{"a": 1.50}`}}},
				{Role: llm.System, Parts: []llm.Part{{Text: "Three."}}},
				{Role: llm.User, Parts: []llm.Part{{Kind: llm.ToolResult, ID: "t1", Text: "x"}}},
				{Role: llm.User, Parts: []llm.Part{{Kind: llm.ToolResult, ID: "t2", IsError: true}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "So?"}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Text: ""}}},
			}
		}, `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"One."},{"type":"text","text":"Two."},{"type":"text","text":"Three."}],"messages":[
			{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"f","input":{"a":1.50}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"}]},{"type":"tool_result","tool_use_id":"t2","is_error":true},{"type":"text","text":"So?"}]}]}`},
		{"tools", func(r *llm.Request) {
			r.Tools = []llm.Tool{
				{Name: "f", Description: "Does.", Schema: `{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}},"additionalProperties":false}`, Strict: pointer(true)},
				{Name: "g", Schema: `{ }`},
				{Name: "h", Schema: `{"properties":{}}`},
			}
			r.ToolChoice, r.ParallelToolCalls = llm.ToolChoice{Mode: llm.ToolsNamed, Name: "f"}, pointer(false)
		}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}],"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},"tools":[
			{"name":"f","description":"Does.","strict":true,"input_schema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}},"additionalProperties":false}},
			{"name":"g","input_schema":{"type":"object"}},{"name":"h","input_schema":{"type":"object","properties":{}}}]}`},
		{"one tool at a time", func(r *llm.Request) {
			r.Tools, r.ParallelToolCalls = []llm.Tool{{Name: "g", Schema: `{"type":"object"}`}}, pointer(false)
		}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"tools":[{"name":"g","input_schema":{"type":"object"}}]}`},
		{"JSON by a schema", func(r *llm.Request) {
			r.Format = &llm.Format{Name: "x", Schema: `{"type":"object","properties":{"a":{"minimum":1}}}`}
		},
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"minimum":1}}}}}}`},
	} {
		var got []byte
		var header http.Header
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, _ = io.ReadAll(r.Body)
			header = r.Header
			if r.URL.Path != "/v1/messages" || r.Method != "POST" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			upstreamtest.Say(200, fmt.Sprintf(reply, `{"input_tokens":5,"output_tokens":1}`))(w, r)
		})
		r := upstreamtest.Request()
		c.change(r)
		if _, err := p.Complete(context.Background(), r); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !sameJSON(t, string(got), c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if header.Get("X-Api-Key") != upstreamtest.Key || header.Get("Authorization") != "" || header.Get("Anthropic-Version") != "2023-06-01" || header.Get("Idempotency-Key") != "" {
			t.Errorf("headers: %v", header)
		}
	}
	for mode, want := range map[llm.ToolMode]string{llm.ToolsAuto: "auto", llm.ToolsNone: "none", llm.ToolsRequired: "any"} {
		r := upstreamtest.Request()
		r.Tools, r.ToolChoice.Mode = []llm.Tool{{Name: "f", Schema: "{}"}}, mode
		params, err := new(Provider).params(r)
		if got := params.ToolChoice.GetType(); err != nil || got == nil || *got != want {
			t.Errorf("%s: %+v, %v", want, params.ToolChoice, err)
		}
	}
	params, err := provider(t, Config{APIKey: upstreamtest.Key}).params(upstreamtest.Request())
	if err != nil || params.ServiceTier != "standard_only" {
		t.Errorf("Anthropic itself: %+v, %v", params, err)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	decode := func(s string) (v any) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

func TestNothingFromTheEnvironment(t *testing.T) {
	for _, set := range []map[string]string{
		{"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/elsewhere", "ANTHROPIC_API_KEY": "sk-other"},
		{"ANTHROPIC_AUTH_TOKEN": "token-other"},
		{"ANTHROPIC_PROFILE": "other"},
		{"ANTHROPIC_CUSTOM_HEADERS": "X-Other: 1"},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range set {
				t.Setenv(name, value)
			}
			var header http.Header
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				header = r.Header
				upstreamtest.Say(200, fmt.Sprintf(reply, `{"input_tokens":5,"output_tokens":1}`))(w, r)
			})
			if _, err := p.Complete(context.Background(), upstreamtest.Request()); err != nil {
				t.Fatal(err)
			}
			if header.Get("X-Api-Key") != upstreamtest.Key || header.Get("Authorization") != "" || header.Get("X-Other") != "" {
				t.Errorf("headers: %v", header)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"ANTHROPIC_API_KEY": {},
		"line breaks":       {APIKey: upstreamtest.Key + "\n"},
		"BaseURL":           {BaseURL: "localhost:1234", APIKey: upstreamtest.Key},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), upstreamtest.Key) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestResponses(t *testing.T) {
	used := &llm.Usage{Input: 12, CachedInput: 8, CacheWrite: 2, Output: 7}
	for _, c := range []struct {
		members string
		want    llm.Response
	}{
		{`"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"`, llm.Response{Parts: []llm.Part{{Text: "Hi"}}}},
		{`"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"f","input":{"n": 12345678901234567890, "s":"é"}}],"stop_reason":"tool_use"`,
			llm.Response{Finish: llm.FinishTools, Parts: []llm.Part{{Text: "I look."}, {Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{"n": 12345678901234567890, "s":"é"}`}}}},
		{`"content":[],"stop_reason":"max_tokens"`, llm.Response{Finish: llm.FinishLength}},
		{`"content":[],"stop_reason":"model_context_window_exceeded"`, llm.Response{Finish: llm.FinishLength}},
		{`"content":[],"stop_reason":"stop_sequence","stop_sequence":"END"`, llm.Response{StopSequence: "END"}},
		{`"content":[{"type":"text","text":"No."}],"stop_reason":"refusal"`, llm.Response{Parts: []llm.Part{{Text: "No."}}, Finish: llm.FinishFilter}},
		{`"content":[],"stop_reason":"pause_turn"`, llm.Response{Finish: llm.FinishUnknown}},
	} {
		p := serve(t, upstreamtest.Say(200, `{"id":"msg_1","type":"message","role":"assistant","model":"m",`+c.members+`,"usage":{"input_tokens":12,"cache_read_input_tokens":8,"cache_creation_input_tokens":2,"output_tokens":7}}`))
		got, err := p.Complete(context.Background(), upstreamtest.Request())
		c.want.ID, c.want.Usage = "msg_1", used
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s:\n%+v, %v\nwant\n%+v", c.members, got, err, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for text, want := range map[string]*llm.Usage{
		`{"input_tokens":5,"output_tokens":1}`:                             {Input: 5, Output: 1},
		`{"input_tokens":0,"cache_read_input_tokens":9,"output_tokens":0}`: {CachedInput: 9},
		`{"input_tokens":5,"output_tokens":1,"cache_read_input_tokens":null,"cache_creation":null,"server_tool_use":null,"service_tier":null,"speed":null}`: {Input: 5, Output: 1},
		`{"input_tokens":5,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":0},
			"output_tokens":1,"service_tier":"standard","speed":"standard","server_tool_use":{"web_search_requests":0},"inference_geo":"global","output_tokens_details":{"x":1}}`: {Input: 5, CacheWrite: 3, CachedInput: 2, Output: 1},
		`{"input_tokens":5000000,"output_tokens":1}`: {Input: 5_000_000, Output: 1},
	} {
		got, err := parseUsage(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestMalformedUsage goes through the SDK, whose fields hide most of it.
func TestMalformedUsage(t *testing.T) {
	for _, text := range []string{
		`null`, `{}`, `[]`, `"none"`, `5`,
		`{"input_tokens":5}`, `{"output_tokens":5}`,
		`{"input_tokens":null,"output_tokens":1}`,
		`{"input_tokens":"12","output_tokens":1}`,
		`{"input_tokens":12,"output_tokens":"1"}`,
		`{"input_tokens":1.5,"output_tokens":1}`,
		`{"input_tokens":12.0,"output_tokens":1}`,
		`{"input_tokens":1e3,"output_tokens":1}`,
		`{"input_tokens":0,"output_tokens":1}`,
		`{"input_tokens":-3,"output_tokens":1}`,
		`{"input_tokens":-3,"cache_read_input_tokens":5,"output_tokens":1}`,
		`{"input_tokens":5,"output_tokens":-1}`,
		`{"input_tokens":9223372036854775807,"output_tokens":1}`,
		`{"input_tokens":9223372036854775808,"output_tokens":1}`,
		`{"input_tokens":5,"cache_read_input_tokens":-1,"output_tokens":1}`,
		`{"input_tokens":5,"cache_creation_input_tokens":"1","output_tokens":1}`,
		`{"input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":3},"output_tokens":1}`,
		`{"input_tokens":5,"server_tool_use":{"web_search_requests":1},"output_tokens":1}`,
		`{"input_tokens":5,"service_tier":"priority","output_tokens":1}`,
		`{"input_tokens":5,"speed":"fast","output_tokens":1}`,
		`{"input_tokens":5,"input_tokens":1,"output_tokens":1}`,
	} {
		p := serve(t, upstreamtest.Say(200, fmt.Sprintf(reply, text)))
		got, err := p.Complete(context.Background(), upstreamtest.Request())
		if err != nil || got.Usage != nil || got.UsageProblem == "" || got.Parts[0].Text != "Hi" {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	p := serve(t, upstreamtest.Say(200, strings.Replace(fmt.Sprintf(reply, "1"), `,"usage":1`, "", 1)))
	if got, err := p.Complete(context.Background(), upstreamtest.Request()); err != nil || got.Usage != nil || got.UsageProblem != "the upstream reported no usage" {
		t.Errorf("no usage: %+v, %v", got, err)
	}
}
