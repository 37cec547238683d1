package llm

import (
	"strings"

	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// ParseChatCompletions reads the body of a request of the OpenAI chat completions API
// (https://platform.openai.com/docs/api-reference/chat/create) and prices it. The error
// is a [*RequestError].
//
// Known fields are read, bounded and rebuilt; all others are refused by name, and so is
// what the provider cannot carry. A field that is null counts as absent. Accepted and
// not passed on, since it would only tell the provider who the caller is: user,
// safety_identifier, prompt_cache_key and metadata; and what only says the default:
// n of 1, store of false, service_tier of auto or default, modalities of text.
func (s *Service) ParseChatCompletions(body []byte) (*Call, error) {
	return s.parse(ChatCompletions, body, (*reader).chatField, (*reader).checkTools)
}

func (r *reader) chatField(name string) (err error) {
	req, features := r.request, &r.service.features
	switch name {
	case "model":
		return r.model()
	case "messages":
		return r.Array(func(int) error { return r.chatMessage() })
	case "max_tokens", "max_completion_tokens":
		return r.outputLimit()
	case "temperature":
		return r.temperature(2)
	case "top_p":
		req.TopP, err = r.number(0, 1)
	case "stop":
		return r.stops(true)
	case "stream":
		r.call.stream, err = r.flag()
	case "stream_options":
		return r.chatStreamOptions()
	case "tools":
		if r.IsNull() {
			return nil
		}
		return r.Array(func(int) error { return r.chatTool() })
	case "tool_choice":
		return r.chatToolChoice()
	case "parallel_tool_calls":
		if req.ParallelToolCalls, err = r.optionalBool(); err == nil && req.ParallelToolCalls != nil && !*req.ParallelToolCalls && !features.SerialToolCalls {
			return r.refuse("false is not supported by the provider here: leave it out")
		}
	case "response_format":
		return r.chatFormat()
	case "frequency_penalty":
		return r.penalty(&req.FrequencyPenalty)
	case "presence_penalty":
		return r.penalty(&req.PresencePenalty)
	case "seed":
		if r.IsNull() {
			return nil
		}
		n, err := r.Int()
		req.Seed = &n
		return r.carried(err, features.Seed)
	case "reasoning_effort":
		req.ReasoningEffort, err = r.word("none", "minimal", "low", "medium", "high", "xhigh", "max")
		return r.carried(err, req.ReasoningEffort == "" || features.ReasoningEffort)
	case "verbosity":
		req.Verbosity, err = r.word("low", "medium", "high")
		return r.carried(err, req.Verbosity == "" || features.Verbosity)
	case "n":
		if r.IsNull() {
			return nil
		}
		n, err := r.Int()
		if err == nil && n != 1 {
			err = r.refuse("%d is not supported here, because every choice costs: leave it out, one is made", n)
		}
		return err
	case "store":
		if on, err := r.flag(); err != nil || !on {
			return err
		}
		return r.refuse("true is not supported here: leave it out, nothing is stored")
	case "service_tier":
		return r.only("auto", "default")
	case "modalities":
		if r.IsNull() {
			return nil
		}
		return r.Array(func(int) error { return r.only("text") })
	case "logprobs":
		if on, err := r.flag(); err != nil || !on {
			return err
		}
		return r.refuse("true is not supported here: leave it out")
	case "logit_bias":
		return r.emptyOrNull("is not supported here: leave it out")
	case "user", "safety_identifier", "prompt_cache_key", "metadata":
		return r.Skip()
	case "functions", "function_call":
		if r.IsNull() {
			return nil
		}
		if err := r.Skip(); err != nil {
			return err
		}
		return r.refuse("is the old form of tools: use tools and tool_choice")
	case "audio", "prediction", "web_search_options", "moderation", "prompt_cache_options", "prompt_cache_retention":
		return r.priced("it may change the price")
	case "top_logprobs":
		return r.priced("logprobs is not")
	default:
		return r.unknown()
	}
	return err
}

// carried refuses what was read if the provider cannot be told.
func (r *reader) carried(err error, can bool) error {
	if err == nil && !can {
		return r.refuse("is not supported by the provider here: leave it out")
	}
	return err
}

func (r *reader) chatStreamOptions() error {
	if r.IsNull() {
		return nil
	}
	return r.Object(func(name string) (err error) {
		switch name {
		case "include_usage":
			r.call.usage, err = r.flag()
		case "include_obfuscation":
			_, err = r.flag()
		default:
			err = r.unknown()
		}
		return err
	})
}

// chatMessage is what one message says, in whichever order its members came.
type chatMessage struct {
	role, name, toolCallID string
	texts                  []string
	refusal                string
	hasContent             bool
	calls                  []Part
}

func (r *reader) chatMessage() error {
	var m chatMessage
	err := r.Object(func(name string) (err error) {
		switch name {
		case "role":
			m.role, err = r.String()
			switch m.role {
			case "system", "developer", "user", "assistant", "tool":
			case "function":
				err = r.refuse(`"function" is the old form of "tool": use that`)
			default:
				if err == nil {
					err = strictjson.Errorf("%s is none of system, developer, user, assistant, tool", quote(m.role))
				}
			}
		case "content":
			return r.chatContent(&m)
		case "name":
			if r.IsNull() {
				return nil
			}
			if m.name, err = r.String(); err == nil && len(m.name) > maxNameBytes {
				err = strictjson.Errorf("longer than %d bytes", maxNameBytes)
			}
		case "refusal":
			if r.IsNull() {
				return nil
			}
			m.refusal, err = r.String()
		case "tool_calls":
			if r.IsNull() {
				return nil
			}
			return r.Array(func(int) error { return r.chatToolCall(&m) })
		case "tool_call_id":
			if !r.IsNull() {
				m.toolCallID, err = r.callID()
			}
		case "audio", "function_call":
			return r.priced("only text and tool calls are")
		case "annotations":
			return r.emptyOrNull("is not supported here: leave it out")
		default:
			return r.unknown()
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.addChatMessage(&m)
}

func (r *reader) addChatMessage(m *chatMessage) error {
	out := Message{}
	switch m.role {
	case "":
		return r.lack("role is missing: system, developer, user, assistant or tool")
	case "system", "developer":
		out.Role = System
	case "user", "tool":
		out.Role = User
	case "assistant":
		out.Role = Assistant
	}
	if m.role != "assistant" && (m.calls != nil || m.refusal != "") {
		return strictjson.Errorf("tool_calls and refusal belong to the assistant's messages")
	}
	if m.role != "tool" && m.toolCallID != "" {
		return strictjson.Errorf("tool_call_id belongs to the messages of tools")
	}
	if m.role == "tool" {
		if m.toolCallID == "" {
			return r.lack("tool_call_id is missing: say which call this is the result of")
		}
		if !m.hasContent {
			return r.lack("content is missing")
		}
		// The name of a tool that older clients write here is not a participant's.
		out.Parts = []Part{{Kind: ToolResult, ID: m.toolCallID, Text: strings.Join(m.texts, "")}}
		r.request.Messages = append(r.request.Messages, out)
		return nil
	}
	if m.name != "" && !r.service.features.Names {
		return r.refuse("name is not supported by the provider here: leave it out")
	}
	out.Name = m.name
	out.Parts = make([]Part, 0, len(m.texts)+len(m.calls)+1)
	for _, text := range m.texts {
		out.Parts = append(out.Parts, Part{Text: text})
	}
	if m.refusal != "" {
		out.Parts = append(out.Parts, Part{Text: m.refusal})
	}
	out.Parts = append(out.Parts, m.calls...)
	if len(out.Parts) == 0 {
		return r.lack("content is missing: send a text")
	}
	r.request.Messages = append(r.request.Messages, out)
	return nil
}

// chatContent reads a text, or a list of parts that are texts.
func (r *reader) chatContent(m *chatMessage) error {
	switch r.Kind() {
	case strictjson.Null:
		if !r.IsNull() {
			return r.Skip()
		}
		return nil
	case strictjson.String:
		text, err := r.String()
		m.texts, m.hasContent = []string{text}, true
		return err
	}
	m.hasContent = true
	return r.Array(func(int) error {
		var kind, text string
		var found bool
		err := r.Object(func(name string) (err error) {
			switch name {
			case "type":
				kind, err = r.String()
			case "text", "refusal":
				text, err = r.String()
				found = true
			case "image_url", "input_audio", "file", "video_url":
				return r.priced("only text is")
			default:
				return r.unknown()
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case kind == "":
			return r.lack("type is missing: only text is supported here")
		case kind != "text" && kind != "refusal":
			return r.refuse("type %s is not supported here: only text is", quote(kind))
		case !found:
			return r.lack("text is missing")
		}
		m.texts = append(m.texts, text)
		return nil
	})
}

func (r *reader) chatToolCall(m *chatMessage) error {
	call := Part{Kind: ToolCall}
	err := r.Object(func(name string) (err error) {
		switch name {
		case "id":
			call.ID, err = r.callID()
		case "type":
			err = r.only("function")
		case "function":
			return r.Object(func(name string) (err error) {
				switch name {
				case "name":
					call.Name, err = r.toolName()
				case "arguments":
					call.Arguments, err = r.arguments()
				default:
					err = r.unknown()
				}
				return err
			})
		default:
			err = r.unknown()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case call.ID == "":
		return r.lack("id is missing")
	case call.Name == "":
		return r.lack("function.name is missing")
	case call.Arguments == "":
		call.Arguments = "{}"
	}
	m.calls = append(m.calls, call)
	return nil
}

// arguments reads a string that holds a JSON object. Nothing is an object without
// members.
func (r *reader) arguments() (string, error) {
	s, err := r.String()
	if err != nil || strings.TrimSpace(s) == "" {
		return "", err
	}
	inner, err := strictjson.New([]byte(s))
	if err == nil {
		if inner.Kind() != strictjson.Object {
			return "", strictjson.Errorf("has to be a JSON object, in a string")
		}
		if err = inner.Skip(); err == nil {
			err = inner.End()
		}
	}
	if err != nil {
		return "", strictjson.Errorf("has to be a JSON object, in a string: %s", err.Error())
	}
	return s, nil
}

func (r *reader) chatTool() error {
	var kind string
	var t Tool
	var seen bool
	err := r.Object(func(name string) (err error) {
		switch name {
		case "type":
			if kind, err = r.String(); err == nil && kind != "function" {
				err = r.refuse("%s is not supported here: only function is", quote(kind))
			}
		case "function":
			seen = true
			return r.Object(func(name string) (err error) {
				switch name {
				case "name":
					t.Name, err = r.toolName()
				case "description":
					if !r.IsNull() {
						t.Description, err = r.String()
					}
				case "parameters":
					if !r.IsNull() {
						t.Schema, err = r.object()
					}
				case "strict":
					t.Strict, err = r.optionalBool()
				default:
					err = r.unknown()
				}
				return err
			})
		default:
			err = r.unknown()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return r.lack("type is missing: function")
	case !seen:
		return r.lack("function is missing")
	}
	return r.addTool(t)
}

// addTool completes a tool and adds it.
func (r *reader) addTool(t Tool) error {
	if t.Name == "" {
		return r.lack("the name of the tool is missing")
	}
	if t.Schema == "" {
		t.Schema = `{"type":"object","properties":{}}`
	}
	for _, other := range r.request.Tools {
		if other.Name == t.Name {
			return strictjson.Errorf("%s is the name of another tool already", quote(t.Name))
		}
	}
	const most = 128 // as OpenAI has it
	if len(r.request.Tools) == most {
		return strictjson.Errorf("more than %d tools", most)
	}
	r.request.Tools = append(r.request.Tools, t)
	return nil
}

func (r *reader) chatToolChoice() error {
	c := &r.request.ToolChoice
	switch r.Kind() {
	case strictjson.Null:
		if !r.IsNull() {
			return r.Skip()
		}
		return nil
	case strictjson.String:
		s, err := r.word("none", "auto", "required")
		switch s {
		case "none":
			c.Mode = ToolsNone
		case "auto":
			c.Mode = ToolsAuto
		case "required":
			c.Mode = ToolsRequired
		}
		return err
	}
	var kind string
	err := r.Object(func(name string) (err error) {
		switch name {
		case "type":
			if kind, err = r.String(); err == nil && kind != "function" {
				err = r.refuse("%s is not supported here: only function is", quote(kind))
			}
		case "function":
			return r.Object(func(name string) (err error) {
				if name == "name" {
					c.Name, err = r.toolName()
					return err
				}
				return r.unknown()
			})
		default:
			err = r.unknown()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return r.lack("type is missing: function")
	case c.Name == "":
		return r.lack("function.name is missing")
	}
	c.Mode = ToolsNamed
	return nil
}

// checkTools checks what only the whole request shows.
func (r *reader) checkTools() error {
	c := r.request.ToolChoice
	if c.Mode == ToolsUnset {
		return nil
	}
	refuse := func(text string) error {
		return &RequestError{Status: 422, Code: CodeInvalid, Param: "tool_choice", Message: "tool_choice: " + text}
	}
	if len(r.request.Tools) == 0 {
		if c.Mode == ToolsNone || c.Mode == ToolsAuto {
			r.request.ToolChoice = ToolChoice{}
			return nil
		}
		return refuse("there are no tools to choose from: send tools, or leave it out.")
	}
	if c.Mode == ToolsNone && !r.service.features.NoToolChoice {
		return &RequestError{Status: 422, Code: CodeUnsupported, Param: "tool_choice", Message: "tool_choice: none is not supported by the provider here: leave the tools out instead."}
	}
	if c.Mode == ToolsNamed {
		for _, t := range r.request.Tools {
			if t.Name == c.Name {
				return nil
			}
		}
		return refuse(quote(c.Name) + " is none of the tools.")
	}
	return nil
}

func (r *reader) chatFormat() error {
	if r.IsNull() {
		return nil
	}
	var kind string
	var f Format
	var schema bool
	err := r.Object(func(name string) (err error) {
		switch name {
		case "type":
			kind, err = r.word("text", "json_object", "json_schema")
		case "json_schema":
			schema = true
			return r.Object(func(name string) (err error) {
				switch name {
				case "name":
					f.Name, err = r.toolName()
				case "description":
					if !r.IsNull() {
						f.Description, err = r.String()
					}
				case "schema":
					f.Schema, err = r.object()
				case "strict":
					f.Strict, err = r.optionalBool()
				default:
					err = r.unknown()
				}
				return err
			})
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
		return r.lack("type is missing: text, json_object or json_schema")
	case "json_object":
		r.request.Format = &Format{}
		return r.carried(nil, r.service.features.JSONObject)
	case "json_schema":
		if !schema || f.Name == "" || f.Schema == "" {
			return r.lack("json_schema has to have a name and a schema")
		}
		r.request.Format = &f
		return r.carried(nil, r.service.features.JSONSchema)
	}
	return nil
}
