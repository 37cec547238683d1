// Package openai is the provider that asks OpenAI, or any server that has its chat
// completions API.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/upstream"
)

// DefaultBaseURL is OpenAI's own address.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config is what a [Provider] is made from. Nothing is read from the environment.
type Config struct {
	BaseURL string // empty means [DefaultBaseURL]; include the /v1 of a server that has one
	APIKey  string // may be empty if BaseURL is set

	// OutputLimitField is the field that carries the output limit: "max_completion_tokens"
	// or "max_tokens". Empty means the first for OpenAI itself, whose reasoning models
	// refuse the other, and the second for any other BaseURL: several servers ignore the
	// first and would write without a limit
	// (https://github.com/ollama/ollama/issues/7125).
	OutputLimitField string

	Transport http.RoundTripper // nil means one of its own
}

// Provider asks an OpenAI-compatible upstream.
type Provider struct {
	completions   sdk.ChatCompletionService
	own           bool // the upstream is OpenAI itself
	billsRefusals bool // the upstream charges for requests that it refuses
	maxTokens     bool // the output limit goes into max_tokens
}

// New returns a provider, or an error that names the setting that is wrong.
func New(c Config) (*Provider, error) {
	p := &Provider{own: c.BaseURL == "" || strings.TrimRight(c.BaseURL, "/") == DefaultBaseURL}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("openai.Config.BaseURL is no absolute http or https URL")
	}
	if c.APIKey == "" && p.own {
		return nil, errors.New("the API key of OpenAI is missing: set OPENAI_API_KEY")
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key of OpenAI has characters that a header cannot carry: check OPENAI_API_KEY for spaces and line breaks")
	}
	switch c.OutputLimitField {
	case "":
		p.maxTokens = !p.own
	case "max_tokens":
		p.maxTokens = true
	case "max_completion_tokens":
	default:
		return nil, errors.New("openai.Config.OutputLimitField is neither max_tokens nor max_completion_tokens")
	}
	// Azure bills the tokens of requests that it answers with 400
	// (https://learn.microsoft.com/en-us/answers/questions/1632971).
	host := strings.ToLower(u.Hostname())
	p.billsRefusals = strings.HasSuffix(host, ".azure.com") || strings.HasSuffix(host, ".azure-api.net") || strings.HasSuffix(host, ".microsoft.com")

	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(upstream.NewClient(c.Transport)),
		option.WithMaxRetries(0), // one reservation pays for one attempt
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	// Unlike a client, a service reads nothing from the environment.
	p.completions = sdk.NewChatCompletionService(options...)
	return p, nil
}

// Features tells that everything but top_k can be carried. Servers other than OpenAI may
// refuse some of it themselves.
func (p *Provider) Features() llm.Features {
	return llm.Features{
		MaxTemperature: 2, MaxStop: 4, Penalties: true, Seed: true, NoToolChoice: true, SerialToolCalls: true,
		JSONObject: true, JSONSchema: true, ReasoningEffort: true, Verbosity: true, Names: true,
	}
}

// Complete asks once. The error is an [*llm.UpstreamError].
func (p *Provider) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	params, err := p.params(r)
	if err != nil {
		return nil, &llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The request could not be written."}
	}
	ctx, attempt := upstream.Watch(ctx)
	completion, err := p.completions.New(ctx, params)
	if err != nil {
		return nil, upstream.Failed(ctx, attempt, err, p.billsRefusals)
	}
	return p.response(completion)
}

func (p *Provider) params(r *llm.Request) (sdk.ChatCompletionNewParams, error) {
	out := sdk.ChatCompletionNewParams{Model: r.Model}
	for i := range r.Messages {
		out.Messages = appendMessage(out.Messages, &r.Messages[i])
	}
	if p.maxTokens {
		out.MaxTokens = sdk.Int(int64(r.MaxOutputTokens))
	} else {
		out.MaxCompletionTokens = sdk.Int(int64(r.MaxOutputTokens))
	}
	if p.own {
		// Without it the tier is the project's setting, and tiers have prices of their own.
		out.ServiceTier = sdk.ChatCompletionNewParamsServiceTierDefault
	}
	out.Temperature = optional(r.Temperature)
	out.TopP = optional(r.TopP)
	out.FrequencyPenalty = optional(r.FrequencyPenalty)
	out.PresencePenalty = optional(r.PresencePenalty)
	out.Seed = optional(r.Seed)
	out.ReasoningEffort = shared.ReasoningEffort(r.ReasoningEffort)
	out.Verbosity = sdk.ChatCompletionNewParamsVerbosity(r.Verbosity)
	if len(r.Stop) > 0 {
		out.Stop.OfStringArray = r.Stop
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		schema, err := members(t.Schema)
		if err != nil {
			return out, err
		}
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema, Strict: optional(t.Strict)}
		if t.Description != "" {
			f.Description = sdk.String(t.Description)
		}
		out.Tools = append(out.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	if len(r.Tools) > 0 {
		out.ParallelToolCalls = optional(r.ParallelToolCalls)
	}
	switch r.ToolChoice.Mode {
	case llm.ToolsAuto:
		out.ToolChoice.OfAuto = sdk.String("auto")
	case llm.ToolsNone:
		out.ToolChoice.OfAuto = sdk.String("none")
	case llm.ToolsRequired:
		out.ToolChoice.OfAuto = sdk.String("required")
	case llm.ToolsNamed:
		out.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: r.ToolChoice.Name})
	}
	if f := r.Format; f != nil && f.Schema == "" {
		out.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	} else if f != nil {
		schema := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: f.Name, Schema: json.RawMessage(f.Schema), Strict: optional(f.Strict)}
		if f.Description != "" {
			schema.Description = sdk.String(f.Description)
		}
		out.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: schema}
	}
	return out, nil
}

