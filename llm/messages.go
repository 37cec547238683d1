package llm

import (
	"slices"

	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// ParseMessages reads the body of a request of the Anthropic messages API
// (https://docs.anthropic.com/en/api/messages) and prices it. The error is a
// [*RequestError].
//
// It does as [Service.ParseChatCompletions] does. Accepted and not passed on: metadata,
// service_tier of auto or standard_only, thinking that is disabled. Caching is not
// offered, because writes to a cache have a price of their own: cache_control is
// refused. max_tokens may be left out, and is the operator's limit then.
func (s *Service) ParseMessages(body []byte) (*Call, error) {
	return s.parse(Messages, body, (*reader).messagesField, (*reader).finishMessages)
}

func (r *reader) messagesField(name string) (err error) {
	req, features := r.request, &r.service.features
	switch name {
	case "model":
		return r.model()
	case "messages":
		return r.Array(func(int) error { return r.message() })
	case "system":
		return r.messageSystem()
	case "max_tokens":
		return r.outputLimit()
	case "temperature":
		return r.temperature(1)
	case "top_p":
		req.TopP, err = r.number(0, 1)
	case "top_k":
		if r.IsNull() {
			return nil
		}
		n, err := r.Int()
		if err == nil && n < 0 {
			err = strictjson.Errorf("%d is negative", n)
		}
		req.TopK = &n
		return r.carried(err, features.TopK)
	case "stop_sequences":
		return r.stops(false)
	case "stream":
		r.call.stream, err = r.flag()
	case "tools":
		if r.IsNull() {
			return nil
		}
		return r.Array(func(int) error { return r.messageTool() })
	case "tool_choice":
		return r.messageToolChoice()
	case "output_config":
		return r.messageFormat()
	case "thinking":
		return r.thinking()
	case "service_tier":
		return r.only("auto", "standard_only")
	case "speed":
		return r.only("standard")
	case "metadata":
		return r.Skip()
	case "cache_control", "container", "mcp_servers", "inference_geo":
		return r.priced("it may change the price")
	case "context_management":
		return r.priced("only what is sent is passed on")
	default:
		return r.unknown()
	}
	return err
}

// finishMessages puts the system prompt, which may stand anywhere in the request,
// before the messages, and after the operator's.
func (r *reader) finishMessages() error {
	messages := r.request.Messages[len(r.service.system):]
	at := slices.IndexFunc(messages, func(m Message) bool { return m.Role == System })
	if at >= 0 {
		if len(messages) == 1 {
			return &RequestError{Status: 422, Code: CodeMissing, Param: "messages", Message: "messages is missing or empty: send at least one message."}
		}
		m := messages[at]
		copy(messages[1:at+1], messages[:at])
		messages[0] = m
	}
	return r.checkTools()
}

func (r *reader) messageSystem() error {
	if r.IsNull() {
		return nil
	}
	m := Message{Role: System}
	if err := r.blocks(&m, r.textBlock); err != nil || len(m.Parts) == 0 {
		return err
	}
	r.request.Messages = append(r.request.Messages, m)
	return nil
}

// blocks reads a text, or a list of content blocks with read.
func (r *reader) blocks(m *Message, read func(*Message) error) error {
	if r.Kind() == strictjson.String {
		text, err := r.String()
		if err == nil && text != "" {
			m.Parts = append(m.Parts, Part{Text: text})
		}
		return err
	}
	return r.Array(func(int) error { return read(m) })
}

// block is what one content block says, in whichever order its members came.
type block struct {
	kind, text string
	id, name   string
	input      string
	toolUseID  string
	result     string
	isError    bool
	hasText    bool
}

func (r *reader) block(b *block) error {
	return r.Object(func(name string) (err error) {
		switch name {
		case "type":
			if b.kind, err = r.String(); err == nil {
				switch b.kind {
				case "text", "tool_use", "tool_result":
				default:
					err = r.refuse("%s is not supported here: only text, tool_use and tool_result are", quote(b.kind))
				}
			}
		case "text":
			b.text, err = r.String()
			b.hasText = true
		case "id":
			b.id, err = r.callID()
		case "name":
			b.name, err = r.toolName()
		case "input":
			b.input, err = r.object()
		case "tool_use_id":
			b.toolUseID, err = r.callID()
		case "is_error":
			b.isError, err = r.flag()
		case "content":
			b.result, err = r.toolResult()
		case "citations":
			err = r.emptyOrNull("is not supported here: leave it out")
		case "cache_control":
			err = r.priced("writes to a cache have a price of their own")
		case "source", "file_id", "image", "document":
			err = r.priced("only text is")
		default:
			err = r.unknown()
		}
		return err
	})
}

func (r *reader) textBlock(m *Message) error {
	var b block
	if err := r.block(&b); err != nil {
		return err
	}
	return r.addBlock(m, &b, true)
}

func (r *reader) addBlock(m *Message, b *block, textOnly bool) error {
	switch {
	case b.kind == "":
		return r.lack("type is missing")
	case b.kind == "text":
		if !b.hasText {
			return r.lack("text is missing")
		}
		m.Parts = append(m.Parts, Part{Text: b.text})
	case textOnly:
		return strictjson.Errorf("only text may stand here, not %s", b.kind)
	case b.kind == "tool_use":
		if b.id == "" || b.name == "" || b.input == "" {
			return r.lack("a tool_use has an id, a name and an input")
		}
		m.Parts = append(m.Parts, Part{Kind: ToolCall, ID: b.id, Name: b.name, Arguments: b.input})
	default:
		if b.toolUseID == "" {
			return r.lack("tool_use_id is missing: say which call this is the result of")
		}
		m.Parts = append(m.Parts, Part{Kind: ToolResult, ID: b.toolUseID, Text: b.result, IsError: b.isError})
	}
	return nil
}

// toolResult reads the content of a tool_result: a text, or blocks of text.
func (r *reader) toolResult() (string, error) {
	if r.IsNull() {
		return "", nil
	}
	var m Message
	if err := r.blocks(&m, r.textBlock); err != nil {
		return "", err
	}
	var text string
	for _, p := range m.Parts {
		text += p.Text
	}
	return text, nil
}

func (r *reader) message() error {
	var role string
	var m Message
	err := r.Object(func(name string) (err error) {
		switch name {
		case "role":
			role, err = r.String()
			switch {
			case err != nil:
			case role == "system":
				err = r.refuse(`"system" is not supported here: use the member system of the request`)
			case role != "user" && role != "assistant":
				err = strictjson.Errorf("%s is neither user nor assistant", quote(role))
			}
		case "content":
			err = r.blocks(&m, func(m *Message) error {
				var b block
				if err := r.block(&b); err != nil {
					return err
				}
				return r.addBlock(m, &b, false)
			})
		default:
			err = r.unknown()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case role == "":
		return r.lack("role is missing: user or assistant")
	case len(m.Parts) == 0:
		return r.lack("content is missing or empty: send a text")
	case role == "assistant":
		m.Role = Assistant
	default:
		m.Role = User
	}
	for i := range m.Parts {
		if k := m.Parts[i].Kind; k == ToolCall && m.Role == User || k == ToolResult && m.Role == Assistant {
			return strictjson.Errorf("tool_use belongs to the assistant's messages and tool_result to the user's")
		}
	}
	r.request.Messages = append(r.request.Messages, m)
	return nil
}

func (r *reader) messageTool() error {
	var t Tool
	var schema bool
	err := r.Object(func(name string) (err error) {
		switch name {
		case "type":
			err = r.only("custom")
		case "name":
			t.Name, err = r.toolName()
		case "description":
			if !r.IsNull() {
				t.Description, err = r.String()
			}
		case "input_schema":
			schema = true
			t.Schema, err = r.object()
		case "strict":
			t.Strict, err = r.optionalBool()
		case "cache_control":
			err = r.priced("writes to a cache have a price of their own")
		default:
			err = r.unknown()
		}
		return err
	})
	if err == nil && !schema {
		err = r.lack("input_schema is missing")
	}
	if err != nil {
		return err
	}
	return r.addTool(t)
}

func (r *reader) messageToolChoice() error {
	if r.IsNull() {
		return nil
	}
	c := &r.request.ToolChoice
	var kind string
	err := r.Object(func(name string) (err error) {
		switch name {
		case "type":
			kind, err = r.word("auto", "any", "tool", "none")
		case "name":
			c.Name, err = r.toolName()
		case "disable_parallel_tool_use":
			var serial bool
			if serial, err = r.flag(); err == nil && serial {
				parallel := false
				r.request.ParallelToolCalls = &parallel
				err = r.carried(nil, r.service.features.SerialToolCalls)
			}
		default:
			err = r.unknown()
		}
		return err
	})
	if err != nil {
		return err
	}
	switch kind {
	case "":
		return r.lack("type is missing: auto, any, tool or none")
	case "auto":
		c.Mode = ToolsAuto
	case "any":
		c.Mode = ToolsRequired
	case "none":
		c.Mode = ToolsNone
	case "tool":
		if c.Name == "" {
			return r.lack("name is missing: say which tool")
		}
		c.Mode = ToolsNamed
		return nil
	}
	c.Name = ""
	return nil
}

func (r *reader) messageFormat() error {
	if r.IsNull() {
		return nil
	}
	return r.Object(func(name string) error {
		switch name {
		case "format":
			if r.IsNull() {
				return nil
			}
		default:
			return r.unknown()
		}
		var kind string
		f := Format{Name: "answer"}
		err := r.Object(func(name string) (err error) {
			switch name {
			case "type":
				err = r.only("json_schema")
				kind = "json_schema"
			case "schema":
				f.Schema, err = r.object()
			default:
				err = r.unknown()
			}
			return err
		})
		if err == nil && (kind == "" || f.Schema == "") {
			err = r.lack("a format has a type, json_schema, and a schema")
		}
		r.request.Format = &f
		return r.carried(err, r.service.features.JSONSchema)
	})
}

func (r *reader) thinking() error {
	if r.IsNull() {
		return nil
	}
	return r.Object(func(name string) error {
		if name == "type" {
			return r.only("disabled")
		}
		return r.unknown()
	})
}
