// Package bedrock is the provider that asks Amazon Bedrock, by its Converse API, which
// is the same for every model there.
package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	number "github.com/aws/smithy-go/document"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/upstream"
)

// Config is what a [Provider] is made from.
type Config struct {
	// AWS has the region and the credentials. Its HTTP client, its retries and its log
	// mode are not used. As everywhere in the AWS SDK, AWS_BEARER_TOKEN_BEDROCK goes
	// before the credentials.
	AWS aws.Config

	Transport http.RoundTripper // nil means one of its own
}

// Provider asks Amazon Bedrock.
type Provider struct {
	client interface {
		Converse(context.Context, *bedrockruntime.ConverseInput, ...func(*bedrockruntime.Options)) (*bedrockruntime.ConverseOutput, error)
	}
}

// New returns a provider, or an error that names the setting that is wrong.
func New(c Config) (*Provider, error) {
	if c.AWS.Region == "" {
		return nil, errors.New("the AWS region is missing: set AWS_REGION")
	}
	if c.AWS.BearerAuthTokenProvider == nil && (c.AWS.Credentials == nil || aws.IsCredentialsProvider(c.AWS.Credentials, aws.AnonymousCredentials{})) {
		return nil, errors.New("the AWS credentials are missing: set up a role, a profile or AWS_ACCESS_KEY_ID")
	}
	return &Provider{bedrockruntime.NewFromConfig(c.AWS, func(o *bedrockruntime.Options) {
		o.Retryer = aws.NopRetryer{} // one reservation pays for one attempt
		o.HTTPClient = upstream.NewClient(c.Transport)
		o.ClientLogMode = 0 // what is said is not logged
	})}, nil
}

// Features tells what the API can carry.
func (p *Provider) Features() llm.Features {
	return llm.Features{MaxTemperature: 1, MaxStop: 16, JSONSchema: true}
}

// Complete asks once. The error is an [*llm.UpstreamError].
func (p *Provider) Complete(ctx context.Context, r *llm.Request) (*llm.Response, error) {
	in, err := input(r)
	if err != nil {
		return nil, &llm.UpstreamError{Status: 502, NothingSpent: true, Message: "The request could not be written."}
	}
	ctx, attempt := upstream.Watch(ctx)
	attempt.Keep()
	out, err := p.client.Converse(ctx, in)
	if err != nil {
		e := upstream.Failed(ctx, attempt, err, false)
		var named smithy.APIError
		if errors.As(err, &named) && e.Upstream >= 400 {
			e.Code = upstream.Plain(named.ErrorCode())
		}
		return nil, e
	}
	message, ok := out.Output.(*types.ConverseOutputMemberMessage)
	if !ok {
		return nil, upstream.Unreadable()
	}
	return response(out, &message.Value, attempt.Reply())
}

func input(r *llm.Request) (*bedrockruntime.ConverseInput, error) {
	in := &bedrockruntime.ConverseInput{
		ModelId: aws.String(r.Model),
		InferenceConfig: &types.InferenceConfiguration{
			MaxTokens:     aws.Int32(int32(r.MaxOutputTokens)),
			StopSequences: r.Stop,
			Temperature:   single(r.Temperature),
			TopP:          single(r.TopP),
		},
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == llm.System {
			// The API has one place for instructions, wherever they came from.
			for _, part := range m.Parts {
				if part.Text != "" {
					in.System = append(in.System, &types.SystemContentBlockMemberText{Value: part.Text})
				}
			}
			continue
		}
		role := types.ConversationRoleUser
		if m.Role == llm.Assistant {
			role = types.ConversationRoleAssistant
		}
		blocks, err := blocks(m)
		if err != nil {
			return nil, err
		}
		if len(blocks) == 0 {
			continue
		}
		// The API wants the roles to alternate.
		if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == role {
			in.Messages[n-1].Content = append(in.Messages[n-1].Content, blocks...)
			continue
		}
		in.Messages = append(in.Messages, types.Message{Role: role, Content: blocks})
	}
	if len(r.Tools) > 0 {
		in.ToolConfig = &types.ToolConfiguration{ToolChoice: toolChoice(r.ToolChoice)}
		for i := range r.Tools {
			t := &r.Tools[i]
			schema, err := asDocument(t.Schema)
			if err != nil {
				return nil, err
			}
			spec := types.ToolSpecification{Name: aws.String(t.Name), InputSchema: &types.ToolInputSchemaMemberJson{Value: schema}, Strict: t.Strict}
			if t.Description != "" {
				spec.Description = aws.String(t.Description)
			}
			in.ToolConfig.Tools = append(in.ToolConfig.Tools, &types.ToolMemberToolSpec{Value: spec})
		}
	}
	if f := r.Format; f != nil {
		schema := types.JsonSchemaDefinition{Schema: aws.String(f.Schema), Name: aws.String(f.Name)}
		if f.Description != "" {
			schema.Description = aws.String(f.Description)
		}
		in.OutputConfig = &types.OutputConfig{TextFormat: &types.OutputFormat{
			Type:      types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: schema},
		}}
	}
	return in, nil
}

