package openai

import (
	"context"
	"encoding/json"
	"errors"
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

const key = "sk-this-is-secret"

const reply = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":%s}`

// serve starts an upstream and returns a provider that asks it.
func serve(t *testing.T, handler http.HandlerFunc) *Provider {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return provider(t, Config{BaseURL: srv.URL + "/v1", APIKey: key})
}

func provider(t *testing.T, c Config) *Provider {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func request() *llm.Request {
	return &llm.Request{Model: "m", MaxOutputTokens: 9, Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "Hello"}}}}}
}

func failure(t *testing.T, err error) llm.UpstreamError {
	t.Helper()
	var e *llm.UpstreamError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.UpstreamError", err)
	}
	for _, secret := range []string{key, "127.0.0.1", "Hello"} {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", e, *e, *e), secret) {
			t.Errorf("the error has %q in it: %#v", secret, *e)
		}
	}
	return *e
}

func pointer[T any](v T) *T { return &v }

func TestRequestOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*llm.Request)
		want   string
	}{
		{"the least", func(*llm.Request) {}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`},
		{"how to sample", func(r *llm.Request) {
			r.Temperature, r.TopP, r.FrequencyPenalty, r.PresencePenalty = pointer(0.0), pointer(0.5), pointer(0.1), pointer(-0.1)
			r.Seed, r.Stop, r.ReasoningEffort, r.Verbosity = pointer(int64(7)), []string{"a", "b"}, "low", "high"
		}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}],"temperature":0,"top_p":0.5,"frequency_penalty":0.1,"presence_penalty":-0.1,
			"seed":7,"stop":["a","b"],"reasoning_effort":"low","verbosity":"high"}`},
		{"a conversation", func(r *llm.Request) {
			r.Messages = []llm.Message{
				{Role: llm.System, Parts: []llm.Part{{Text: "One."}}},
				{Role: llm.System, Name: "dev", Parts: []llm.Part{{Text: "Two."}, {Text: "Three."}}},
				{Role: llm.User, Name: "ann", Parts: []llm.Part{{Text: "a"}, {Text: "b"}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Text: "I "}, {Text: "look."}, {Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{"a": 1.50}`}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "So?"}, {Kind: llm.ToolResult, ID: "t1", Text: "x"}, {Kind: llm.ToolResult, ID: "t2", Text: "", IsError: true}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, ID: "t3", Name: "g", Arguments: `{}`}}},
			}
		}, `{"model":"m","max_tokens":9,"messages":[
			{"role":"system","content":"One."},
			{"role":"system","name":"dev","content":[{"type":"text","text":"Two."},{"type":"text","text":"Three."}]},
			{"role":"user","name":"ann","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.50}"}}]},
			{"role":"tool","tool_call_id":"t1","content":"x"},
			{"role":"tool","tool_call_id":"t2","content":"Error: "},
			{"role":"user","content":"So?"},
			{"role":"assistant","tool_calls":[{"id":"t3","type":"function","function":{"name":"g","arguments":"{}"}}]}]}`},
		{"tools", func(r *llm.Request) {
			r.Tools = []llm.Tool{
				{Name: "f", Description: "Does.", Schema: `{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}}}`, Strict: pointer(true)},
				{Name: "g", Schema: `{}`},
			}
			r.ToolChoice, r.ParallelToolCalls = llm.ToolChoice{Mode: llm.ToolsNamed, Name: "f"}, pointer(false)
		}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}],"parallel_tool_calls":false,
			"tool_choice":{"type":"function","function":{"name":"f"}},"tools":[
			{"type":"function","function":{"name":"f","description":"Does.","strict":true,"parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}}}}},
			{"type":"function","function":{"name":"g","parameters":{}}}]}`},
		{"any JSON", func(r *llm.Request) { r.Format = &llm.Format{} },
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}],"response_format":{"type":"json_object"}}`},
		{"JSON by a schema", func(r *llm.Request) {
			r.Format = &llm.Format{Name: "x", Description: "d", Schema: `{"type":"object"}`, Strict: pointer(true)}
		},
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","description":"d","strict":true,"schema":{"type":"object"}}}}`},
	} {
		var got []byte
		var header http.Header
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, _ = io.ReadAll(r.Body)
			header = r.Header
			if r.URL.Path != "/v1/chat/completions" || r.Method != "POST" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			say(200, fmt.Sprintf(reply, `{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}`))(w, r)
		})
		r := request()
		c.change(r)
		if _, err := p.Complete(context.Background(), r); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !sameJSON(t, string(got), c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if header.Get("Authorization") != "Bearer "+key || header.Get("Idempotency-Key") != "" {
			t.Errorf("headers: %v", header)
		}
	}
	for mode, want := range map[llm.ToolMode]string{llm.ToolsAuto: "auto", llm.ToolsNone: "none", llm.ToolsRequired: "required"} {
		r := request()
		r.Tools, r.ToolChoice.Mode = []llm.Tool{{Name: "f", Schema: "{}"}}, mode
		params, err := new(Provider).params(r)
		if err != nil || params.ToolChoice.OfAuto.Value != want {
			t.Errorf("%s: %+v, %v", want, params.ToolChoice, err)
		}
	}
}

