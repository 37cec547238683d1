package llm

// chatCompletion writes an answer as the object chat.completion
// (https://platform.openai.com/docs/api-reference/chat/object).
func (c *Call) chatCompletion(r *Response, u *Usage) []byte {
	b := make([]byte, 0, 512+textSize(r))
	b = c.appendChatHead(b, id(r.ID, "chatcmpl-"), "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	text, calls := split(r)
	if text == "" && (len(calls) > 0 || r.Refusal != "") {
		b = append(b, "null"...)
	} else {
		b = appendString(b, text)
	}
	b = append(b, `,"refusal":`...)
	if r.Refusal == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, r.Refusal)
	}
	if len(calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i := range calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendChatToolCall(append(b, '{'), &calls[i])
		}
		b = append(b, ']')
	}
	b = append(b, `},"logprobs":null,"finish_reason":"`...)
	b = append(b, chatFinish(r)...)
	b = append(b, `"}]`...)
	if u != nil {
		b = append(b, `,"usage":`...)
		b = appendChatUsage(b, u)
	}
	return append(b, '}')
}

// chatChunks writes an answer as the events of a stream, all of them at once: objects
// chat.completion.chunk, with the usage in one of its own if it was asked for, and the
// end (https://platform.openai.com/docs/api-reference/chat-streaming).
func (c *Call) chatChunks(r *Response, u *Usage) []byte {
	head := append(c.appendChatHead([]byte("data: "), id(r.ID, "chatcmpl-"), "chat.completion.chunk"), `,"choices":[`...)
	tail := []byte("]}\n\n")
	if c.usage {
		tail = []byte("],\"usage\":null}\n\n")
	}
	b := make([]byte, 0, 5*len(head)+512+2*textSize(r))
	chunk := func(delta func([]byte) []byte, finish string) {
		b = append(append(b, head...), `{"index":0,"delta":{`...)
		b = delta(b)
		b = append(b, `},"logprobs":null,"finish_reason":`...)
		if finish == "" {
			b = append(b, "null"...)
		} else {
			b = append(append(append(b, '"'), finish...), '"')
		}
		b = append(append(b, '}'), tail...)
	}
	literal := func(s string) func([]byte) []byte {
		return func(b []byte) []byte { return append(b, s...) }
	}
	text, calls := split(r)
	chunk(literal(`"role":"assistant","content":"","refusal":null`), "")
	if text != "" {
		chunk(func(b []byte) []byte { return appendString(append(b, `"content":`...), text) }, "")
	}
	if r.Refusal != "" {
		chunk(func(b []byte) []byte { return appendString(append(b, `"refusal":`...), r.Refusal) }, "")
	}
	for i := range calls {
		chunk(func(b []byte) []byte {
			b = append(b, `"tool_calls":[{"index":`...)
			b = append(appendInt(b, int64(i)), ',')
			return append(appendChatToolCall(b, &calls[i]), ']')
		}, "")
	}
	chunk(literal(""), chatFinish(r))
	if c.usage && u != nil {
		b = append(append(b, head...), `],"usage":`...)
		b = append(appendChatUsage(b, u), "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// appendChatHead appends an object up to its model, without its end.
func (c *Call) appendChatHead(b []byte, id, object string) []byte {
	b = appendString(append(b, `{"id":`...), id)
	b = append(append(append(b, `,"object":"`...), object...), `","created":`...)
	b = appendInt(b, c.service.now().Unix())
	return appendString(append(b, `,"model":`...), c.model.Name)
}

// appendChatToolCall appends the members of a tool call and the end of it.
func appendChatToolCall(b []byte, p *Part) []byte {
	b = appendString(append(b, `"id":`...), p.ID)
	b = appendString(append(b, `,"type":"function","function":{"name":`...), p.Name)
	b = appendString(append(b, `,"arguments":`...), p.Arguments)
	return append(b, "}}"...)
}

// appendChatUsage appends a usage, in which the input includes what was cached.
func appendChatUsage(b []byte, u *Usage) []byte {
	b = appendInt(append(b, `{"prompt_tokens":`...), u.total())
	b = appendInt(append(b, `,"completion_tokens":`...), u.Output)
	b = appendInt(append(b, `,"total_tokens":`...), u.total()+u.Output)
	b = appendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), u.CachedInput)
	b = appendInt(append(b, `},"completion_tokens_details":{"reasoning_tokens":`...), u.Reasoning)
	return append(b, "}}"...)
}

func chatFinish(r *Response) string {
	switch r.Finish {
	case FinishLength:
		return "length"
	case FinishTools:
		return "tool_calls"
	case FinishFilter:
		return "content_filter"
	}
	return "stop"
}

// split gives the text of an answer and its tool calls.
func split(r *Response) (text string, calls []Part) {
	for i := range r.Parts {
		switch p := &r.Parts[i]; p.Kind {
		case Text:
			text += p.Text
		case ToolCall:
			calls = append(calls, *p)
		}
	}
	return text, calls
}

// textSize is about how large the texts of an answer are.
func textSize(r *Response) int {
	n := len(r.Refusal)
	for i := range r.Parts {
		p := &r.Parts[i]
		n += len(p.Text) + len(p.ID) + len(p.Name) + len(p.Arguments) + 64
	}
	return n + n/8
}
