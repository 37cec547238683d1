package llm

// Overheads, in tokens: what chat templates put around what is sent.
const (
	perRequest = 64
	perMessage = 16
)

// systemBound is what the operator's system prompt counts as, at most.
func systemBound(prompt string) int { return perRequest + perMessage + len(prompt) }
