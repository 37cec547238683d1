package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/upstreamtest"
)

const reply = `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","metrics":{"latencyMs":1},"usage":%s}`

func provider(t *testing.T, base string) *Provider {
	t.Helper()
	p, err := New(Config{AWS: aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(base),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: upstreamtest.Key}, nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, handler http.HandlerFunc) *Provider {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return provider(t, srv.URL)
}

func pointer[T any](v T) *T { return &v }

func TestUpstream(t *testing.T) {
	upstreamtest.Suite{
		New: func(t *testing.T, base string) llm.Provider { return provider(t, base) },
		Refusal: func(code string) string {
			return `{"__type":"` + code + `","message":"` + upstreamtest.Indiscreet + `"}`
		},
		Unreadable: []string{
			`{"output":{},"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6}}`,
			`{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":"5"}}`,
		},
	}.Run(t)
}

func TestNamedExceptions(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		want   llm.UpstreamError
	}{
		"ThrottlingException":           {429, llm.UpstreamError{Status: 429, NothingSpent: true, Message: "The model gets too many requests at the moment. Try again later."}},
		"ModelNotReadyException":        {429, llm.UpstreamError{Status: 429, NothingSpent: true, Message: "The model gets too many requests at the moment. Try again later."}},
		"ValidationException":           {400, llm.UpstreamError{Status: 422, NothingSpent: true, Message: "The model refused the request."}},
		"ServiceQuotaExceededException": {400, llm.UpstreamError{Status: 422, NothingSpent: true, Message: "The model refused the request."}},
		"AccessDeniedException":         {403, llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The model is not available at the moment."}},
		"ModelTimeoutException":         {408, llm.UpstreamError{Status: 504, Message: "The model took too long."}},
		"ModelErrorException":           {424, llm.UpstreamError{Status: 502, Message: "The model failed."}},
		"InternalServerException":       {500, llm.UpstreamError{Status: 502, Message: "The model failed."}},
	} {
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amzn-ErrorType", name+":http://internal.amazon.com/coral/x/")
			upstreamtest.Say(c.status, `{"message":"`+upstreamtest.Indiscreet+`"}`)(w, r)
		})
		_, err := p.Complete(context.Background(), upstreamtest.Request())
		c.want.Upstream, c.want.Code = c.status, name
		if got := upstreamtest.Failure(t, err); got != c.want {
			t.Errorf("%s:\n%#v\nwant\n%#v", name, got, c.want)
		}
	}
}

func TestRequestOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*llm.Request)
		want   string
	}{
		{"the least", func(*llm.Request) {}, `{"inferenceConfig":{"maxTokens":9},"messages":[{"role":"user","content":[{"text":"Hello"}]}]}`},
		{"how to sample", func(r *llm.Request) {
			r.Temperature, r.TopP, r.Stop = pointer(0.0), pointer(0.5), []string{"a"}
		}, `{"inferenceConfig":{"maxTokens":9,"temperature":0,"topP":0.5,"stopSequences":["a"]},"messages":[{"role":"user","content":[{"text":"Hello"}]}]}`},
		{"a conversation", func(r *llm.Request) {
			r.Messages = []llm.Message{
				{Role: llm.System, Parts: []llm.Part{{Text: "One."}, {Text: ""}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "a"}}},
				{Role: llm.User, Parts: []llm.Part{{Text: "b"}, {Text: ""}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look."}, {Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{"a":1.50,"b":[12345678901234567890,null,true],"c":{"d":"é"}}`}}},
				{Role: llm.System, Parts: []llm.Part{{Text: "Two."}}},
				{Role: llm.User, Parts: []llm.Part{{Kind: llm.ToolResult, ID: "t1", Text: "x"}}},
				{Role: llm.User, Parts: []llm.Part{{Kind: llm.ToolResult, ID: "t2", IsError: true}, {Text: "So?"}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Text: ""}}},
			}
		}, `{"inferenceConfig":{"maxTokens":9},"system":[{"text":"One."},{"text":"Two."}],"messages":[
			{"role":"user","content":[{"text":"a"},{"text":"b"}]},
			{"role":"assistant","content":[{"text":"I look."},{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1.50,"b":[12345678901234567890,null,true],"c":{"d":"é"}}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"x"}]}},{"toolResult":{"toolUseId":"t2","content":[{"text":""}],"status":"error"}},{"text":"So?"}]}]}`},
		{"tools", func(r *llm.Request) {
			r.Tools = []llm.Tool{
				{Name: "f", Description: "Does.", Schema: `{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}}}`, Strict: pointer(true)},
				{Name: "g", Schema: `{}`},
			}
			r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNamed, Name: "f"}
		}, `{"inferenceConfig":{"maxTokens":9},"messages":[{"role":"user","content":[{"text":"Hello"}]}],"toolConfig":{"toolChoice":{"tool":{"name":"f"}},"tools":[
			{"toolSpec":{"name":"f","description":"Does.","strict":true,"inputSchema":{"json":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":0.10}}}}}},
			{"toolSpec":{"name":"g","inputSchema":{"json":{}}}}]}}`},
		{"some tool", func(r *llm.Request) {
			r.Tools, r.ToolChoice = []llm.Tool{{Name: "g", Schema: `{}`}}, llm.ToolChoice{Mode: llm.ToolsRequired}
		}, `{"inferenceConfig":{"maxTokens":9},"messages":[{"role":"user","content":[{"text":"Hello"}]}],"toolConfig":{"toolChoice":{"any":{}},"tools":[{"toolSpec":{"name":"g","inputSchema":{"json":{}}}}]}}`},
		{"tools if it likes", func(r *llm.Request) {
			r.Tools, r.ToolChoice = []llm.Tool{{Name: "g", Schema: `{}`}}, llm.ToolChoice{Mode: llm.ToolsAuto}
		}, `{"inferenceConfig":{"maxTokens":9},"messages":[{"role":"user","content":[{"text":"Hello"}]}],"toolConfig":{"toolChoice":{"auto":{}},"tools":[{"toolSpec":{"name":"g","inputSchema":{"json":{}}}}]}}`},
		{"JSON by a schema", func(r *llm.Request) { r.Format = &llm.Format{Name: "x", Description: "d", Schema: `{"type":"object"}`} },
			`{"inferenceConfig":{"maxTokens":9},"messages":[{"role":"user","content":[{"text":"Hello"}]}],"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"x","description":"d","schema":"{\"type\":\"object\"}"}}}}}`},
	} {
		var got []byte
		var header http.Header
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, _ = io.ReadAll(r.Body)
			header = r.Header
			if path, _ := url.PathUnescape(r.URL.EscapedPath()); path != "/model/amazon.nova-micro-v1:0/converse" || r.Method != "POST" {
				t.Errorf("%s %s", r.Method, path)
			}
			upstreamtest.Say(200, fmt.Sprintf(reply, `{"inputTokens":5,"outputTokens":1,"totalTokens":6}`))(w, r)
		})
		r := upstreamtest.Request()
		r.Model = "amazon.nova-micro-v1:0"
		c.change(r)
		if _, err := p.Complete(context.Background(), r); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !sameJSON(t, string(got), c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if !strings.HasPrefix(header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") {
			t.Errorf("headers: %v", header)
		}
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

func TestResponses(t *testing.T) {
	used := &llm.Usage{Input: 12, CachedInput: 8, CacheWrite: 2, Output: 7}
	for _, c := range []struct {
		content, stop string
		want          llm.Response
	}{
		{`{"text":"Hi"}`, "end_turn", llm.Response{Parts: []llm.Part{{Text: "Hi"}}}},
		{`{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"text":"I look."},{"toolUse":{"toolUseId":"t1","name":"f","input":{"n":12345678901234567890,"s":"é"}}}`, "tool_use",
			llm.Response{Finish: llm.FinishTools, Parts: []llm.Part{{Text: "I look."}, {Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{"n":12345678901234567890,"s":"é"}`}}}},
		{`{"toolUse":{"toolUseId":"t1","name":"f"}}`, "tool_use", llm.Response{Finish: llm.FinishTools, Parts: []llm.Part{{Kind: llm.ToolCall, ID: "t1", Name: "f", Arguments: `{}`}}}},
		{``, "max_tokens", llm.Response{Finish: llm.FinishLength}},
		{``, "model_context_window_exceeded", llm.Response{Finish: llm.FinishLength}},
		{``, "stop_sequence", llm.Response{}},
		{``, "guardrail_intervened", llm.Response{Finish: llm.FinishFilter}},
		{``, "content_filtered", llm.Response{Finish: llm.FinishFilter}},
		{``, "malformed_tool_use", llm.Response{Finish: llm.FinishUnknown}},
	} {
		p := serve(t, upstreamtest.Say(200, `{"output":{"message":{"role":"assistant","content":[`+c.content+`]}},"stopReason":"`+c.stop+`",
			"usage":{"inputTokens":12,"cacheReadInputTokens":8,"cacheWriteInputTokens":2,"outputTokens":7,"totalTokens":29}}`))
		got, err := p.Complete(context.Background(), upstreamtest.Request())
		c.want.Usage = used
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s %s:\n%+v, %v\nwant\n%+v", c.stop, c.content, got, err, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for text, want := range map[string]*llm.Usage{
		`{"inputTokens":5,"outputTokens":1,"totalTokens":6}`: {Input: 5, Output: 1},
		`{"inputTokens":5,"outputTokens":1}`:                 {Input: 5, Output: 1},
		`{"inputTokens":0,"cacheReadInputTokens":9,"cacheWriteInputTokens":null,"outputTokens":0,"totalTokens":9,"cacheDetails":[],"serverToolUsage":{}}`: {CachedInput: 9},
		`{"inputTokens":5000000,"outputTokens":1}`: {Input: 5_000_000, Output: 1},
	} {
		got, err := parseUsage([]byte(`{"usage":` + text + `}`))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestMalformedUsage goes through the SDK. Some of it the SDK refuses, which comes to
// the same: the hold stays.
func TestMalformedUsage(t *testing.T) {
	for _, text := range []string{
		`null`, `{}`, `[]`, `"none"`, `5`,
		`{"inputTokens":5}`, `{"outputTokens":5}`,
		`{"inputTokens":null,"outputTokens":1}`,
		`{"inputTokens":"12","outputTokens":1}`,
		`{"inputTokens":12,"outputTokens":"1"}`,
		`{"inputTokens":1.5,"outputTokens":1}`,
		`{"inputTokens":12.0,"outputTokens":1}`,
		`{"inputTokens":1e3,"outputTokens":1}`,
		`{"inputTokens":0,"outputTokens":1}`,
		`{"inputTokens":-3,"outputTokens":1}`,
		`{"inputTokens":5,"outputTokens":-1}`,
		`{"inputTokens":2147483648,"outputTokens":1}`,
		`{"inputTokens":9223372036854775808,"outputTokens":1}`,
		`{"inputTokens":5,"outputTokens":1,"totalTokens":5}`,
		`{"inputTokens":5,"outputTokens":1,"totalTokens":-1}`,
		`{"inputTokens":5,"cacheReadInputTokens":-1,"outputTokens":1}`,
		`{"inputTokens":5,"cacheWriteInputTokens":"1","outputTokens":1}`,
		`{"inputTokens":5,"inputTokens":1,"outputTokens":1}`,
	} {
		p := serve(t, upstreamtest.Say(200, fmt.Sprintf(reply, text)))
		got, err := p.Complete(context.Background(), upstreamtest.Request())
		if err != nil {
			want := llm.UpstreamError{Status: 502, Upstream: 200, Message: "The model's answer could not be read."}
			if got := upstreamtest.Failure(t, err); got != want {
				t.Errorf("%s:\n%#v\nwant\n%#v", text, got, want)
			}
			continue
		}
		if got.Usage != nil || got.UsageProblem == "" || got.Parts[0].Text != "Hi" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	p := serve(t, upstreamtest.Say(200, strings.Replace(fmt.Sprintf(reply, "1"), `,"usage":1`, "", 1)))
	if got, err := p.Complete(context.Background(), upstreamtest.Request()); err != nil || got.Usage != nil || got.UsageProblem != "the upstream reported no usage" {
		t.Errorf("no usage: %+v, %v", got, err)
	}
	for _, tier := range []string{`"serviceTier":{"type":"priority"}`, `"performanceConfig":{"latency":"optimized"}`} {
		p := serve(t, upstreamtest.Say(200, strings.Replace(fmt.Sprintf(reply, `{"inputTokens":5,"outputTokens":1,"totalTokens":6}`), `"stopReason"`, tier+`,"stopReason"`, 1)))
		if got, err := p.Complete(context.Background(), upstreamtest.Request()); err != nil || got.Usage != nil || !strings.Contains(got.UsageProblem, "a price of its own") {
			t.Errorf("%s: %+v, %v", tier, got, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]aws.Config{
		"AWS_REGION":        {Credentials: aws.CredentialsProviderFunc(nil)},
		"AWS_ACCESS_KEY_ID": {Region: "eu-central-1"},
		"credentials":       {Region: "eu-central-1", Credentials: aws.AnonymousCredentials{}},
	} {
		if _, err := New(Config{AWS: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNoCredentialsAtTheTime shows that credentials that cannot be had cost nothing.
func TestNoCredentialsAtTheTime(t *testing.T) {
	p, err := New(Config{AWS: aws.Config{Region: "eu-central-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no role at 127.0.0.1")
	})}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Complete(context.Background(), upstreamtest.Request())
	if got, want := upstreamtest.Failure(t, err), (llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The model cannot be reached."}); got != want {
		t.Errorf("%#v\nwant\n%#v", got, want)
	}
}
