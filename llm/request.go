package llm

import "encoding/json"

// Request is what is sent to a provider, rebuilt from the fields we know and price.
type Request struct {
	Model       string   // what the provider calls it
	System      []string // the operator's prompt first
	Messages    []Message
	Tools       []Tool
	ToolChoice  ToolChoice
	MaxTokens   int
	Temperature *float64
	TopP        *float64
	Stop        []string
}

// Role says whose message it is.
type Role string

const (
	RoleUser      Role = "user" // the results of tools too
	RoleAssistant Role = "assistant"
)

// Message is one turn. Roles alternate: turns of one role in a row are one message.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is a piece of a message: exactly one of its fields is set.
type Part struct {
	Text   string
	Call   *ToolCall   // in an assistant's message
	Result *ToolResult // in a user's message
}

// ToolCall is the model's wish that a tool be called.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage // a JSON object
}

// ToolResult is what a tool answered.
type ToolResult struct {
	CallID  string
	Text    string
	IsError bool
}

// Tool is a tool that the model may ask for. It runs on the caller's side.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage // JSON Schema of the arguments, an object; nil: none
}

// ToolChoice says whether the model has to ask for a tool.
type ToolChoice struct {
	Mode string // "" or "auto", "none", "required", "tool"
	Name string // the tool, for "tool"
}

// A token is at least a byte: byte-pair encodings start from single bytes and only ever
// merge them. What a provider adds around the text is not in those bytes; these are
// bounds on it, in tokens.
const (
	overheadRequest = 64   // begin and end of the conversation, the role of the answer
	overheadMessage = 16   // role and separators of a message or of a part of one
	overheadTool    = 64   // what a tool's schema is wrapped in
	overheadTools   = 1024 // a provider's own instructions for using tools, once
)

// bytes is how many bytes of the caller's, the operator's and the schemas' text the
// request makes us send.
func (r *Request) bytes() int {
	n := len(r.ToolChoice.Name)
	for _, s := range r.System {
		n += len(s)
	}
	for _, s := range r.Stop {
		n += len(s)
	}
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
			if p.Call != nil {
				n += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.CallID) + len(p.Result.Text)
			}
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// The numbers of pieces are bounded, so that the overhead is, too.
const (
	maxParts = 512 // messages and parts of messages
	maxTools = 64
)

func (r *Request) parts() int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Parts)
	}
	return n
}

// inputTokens bounds what the provider can count as input.
func (r *Request) inputTokens() int64 {
	n := r.bytes() + overheadRequest + overheadMessage*(r.parts()+len(r.Messages))
	if len(r.Tools) > 0 {
		n += overheadTools + overheadTool*len(r.Tools)
	}
	return int64(n)
}

// maxInputTokens bounds inputTokens for every request that is accepted.
func (c Config) maxInputTokens() int64 {
	return int64(c.MaxInputBytes + overheadRequest + 2*overheadMessage*maxParts + overheadTools + overheadTool*maxTools)
}

// say adds a part to the conversation, in the last message if that has the same role.
func (r *Request) say(role Role, p Part) {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role {
		r.Messages[n-1].Parts = append(r.Messages[n-1].Parts, p)
		return
	}
	r.Messages = append(r.Messages, Message{role, []Part{p}})
}
