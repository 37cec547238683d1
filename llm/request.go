package llm

// Request is one call in a form that every provider can be asked in. It holds what was
// read from the caller's request, bounded and complete: nothing else is sent.
type Request struct {
	Model    string    // the provider's name for it
	Messages []Message // the operator's system prompt first, if there is one

	Tools             []Tool
	ToolChoice        ToolChoice
	ParallelToolCalls *bool // nil leaves it to the provider

	MaxOutputTokens int // always positive

	// What nil or "" leaves to the provider.
	Temperature, TopP                 *float64
	FrequencyPenalty, PresencePenalty *float64
	TopK, Seed                        *int64
	Stop                              []string
	Format                            *Format
	ReasoningEffort, Verbosity        string
}

// Role says whose message it is.
type Role byte

const (
	System    Role = iota // instructions
	User                  // the user, and the results of tools
	Assistant             // the model
)

// Message is one message of the conversation.
type Message struct {
	Role  Role
	Name  string // of the participant, empty for none
	Parts []Part // not empty; only User has results, only Assistant has calls
}

// PartKind says what a [Part] is.
type PartKind byte

const (
	Text       PartKind = iota
	ToolCall            // the model wants a tool to be called
	ToolResult          // what the tool said
)

// Part is a piece of a message, of a request or of an answer.
type Part struct {
	Kind      PartKind
	Text      string // of a Text or a ToolResult
	ID        string // of the call, also in its result
	Name      string // of the tool that is called
	Arguments string // of the call, a JSON object
	IsError   bool   // the tool failed
}

// Tool is a function that the caller offers.
type Tool struct {
	Name, Description string
	Schema            string // JSON schema of the arguments, a JSON object
	Strict            *bool  // hold the arguments to the schema; nil leaves it to the provider
}

// ToolMode says whether tools are called.
type ToolMode byte

const (
	ToolsUnset    ToolMode = iota // leave it to the provider
	ToolsAuto                     // the model decides
	ToolsNone                     // none is called
	ToolsRequired                 // some tool is called
	ToolsNamed                    // the named one is called
)

// ToolChoice says which tools are called.
type ToolChoice struct {
	Mode ToolMode
	Name string // of the tool, for ToolsNamed
}

// Format holds the answer to be JSON.
type Format struct {
	Schema            string // JSON schema, a JSON object; empty for any JSON object
	Name, Description string
	Strict            *bool
}

// Response is what a provider answered.
type Response struct {
	ID    string // the provider's, may be empty
	Parts []Part // Text and ToolCall
	// Refusal is what the model said instead, where the provider tells that apart.
	Refusal      string
	Finish       Finish
	StopSequence string // the one that was hit, if the provider tells

	// Usage is nil if the provider did not say what it will bill, or said something that
	// cannot be, or something that no price is known for. UsageProblem then says which.
	Usage        *Usage
	UsageProblem string
}

// Finish says why the model stopped.
type Finish byte

const (
	FinishStop    Finish = iota // it was done, or hit a stop sequence
	FinishLength                // the output limit or the context was used up
	FinishTools                 // it calls tools
	FinishFilter                // it, or a filter, refused
	FinishUnknown               // the provider said something else
)