func optional[T comparable](v *T) (o param.Opt[T]) {
	if v != nil {
		o = param.NewOpt(*v)
	}
	return o
}

// members splits a JSON object into the texts of its members, which go out as they came.
func members(object string) (map[string]any, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &raw); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(raw))
	for name, value := range raw {
		out[name] = value
	}
	return out, nil
}

// appendMessage adds a message, or several: each result of a tool is one of its own,
// and comes before what the user says beside it.
func appendMessage(out []sdk.ChatCompletionMessageParamUnion, m *llm.Message) []sdk.ChatCompletionMessageParamUnion {
	var texts []string
	var calls []sdk.ChatCompletionMessageToolCallUnionParam
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.Text:
			texts = append(texts, p.Text)
		case llm.ToolResult:
			text := p.Text
			if p.IsError {
				text = "Error: " + text // there is no field for it
			}
			out = append(out, sdk.ToolMessage(text, p.ID))
		case llm.ToolCall:
			calls = append(calls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: p.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: p.Name, Arguments: p.Arguments},
			}})
		}
	}
	var name param.Opt[string]
	if m.Name != "" {
		name = sdk.String(m.Name)
	}
	switch {
	case m.Role == llm.Assistant:
		a := &sdk.ChatCompletionAssistantMessageParam{Name: name, ToolCalls: calls}
		if len(texts) > 0 {
			a.Content.OfString = sdk.String(strings.Join(texts, ""))
		}
		out = append(out, sdk.ChatCompletionMessageParamUnion{OfAssistant: a})
	case len(texts) == 0:
	case m.Role == llm.System:
		s := &sdk.ChatCompletionSystemMessageParam{Name: name}
		if len(texts) == 1 {
			s.Content.OfString = sdk.String(texts[0])
		} else {
			s.Content.OfArrayOfContentParts = parts(texts)
		}
		out = append(out, sdk.ChatCompletionMessageParamUnion{OfSystem: s})
	default:
		u := &sdk.ChatCompletionUserMessageParam{Name: name}
		if len(texts) == 1 {
			u.Content.OfString = sdk.String(texts[0])
		} else {
			for _, t := range parts(texts) {
				u.Content.OfArrayOfContentParts = append(u.Content.OfArrayOfContentParts, sdk.ChatCompletionContentPartUnionParam{OfText: &t})
			}
		}
		out = append(out, sdk.ChatCompletionMessageParamUnion{OfUser: u})
	}
	return out
}

func parts(texts []string) []sdk.ChatCompletionContentPartTextParam {
	out := make([]sdk.ChatCompletionContentPartTextParam, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

func (p *Provider) response(c *sdk.ChatCompletion) (*llm.Response, error) {
	if len(c.Choices) == 0 {
		return nil, upstream.Unreadable()
	}
	choice := &c.Choices[0]
	out := &llm.Response{ID: c.ID, Refusal: choice.Message.Refusal}
	if choice.Message.Content != "" {
		out.Parts = append(out.Parts, llm.Part{Text: choice.Message.Content})
	}
	for _, t := range choice.Message.ToolCalls {
		if t.Type == "function" || t.Type == "" {
			out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolCall, ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
		}
	}
	switch choice.FinishReason {
	case "stop":
		out.Finish = llm.FinishStop
	case "length":
		out.Finish = llm.FinishLength
	case "tool_calls", "function_call":
		out.Finish = llm.FinishTools
	case "content_filter":
		out.Finish = llm.FinishFilter
	default:
		out.Finish = llm.FinishUnknown
	}
	out.Usage, out.UsageProblem = p.usage(c)
	return out, nil
}
