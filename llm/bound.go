package llm

// How many tokens the input of a call can have at most is bounded by its bytes: the
// tokenizers of language models work on UTF-8 bytes, and a token is at least one of
// them. Around what is sent, chat templates put tokens of their own, and they write
// JSON in another way than it came. The constants below are well above what the
// templates of known models and the documented overheads come to.
const (
	// perMessage covers role markers, the end of the turn, and line breaks: 3 to 8.
	perMessage = 16

	// perTool covers the wrapping of a tool definition, of a call and of a result.
	perTool = 64

	// perRequest covers the start of the answer and what templates say of their own
	// accord: dates, channels, or a default system prompt of a few hundred tokens.
	perRequest = 512

	// withTools covers the instructions that go with tools. Anthropic documents up to
	// 530 (https://docs.anthropic.com/en/docs/tool-use-pricing-and-tokens).
	withTools = 1024

	// withFormat covers the instructions that go with structured output.
	withFormat = 512

	// MaxOverhead is the most that the worst case of a call counts on top of
	// [Config.MaxInputBytes].
	MaxOverhead = perRequest + withTools + withFormat
)

// counted is what a request counts against [Config.MaxInputBytes].
func (r *Request) counted() int64 {
	var n int64
	for i := range r.Messages {
		m := &r.Messages[i]
		n += perMessage + int64(len(m.Name))
		for j := range m.Parts {
			switch p := &m.Parts[j]; p.Kind {
			case Text:
				n += int64(len(p.Text))
			case ToolCall:
				n += perTool + int64(len(p.ID)+len(p.Name)) + rewritten(p.Arguments)
			case ToolResult:
				n += perTool + int64(len(p.ID)) + rewritten(p.Text)
			}
		}
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		n += perTool + int64(len(t.Name)) + rewritten(t.Description) + rewritten(t.Schema)
	}
	if f := r.Format; f != nil {
		n += int64(len(f.Name)) + rewritten(f.Description) + rewritten(f.Schema)
	}
	return n + int64(len(r.ToolChoice.Name))
}

// overhead is what a request counts besides, at most [MaxOverhead].
func (r *Request) overhead() int64 {
	var n int64 = perRequest
	if len(r.Tools) > 0 {
		n += withTools
	}
	if r.Format != nil {
		n += withFormat
	}
	return n
}

// rewritten bounds the bytes that a text has after an upstream has read it and written
// it again as JSON: with its quotes and control characters escaped, <, > and & as \u003c
// and the like, and with spaces and line breaks around its punctuation.
func rewritten(s string) int64 {
	n := int64(len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			n++
		case '{', '}', '[', ']', ':', ',':
			n += 2
		case '<', '>', '&':
			n += 5
		default:
			if c < ' ' {
				n += 5
			}
		}
	}
	return n
}

// maxInputTokens bounds the input of every request that is accepted.
func (c Config) maxInputTokens() int64 { return int64(c.MaxInputBytes) + MaxOverhead }
