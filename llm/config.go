package llm

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"unicode/utf8"
)

// The providers.
const (
	ProviderDemo      = "demo"
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	ProviderBedrock   = "bedrock"
)

// Config is what the operator allows the public to do.
type Config struct {
	Provider string // one of the Provider constants
	BaseURL  string // an upstream other than the provider's own; openai and anthropic only

	// MaxInputBytes bounds what a request may make us send: the UTF-8 bytes of all of it,
	// the operator's prompt and tool schemas too, plus 16 for each message and 64 for each
	// tool, tool call and result. JSON counts more than its bytes, because providers write
	// it in their own way. The worst case adds up to [MaxOverhead] tokens for what they
	// put around the messages.
	MaxInputBytes int

	SystemPrompt string // goes before everything a caller sends; a caller cannot replace it
	Temperature  *Range // what a caller may ask for; nil: 0 to 2
	Models       []Model
}

// Range is an inclusive interval.
type Range struct{ Min, Max float64 }

// Model is a model that callers may use.
type Model struct {
	Name            string // what callers write
	Upstream        string // what the provider calls it; empty: the same
	Price           Price
	MaxOutputTokens int // the most a call may produce; a caller may ask for less
}

// Price is what a model's tokens cost. Input and Output are required.
type Price struct {
	Input       Rate
	CachedInput Rate // input read from the provider's cache; 0: as Input

	// CacheWrite is for input that the provider writes to its cache. OpenAI does so
	// without being asked, and takes 1.25 times Input from GPT-5.6 on and nothing extra
	// before (https://developers.openai.com/api/docs/guides/prompt-caching); the others are
	// never asked to. 0: the worst case counts it as Input, and a call that reports such
	// writes all the same is not settled.
	CacheWrite Rate

	Output      Rate
	LongContext *LongContext // nil: one price for every length
}

// LongContext is the price of a whole call whose input is longer than AboveInputTokens.
type LongContext struct {
	AboveInputTokens int
	Input            Rate
	CachedInput      Rate // 0: as Input
	Output           Rate
	// Writes to the cache keep their proportion to the input.
}

// maxInputBytes bounds what an operator can set: a body has to pass API Gateway and
// Lambda (6 MB), escaped.
const maxInputBytes = 1 << 20

const maxOutputTokens = 1 << 20

// Check tells whether the configuration is usable. Each of the errors it joins names
// the field of spendcap.yaml and the remedy.
func (c Config) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("llm."+format, args...)) }
	switch c.Provider {
	case ProviderDemo, ProviderBedrock:
		if c.BaseURL != "" {
			bad("base_url: the provider %s has none; leave it out", c.Provider)
		}
	case ProviderOpenAI, ProviderAnthropic:
		c.checkBaseURL(bad)
	default:
		bad("provider: %q is not one of demo, openai, anthropic, bedrock", c.Provider)
	}
	if c.MaxInputBytes < 1 || c.MaxInputBytes > maxInputBytes {
		bad("max_input_bytes: want 1 to %d, got %d", maxInputBytes, c.MaxInputBytes)
	}
	switch {
	case !utf8.ValidString(c.SystemPrompt):
		bad("system_prompt: not valid UTF-8")
	case c.SystemPrompt != "" && strings.TrimSpace(c.SystemPrompt) == "":
		bad("system_prompt: blank; leave it out or write one")
	case perMessage+len(c.SystemPrompt) >= c.MaxInputBytes && c.SystemPrompt != "":
		bad("system_prompt: its %d bytes leave nothing of max_input_bytes (%d); shorten it or raise the limit", len(c.SystemPrompt), c.MaxInputBytes)
	}
	if t := c.Temperature; t != nil && !(t.Min >= 0 && t.Min <= t.Max && t.Max <= 2) { // NaN fails too
		bad("temperature: want 0 <= min <= max <= 2, got %v and %v", t.Min, t.Max)
	}
	if len(c.Models) == 0 {
		bad("models: name at least one model with its prices")
	}
	seen := make(map[string]bool)
	for i, m := range c.Models {
		field := fmt.Sprintf("models[%d].", i)
		if m.Name == "" || !utf8.ValidString(m.Name) {
			bad(field + "name: missing")
		} else if seen[m.Name] {
			bad(field+"name: %q is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.MaxOutputTokens < 1 || m.MaxOutputTokens > maxOutputTokens {
			bad(field+"max_output_tokens: want 1 to %d, got %d", maxOutputTokens, m.MaxOutputTokens)
		}
		rate := func(name string, r Rate, required bool) {
			switch {
			case r < 0 || r > maxRate:
				bad(field + name + ": not a price from 0 to a million dollars per million tokens")
			case r == 0 && required:
				bad(field + name + ": missing or 0; a model without a price cannot be capped")
			}
		}
		rate("input_usd_per_million", m.Price.Input, true)
		rate("cached_input_usd_per_million", m.Price.CachedInput, false)
		rate("cache_write_usd_per_million", m.Price.CacheWrite, false)
		rate("output_usd_per_million", m.Price.Output, true)
		if l := m.Price.LongContext; l != nil {
			if l.AboveInputTokens < 1 || l.AboveInputTokens > math.MaxInt32 {
				bad(field+"long_context.above_input_tokens: want 1 or more, got %d", l.AboveInputTokens)
			}
			rate("long_context.input_usd_per_million", l.Input, true)
			rate("long_context.cached_input_usd_per_million", l.CachedInput, false)
			rate("long_context.output_usd_per_million", l.Output, true)
		}
	}
	return errors.Join(errs...)
}

