// Package anthropic is the provider that asks the Anthropic API, or a server that
// speaks it.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/upstream"
)

// DefaultBaseURL is Anthropic's own address.
const DefaultBaseURL = "https://api.anthropic.com"

// Config is what a [Provider] is made from. Nothing is read from the environment.
type Config struct {
	BaseURL   string            // empty means [DefaultBaseURL]; without the /v1
	APIKey    string            // may be empty if BaseURL is set
	Transport http.RoundTripper // nil means one of its own
}

// Provider asks an Anthropic upstream.
type Provider struct {
	messages sdk.MessageService
	own      bool // the upstream is Anthropic itself
}

// New returns a provider, or an error that names the setting that is wrong.
func New(c Config) (*Provider, error) {
	p := &Provider{own: c.BaseURL == "" || strings.TrimRight(c.BaseURL, "/") == DefaultBaseURL}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if u, err := url.Parse(c.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("anthropic.Config.BaseURL is no absolute http or https URL")
	}
	if c.APIKey == "" && p.own {
		return nil, errors.New("the API key of Anthropic is missing: set ANTHROPIC_API_KEY")
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key of Anthropic has characters that a header cannot carry: check ANTHROPIC_API_KEY for spaces and line breaks")
	}
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(upstream.NewClient(c.Transport)),
		option.WithMaxRetries(0), // one reservation pays for one attempt
		option.WithoutOpenTelemetry(),
		// The context has the deadline. Without a time-out of its own the SDK refuses
		// large output limits.
		option.WithRequestTimeout(time.Hour),
	}
	if c.APIKey != "" {
		options = append(options, option.WithAPIKey(c.APIKey))
	}
	// Unlike a client, a service reads nothing from the environment.
	p.messages = sdk.NewMessageService(options...)
	return p, nil
}

// Features tells what the API can carry.
func (p *Provider) Features() llm.Features {
	return llm.Features{MaxTemperature: 1, MaxStop: 16, TopK: true, NoToolChoice: true, SerialToolCalls: true, JSONSchema: true}
}

// Complete asks once. The error is an [*llm.UpstreamError].
func (p *Provider) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	params, err := p.params(r)
	if err != nil {
		return nil, &llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The request could not be written."}
	}
	ctx, attempt := upstream.Watch(ctx)
	message, err := p.messages.New(ctx, params)
	if err != nil {
		return nil, upstream.Failed(ctx, attempt, err, false)
	}
	if message.Type != "message" || !message.JSON.Content.Valid() {
		return nil, upstream.Unreadable()
	}
	return p.response(message), nil
}

func (p *Provider) params(r *llm.Request) (sdk.MessageNewParams, error) {
	out := sdk.MessageNewParams{Model: sdk.Model(r.Model), MaxTokens: int64(r.MaxOutputTokens), StopSequences: r.Stop}
	if p.own {
		// Without it a request may use capacity with a price of its own.
		out.ServiceTier = sdk.MessageNewParamsServiceTierStandardOnly
	}
	out.Temperature = optional(r.Temperature)
	out.TopP = optional(r.TopP)
	out.TopK = optional(r.TopK)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == llm.System {
			// The API has one place for instructions, wherever they came from.
			for _, part := range m.Parts {
				if part.Text != "" {
					out.System = append(out.System, sdk.TextBlockParam{Text: part.Text})
				}
			}
			continue
		}
		role := sdk.MessageParamRoleUser
		if m.Role == llm.Assistant {
			role = sdk.MessageParamRoleAssistant
		}
		blocks := blocks(m)
		if len(blocks) == 0 {
			continue
		}
		// What one side says in several messages is one turn, so that the results of tools
		// are together.
		if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == role {
			out.Messages[n-1].Content = append(out.Messages[n-1].Content, blocks...)
			continue
		}
		out.Messages = append(out.Messages, sdk.MessageParam{Role: role, Content: blocks})
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		tool := &sdk.ToolParam{Name: t.Name, Strict: optional(t.Strict)}
		tool.InputSchema = param.Override[sdk.ToolInputSchemaParam](json.RawMessage(withType(t.Schema)))
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if len(r.Tools) > 0 {
		out.ToolChoice = toolChoice(r)
	}
	if f := r.Format; f != nil {
		var schema map[string]json.RawMessage
		if err := json.Unmarshal([]byte(f.Schema), &schema); err != nil {
			return out, err
		}
		out.OutputConfig.Format.Schema = make(map[string]any, len(schema))
		for name, value := range schema {
			out.OutputConfig.Format.Schema[name] = value
		}
	}
	return out, nil
}

func optional[T comparable](v *T) (o param.Opt[T]) {
	if v != nil {
		o = param.NewOpt(*v)
	}
	return o
}

// withType adds the type that the API requires a schema of arguments to have.
func withType(schema string) string {
	var has struct {
		Type any `json:"type"`
	}
	if json.Unmarshal([]byte(schema), &has) != nil || has.Type != nil {
		return schema
	}
	rest := strings.TrimSpace(schema[1:])
	if rest == "}" {
		return `{"type":"object"}`
	}
	return `{"type":"object",` + rest
}

func blocks(m *llm.Message) (out []sdk.ContentBlockParamUnion) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.Text:
			if p.Text != "" { // the API has no empty texts
				out = append(out, sdk.NewTextBlock(p.Text))
			}
		case llm.ToolCall:
			out = append(out, sdk.NewToolUseBlock(p.ID, json.RawMessage(p.Arguments), p.Name))
		case llm.ToolResult:
			result := &sdk.ToolResultBlockParam{ToolUseID: p.ID}
			if p.Text != "" {
				result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: p.Text}}}
			}
			if p.IsError {
				result.IsError = sdk.Bool(true)
			}
			out = append(out, sdk.ContentBlockParamUnion{OfToolResult: result})
		}
	}
	return out
}

func toolChoice(r *llm.Request) (out sdk.ToolChoiceUnionParam) {
	var serial param.Opt[bool]
	if r.ParallelToolCalls != nil && !*r.ParallelToolCalls {
		serial = sdk.Bool(true)
	}
	switch r.ToolChoice.Mode {
	case llm.ToolsNone:
		out.OfNone = &sdk.ToolChoiceNoneParam{}
	case llm.ToolsRequired:
		out.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: serial}
	case llm.ToolsNamed:
		out.OfTool = &sdk.ToolChoiceToolParam{Name: r.ToolChoice.Name, DisableParallelToolUse: serial}
	case llm.ToolsAuto:
		out.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: serial}
	default:
		if serial.Valid() {
			out.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: serial}
		}
	}
	return out
}

func (p *Provider) response(m *sdk.Message) *llm.Response {
	out := &llm.Response{ID: m.ID, StopSequence: m.StopSequence}
	for i := range m.Content {
		// What a model thought aloud is not passed on; it is billed as output.
		switch b := &m.Content[i]; b.Type {
		case "text":
			out.Parts = append(out.Parts, llm.Part{Text: b.Text})
		case "tool_use":
			out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolCall, ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	switch m.StopReason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		out.Finish = llm.FinishStop
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		out.Finish = llm.FinishLength
	case sdk.StopReasonToolUse:
		out.Finish = llm.FinishTools
	case sdk.StopReasonRefusal:
		out.Finish = llm.FinishFilter
	default:
		out.Finish = llm.FinishUnknown
	}
	out.Usage, out.UsageProblem = usage(m)
	return out
}
