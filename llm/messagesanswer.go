package llm

// message writes an answer as the object message
// (https://docs.anthropic.com/en/api/messages).
func (c *Call) message(r *Response, u *Usage) []byte {
	b := make([]byte, 0, 512+textSize(r))
	b = c.appendMessageHead(b, r)
	n := 0
	eachBlock(r, func(p *Part) {
		if n++; n > 1 {
			b = append(b, ',')
		}
		if p.Kind == Text {
			b = append(appendString(append(b, `{"type":"text","text":`...), p.Text), '}')
			return
		}
		b = appendToolUse(b, p)
		b = append(append(append(b, `,"input":`...), object(p.Arguments)...), '}')
	})
	b = append(b, `],`...)
	b = appendStop(b, r)
	b = append(b, `,"usage":`...)
	return append(appendMessageUsage(b, u, true), '}')
}

// messageEvents writes an answer as the events of a stream, all of them at once
// (https://docs.anthropic.com/en/api/messages-streaming).
func (c *Call) messageEvents(r *Response, u *Usage) []byte {
	b := make([]byte, 0, 1536+2*textSize(r))
	event := func(name string) {
		b = append(append(append(b, "event: "...), name...), "\ndata: {\"type\":\""...)
		b = append(append(b, name...), '"')
	}
	end := func() { b = append(b, "}\n\n"...) }

	event("message_start")
	b = c.appendMessageHead(append(b, `,"message":`...), r)
	b = append(b, `],"stop_reason":null,"stop_sequence":null,"usage":`...)
	b = append(appendMessageUsage(b, u, false), '}')
	end()
	n := int64(0)
	eachBlock(r, func(p *Part) {
		event("content_block_start")
		b = append(appendInt(append(b, `,"index":`...), n), `,"content_block":`...)
		if p.Kind == Text {
			b = append(b, `{"type":"text","text":""}`...)
		} else {
			b = append(appendToolUse(b, p), `,"input":{}}`...)
		}
		end()
		event("content_block_delta")
		b = append(appendInt(append(b, `,"index":`...), n), `,"delta":`...)
		if p.Kind == Text {
			b = appendString(append(b, `{"type":"text_delta","text":`...), p.Text)
		} else {
			b = appendString(append(b, `{"type":"input_json_delta","partial_json":`...), object(p.Arguments))
		}
		b = append(b, '}')
		end()
		event("content_block_stop")
		b = appendInt(append(b, `,"index":`...), n)
		end()
		n++
	})
	event("message_delta")
	b = append(appendStop(append(b, `,"delta":{`...), r), `},"usage":`...)
	b = appendMessageUsage(b, u, true)
	end()
	event("message_stop")
	end()
	return b
}

// appendMessageHead appends a message up to the start of its content.
func (c *Call) appendMessageHead(b []byte, r *Response) []byte {
	b = appendString(append(b, `{"id":`...), id(r.ID, "msg_"))
	b = appendString(append(b, `,"type":"message","role":"assistant","model":`...), c.model.Name)
	return append(b, `,"content":[`...)
}

// eachBlock gives the content of an answer, without what is empty: Anthropic has no
// empty blocks.
func eachBlock(r *Response, f func(*Part)) {
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == ToolCall || p.Text != "" {
			f(p)
		}
	}
	if r.Refusal != "" {
		f(&Part{Text: r.Refusal})
	}
}

// appendToolUse appends a tool_use up to its input.
func appendToolUse(b []byte, p *Part) []byte {
	b = appendString(append(b, `{"type":"tool_use","id":`...), p.ID)
	return appendString(append(b, `,"name":`...), p.Name)
}

func appendStop(b []byte, r *Response) []byte {
	b = append(append(append(b, `"stop_reason":"`...), messageStop(r)...), `","stop_sequence":`...)
	if r.StopSequence == "" {
		return append(b, "null"...)
	}
	return appendString(b, r.StopSequence)
}

func messageStop(r *Response) string {
	switch {
	case r.Refusal != "" || r.Finish == FinishFilter:
		return "refusal"
	case r.Finish == FinishLength:
		return "max_tokens"
	case r.Finish == FinishTools:
		return "tool_use"
	case r.StopSequence != "":
		return "stop_sequence"
	}
	return "end_turn"
}

// appendMessageUsage appends a usage, in which the input does not include what was
// cached. The API always has one, so what is unknown is 0.
func appendMessageUsage(b []byte, u *Usage, complete bool) []byte {
	var known Usage
	if u != nil {
		known = *u
	}
	if !complete {
		known.Output = 0
	}
	b = appendInt(append(b, `{"input_tokens":`...), known.Input)
	b = appendInt(append(b, `,"cache_creation_input_tokens":`...), known.CacheWrite)
	b = appendInt(append(b, `,"cache_read_input_tokens":`...), known.CachedInput)
	b = appendInt(append(b, `,"output_tokens":`...), known.Output)
	return append(b, '}')
}