// sameJSON compares two JSON texts with their numbers as they are written.
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

// TestNothingFromTheEnvironment shows that what official clients read from it does not
// redirect or change a call.
func TestNothingFromTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/elsewhere")
	t.Setenv("OPENAI_API_KEY", "sk-other")
	t.Setenv("OPENAI_ADMIN_KEY", "sk-admin")
	t.Setenv("OPENAI_ORG_ID", "org-other")
	t.Setenv("OPENAI_PROJECT_ID", "proj-other")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Other: 1")
	var header http.Header
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		say(200, fmt.Sprintf(reply, `{"prompt_tokens":5,"completion_tokens":1}`))(w, r)
	})
	if _, err := p.Complete(context.Background(), request()); err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "Bearer "+key || header.Get("OpenAI-Organization") != "" || header.Get("OpenAI-Project") != "" || header.Get("X-Other") != "" {
		t.Errorf("headers: %v", header)
	}
}

func TestOfOpenAIItself(t *testing.T) {
	p := provider(t, Config{APIKey: key})
	params, err := p.params(request())
	if err != nil || params.MaxCompletionTokens.Value != 9 || params.MaxTokens.Valid() || params.ServiceTier != "default" {
		t.Errorf("got %+v, %v", params, err)
	}
	if p = provider(t, Config{BaseURL: "https://api.openai.com/v1/", APIKey: key}); !p.own || p.maxTokens {
		t.Errorf("got %+v", p)
	}
	if p = provider(t, Config{BaseURL: "http://127.0.0.1:1/v1"}); p.own || !p.maxTokens || p.billsRefusals {
		t.Errorf("got %+v", p)
	}
	if p = provider(t, Config{BaseURL: "http://127.0.0.1:1/v1", OutputLimitField: "max_completion_tokens"}); p.maxTokens {
		t.Errorf("got %+v", p)
	}
	if p = provider(t, Config{BaseURL: "https://x.openai.azure.com/openai/v1"}); !p.billsRefusals {
		t.Errorf("got %+v", p)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"OPENAI_API_KEY":   {},
		"line breaks":      {APIKey: key + "\n"},
		"BaseURL":          {BaseURL: "localhost:1234", APIKey: key},
		"OutputLimitField": {BaseURL: "http://x", OutputLimitField: "n_predict"},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestResponses(t *testing.T) {
	usage := `{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}`
	used := &llm.Usage{Input: 12, CachedInput: 8, Output: 7, Reasoning: 3}
	for _, c := range []struct {
		choice string
		want   llm.Response
	}{
		{`{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}`, llm.Response{Parts: []llm.Part{{Text: "Hi"}}}},
		{`{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":"tool_calls"}`,
			llm.Response{Finish: llm.FinishTools, Parts: []llm.Part{{Kind: llm.ToolCall, ID: "c1", Name: "f", Arguments: `{"a":1}`}, {Kind: llm.ToolCall, ID: "c2", Name: "g"}}}},
		{`{"message":{"role":"assistant","content":null,"refusal":"No."},"finish_reason":"stop"}`, llm.Response{Refusal: "No."}},
		{`{"message":{"role":"assistant","content":"Hi"},"finish_reason":"length"}`, llm.Response{Parts: []llm.Part{{Text: "Hi"}}, Finish: llm.FinishLength}},
		{`{"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}`, llm.Response{Finish: llm.FinishFilter}},
		{`{"message":{"role":"assistant","content":"Hi"},"finish_reason":null}`, llm.Response{Parts: []llm.Part{{Text: "Hi"}}, Finish: llm.FinishUnknown}},
	} {
		p := serve(t, say(200, `{"id":"chatcmpl-1","choices":[`+c.choice+`],"usage":`+usage+`}`))
		got, err := p.Complete(context.Background(), request())
		c.want.ID, c.want.Usage = "chatcmpl-1", used
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s:\n%+v, %v\nwant\n%+v", c.choice, got, err, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for text, want := range map[string]*llm.Usage{
		`{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}`:                                                                                                               {Input: 5, Output: 1},
		`{"prompt_tokens":5,"completion_tokens":0}`:                                                                                                                                {Input: 5},
		`{"prompt_tokens":5,"completion_tokens":1,"total_tokens":null,"prompt_tokens_details":null,"completion_tokens_details":null}`:                                              {Input: 5, Output: 1},
		`{"prompt_tokens":50,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":10,"audio_tokens":0}}`:                                         {Input: 20, CachedInput: 20, CacheWrite: 10, Output: 1},
		`{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":5}}`:                                                                                    {CachedInput: 5, Output: 5},
		`{"prompt_tokens":5,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":4,"accepted_prediction_tokens":0},"cost":0.1,"x":[{"y":null}],"queue_time":0.5}`: {Input: 5, Output: 5, Reasoning: 4},
		// Reasoning that is left out of the completion is in the total, and billed.
		`{"prompt_tokens":5,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":10}}`: {Input: 5, Output: 12, Reasoning: 10},
		// More than was reserved is still what it is.
		`{"prompt_tokens":5000000,"completion_tokens":2}`: {Input: 5_000_000, Output: 2},
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
		`{"prompt_tokens":5}`, `{"completion_tokens":5}`, `{"total_tokens":5}`,
		`{"prompt_tokens":null,"completion_tokens":1}`,
		`{"prompt_tokens":"12","completion_tokens":1}`,
		`{"prompt_tokens":12,"completion_tokens":"1"}`,
		`{"prompt_tokens":1.5,"completion_tokens":1}`,
		`{"prompt_tokens":12.0,"completion_tokens":1}`,
		`{"prompt_tokens":1e3,"completion_tokens":1}`,
		`{"prompt_tokens":true,"completion_tokens":1}`,
		`{"prompt_tokens":0,"completion_tokens":1}`,
		`{"prompt_tokens":-3,"completion_tokens":1}`,
		`{"prompt_tokens":5,"completion_tokens":-1}`,
		`{"prompt_tokens":9223372036854775807,"completion_tokens":1}`,
		`{"prompt_tokens":9223372036854775808,"completion_tokens":1}`,
		`{"prompt_tokens":18446744073709551616,"completion_tokens":1}`,
		`{"prompt_tokens":5,"completion_tokens":9223372036854775808}`,
		`{"prompt_tokens":5,"completion_tokens":1,"total_tokens":5}`,
		`{"prompt_tokens":5,"completion_tokens":1,"total_tokens":-1}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":-6}}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":"1"}}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":3}}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"audio_tokens":3}}`,
		`{"prompt_tokens":5,"completion_tokens":1,"completion_tokens_details":{"audio_tokens":1}}`,
		`{"prompt_tokens":5,"prompt_tokens":1,"completion_tokens":1}`,
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":5}`,
	} {
		p := serve(t, say(200, fmt.Sprintf(reply, text)))
		got, err := p.Complete(context.Background(), request())
		if err != nil || got.Usage != nil || got.UsageProblem == "" || got.Parts[0].Text != "Hi" {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	p := serve(t, say(200, strings.Replace(fmt.Sprintf(reply, "1"), `,"usage":1`, "", 1)))
	if got, err := p.Complete(context.Background(), request()); err != nil || got.Usage != nil || got.UsageProblem != "the upstream reported no usage" {
		t.Errorf("no usage: %+v, %v", got, err)
	}
}

func TestUpstream(t *testing.T) {
	upstreamtest.Suite{
		New: func(t *testing.T, base string) llm.Provider {
			return provider(t, Config{BaseURL: base, APIKey: upstreamtest.Key})
		},
		Refusal: func(code string) string {
			return `{"error":{"message":"` + upstreamtest.Indiscreet + `","type":"some_type","param":null,"code":"` + code + `"}}`
		},
		Unreadable: []string{
			`{"id":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
			`{"error":{"message":"x","code":"server_error"}}`,
		},
	}.Run(t)
}

func TestCodes(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"type":"a_type","code":"a_code"}}`:          "a_code",
		`{"error":{"type":"a_type","code":null}}`:              "a_type",
		`{"error":{"type":"a_type","code":400}}`:               "a_type",
		`{"error":{"type":"a_type","code":"key sk-1 is bad"}}`: "",
		`{"error":{"type":null,"code":"x"}}`:                   "x",
		`{"error":"no"}`:                                       "",
		`[]`:                                                   "",
		`no`:                                                   "",
		``:                                                     "",
		`{"error":{"code":"` + strings.Repeat("x", 65) + `"}}`: "",
	} {
		_, err := serve(t, say(400, body)).Complete(context.Background(), request())
		if got := failure(t, err); got.Code != want || !got.NothingSpent {
			t.Errorf("%s: %#v, want %q", body, got, want)
		}
	}
}

// TestRefusalsThatMayBeBilled shows what is not given back.
func TestRefusalsThatMayBeBilled(t *testing.T) {
	for _, body := range []string{
		`{"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering our content management policy."}}`,
		`{"error":{"code":"tool_use_failed","failed_generation":"x"}}`,
		`{"error":{"message":"Output blocked by content filtering policy"}}`,
	} {
		_, err := serve(t, say(400, body)).Complete(context.Background(), request())
		if got := failure(t, err); got.NothingSpent || got.Status != 422 {
			t.Errorf("%s: %#v", body, got)
		}
	}
	p := serve(t, say(400, `{"error":{"code":"bad"}}`))
	p.billsRefusals = true
	if _, err := p.Complete(context.Background(), request()); failure(t, err).NothingSpent {
		t.Error("an upstream that bills refusals was said not to")
	}
}

func TestServiceTier(t *testing.T) {
	srv := httptest.NewServer(say(200, strings.Replace(fmt.Sprintf(reply, `{"prompt_tokens":5,"completion_tokens":1}`), `"model"`, `"service_tier":"priority","model"`, 1)))
	defer srv.Close()
	p := provider(t, Config{BaseURL: srv.URL, APIKey: key})
	if got, err := p.Complete(context.Background(), request()); err != nil || got.Usage == nil {
		t.Errorf("an upstream with tiers of its own: %+v, %v", got, err)
	}
	p.own = true
	if got, err := p.Complete(context.Background(), request()); err != nil || got.Usage != nil || !strings.Contains(got.UsageProblem, "service tier") {
		t.Errorf("OpenAI: %+v, %v", got, err)
	}
}

func TestWithoutAKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-other")
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		say(200, fmt.Sprintf(reply, `{"prompt_tokens":5,"completion_tokens":1}`))(w, r)
	}))
	defer srv.Close()
	if _, err := provider(t, Config{BaseURL: srv.URL}).Complete(context.Background(), request()); err != nil {
		t.Fatal(err)
	}
	if got, has := header["Authorization"]; has {
		t.Errorf("authorization: %q", got)
	}
}

// BenchmarkComplete is a call through the SDK to an upstream on this machine.
func BenchmarkComplete(b *testing.B) {
	srv := httptest.NewServer(say(200, fmt.Sprintf(reply, `{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}`)))
	defer srv.Close()
	p, err := New(Config{BaseURL: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Complete(context.Background(), request()); err != nil {
			b.Fatal(err)
		}
	}
}