func single(f *float64) *float32 {
	if f == nil {
		return nil
	}
	return aws.Float32(float32(*f))
}

func toolChoice(c llm.ToolChoice) types.ToolChoice {
	switch c.Mode {
	case llm.ToolsAuto:
		return &types.ToolChoiceMemberAuto{}
	case llm.ToolsRequired:
		return &types.ToolChoiceMemberAny{}
	case llm.ToolsNamed:
		return &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String(c.Name)}}
	}
	return nil
}

func blocks(m *llm.Message) (out []types.ContentBlock, err error) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case llm.Text:
			if p.Text != "" { // the API has no empty texts
				out = append(out, &types.ContentBlockMemberText{Value: p.Text})
			}
		case llm.ToolCall:
			arguments, err := asDocument(p.Arguments)
			if err != nil {
				return nil, err
			}
			out = append(out, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
				ToolUseId: aws.String(p.ID), Name: aws.String(p.Name), Input: arguments,
			}})
		case llm.ToolResult:
			result := types.ToolResultBlock{
				ToolUseId: aws.String(p.ID),
				Content:   []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: p.Text}},
			}
			if p.IsError {
				result.Status = types.ToolResultStatusError
			}
			out = append(out, &types.ContentBlockMemberToolResult{Value: result})
		}
	}
	return out, nil
}

// asDocument makes a document of JSON. Numbers stay as they are written.
func asDocument(text string) (document.Interface, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	return document.NewLazyDocument(exact(v)), nil
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number.Number(v)
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}

func response(out *bedrockruntime.ConverseOutput, m *types.Message, reply []byte) (*llm.Response, error) {
	r := new(llm.Response)
	for _, b := range m.Content {
		// What a model thought aloud is not passed on; it is billed as output.
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			r.Parts = append(r.Parts, llm.Part{Text: b.Value})
		case *types.ContentBlockMemberToolUse:
			arguments := "{}"
			if b.Value.Input != nil {
				text, err := b.Value.Input.MarshalSmithyDocument()
				if err != nil {
					return nil, upstream.Unreadable()
				}
				arguments = string(text)
			}
			r.Parts = append(r.Parts, llm.Part{Kind: llm.ToolCall, ID: aws.ToString(b.Value.ToolUseId), Name: aws.ToString(b.Value.Name), Arguments: arguments})
		}
	}
	switch out.StopReason {
	case types.StopReasonEndTurn, types.StopReasonStopSequence:
		r.Finish = llm.FinishStop
	case types.StopReasonMaxTokens, types.StopReasonModelContextWindowExceeded:
		r.Finish = llm.FinishLength
	case types.StopReasonToolUse:
		r.Finish = llm.FinishTools
	case types.StopReasonGuardrailIntervened, types.StopReasonContentFiltered:
		r.Finish = llm.FinishFilter
	default:
		r.Finish = llm.FinishUnknown
	}
	r.Usage, r.UsageProblem = usage(out, reply)
	return r, nil
}