// checkBaseURL never quotes the address: people put secrets into it.
func (c Config) checkBaseURL(bad func(string, ...any)) {
	if c.BaseURL == "" {
		return
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		bad("base_url: want a URL such as https://api.example.com/v1, without user, query or fragment")
		return
	}
	path := strings.TrimRight(u.Path, "/")
	switch host := strings.ToLower(u.Hostname()); {
	case c.Provider == ProviderAnthropic && host == "api.openai.com":
		bad("base_url: api.openai.com does not speak the Anthropic API; set llm.provider to openai")
	case c.Provider == ProviderAnthropic && strings.HasSuffix(path, "/v1"):
		bad("base_url: ends in /v1, which the provider anthropic adds itself; leave it off")
	case c.Provider == ProviderAnthropic && strings.HasSuffix(path, "/messages"):
		bad("base_url: ends in /messages, which the provider anthropic adds itself; leave off /v1/messages")
	case c.Provider == ProviderOpenAI && host == "api.openai.com" && path != "/v1":
		bad("base_url: the address of OpenAI is https://api.openai.com/v1; write that or leave it out")
	case c.Provider == ProviderOpenAI && strings.HasSuffix(path, "/chat/completions"):
		bad("base_url: ends in /chat/completions, which the provider openai adds itself; leave it off")
	}
}

// MaxCost is the most that one call of the model can cost, with an input of
// MaxInputBytes and all of the output, in micro-dollars.
func (c Config) MaxCost(m Model) (worst Cost, err error) {
	input := c.maxInputTokens()
	worst.InputTokens, worst.OutputTokens = input, int64(m.MaxOutputTokens)
	worst.USD, err = m.Price.worst(input, int64(m.MaxOutputTokens))
	return worst, err
}

// TextCost is the most that a call of the model can cost which sends one message of so
// many bytes of text, after the operator's prompt, and asks for at most maxOutput tokens
// (0: as many as the model may produce). It is what such a request is held for. The error
// is the [*RequestError] with which it would be refused.
func (c Config) TextCost(m Model, bytes, maxOutput int) (Cost, error) {
	r := Request{Messages: []Message{{Role: User}}}
	if c.SystemPrompt != "" {
		r.Messages = append(r.Messages, Message{Role: System, Parts: []Part{{Text: c.SystemPrompt}}})
	}
	return c.price(&m, r.counted()+int64(bytes), r.overhead(), m.outputLimit(maxOutput))
}

// price bounds and prices a request that counts so much against MaxInputBytes, and so
// much besides.
func (c Config) price(m *Model, counted, overhead int64, maxOutput int) (Cost, error) {
	if counted > int64(c.MaxInputBytes) {
		return Cost{}, c.tooLarge()
	}
	in, out := counted+overhead, int64(maxOutput)
	usd, err := m.Price.worst(in, out)
	if err != nil {
		return Cost{}, c.tooLarge()
	}
	return Cost{in, out, usd}, nil
}

func (c Config) tooLarge() error {
	return &RequestError{
		Status: 413, Code: CodeTooLarge,
		Message: fmt.Sprintf("The request is too large: everything that is sent to the model may count %d bytes. Send less.", c.MaxInputBytes),
	}
}

// outputLimit is how many tokens a call may produce that asked for so many, 0 for as many
// as there are.
func (m *Model) outputLimit(asked int) int {
	if asked == 0 {
		return m.MaxOutputTokens
	}
	return min(asked, m.MaxOutputTokens)
}
