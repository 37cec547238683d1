package llm

import (
	"math"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"good", func(*Config) {}, ""},
		{"good, with everything", func(c *Config) {
			c.Provider, c.BaseURL, c.SystemPrompt, c.Temperature = ProviderOpenAI, "http://127.0.0.1:11434/v1", "Be nice.", &Range{0, 2}
			c.Models[0].Price.LongContext = &LongContext{AboveInputTokens: 1, Input: 1, Output: 1}
		}, ""},
		{"no provider", func(c *Config) { c.Provider = "" }, `llm.provider: "" is not one of demo, openai, anthropic, bedrock`},
		{"a provider by another case", func(c *Config) { c.Provider = "OpenAI" }, `llm.provider: "OpenAI" is not one of demo, openai, anthropic, bedrock`},
		{"a URL for the demo model", func(c *Config) { c.BaseURL = "http://x" }, "llm.base_url: the provider demo has none; leave it out"},
		{"a URL for Bedrock", func(c *Config) { c.Provider, c.BaseURL = ProviderBedrock, "http://x" }, "llm.base_url: the provider bedrock has none; leave it out"},
		{"no scheme", func(c *Config) { c.Provider, c.BaseURL = ProviderOpenAI, "localhost:11434" }, "llm.base_url: want a URL such as https://api.example.com/v1, without user, query or fragment"},
		{"another scheme", func(c *Config) { c.Provider, c.BaseURL = ProviderOpenAI, "ftp://x/v1" }, "llm.base_url: want a URL such as https://api.example.com/v1, without user, query or fragment"},
		{"a key in the URL", func(c *Config) { c.Provider, c.BaseURL = ProviderOpenAI, "https://x/v1?key=hunter2" }, "llm.base_url: want a URL such as https://api.example.com/v1, without user, query or fragment"},
		{"OpenAI without /v1", func(c *Config) { c.Provider, c.BaseURL = ProviderOpenAI, "https://api.openai.com" }, "llm.base_url: the address of OpenAI is https://api.openai.com/v1; write that or leave it out"},
		{"the whole path", func(c *Config) { c.Provider, c.BaseURL = ProviderOpenAI, "https://x/v1/chat/completions/" }, "llm.base_url: ends in /chat/completions, which the provider openai adds itself; leave it off"},
		{"Anthropic with /v1", func(c *Config) { c.Provider, c.BaseURL = ProviderAnthropic, "https://x/v1/" }, "llm.base_url: ends in /v1, which the provider anthropic adds itself; leave it off"},
		{"Anthropic's whole path", func(c *Config) { c.Provider, c.BaseURL = ProviderAnthropic, "https://x/v1/messages" }, "llm.base_url: ends in /messages, which the provider anthropic adds itself; leave off /v1/messages"},
		{"the wrong provider", func(c *Config) { c.Provider, c.BaseURL = ProviderAnthropic, "https://api.openai.com" }, "llm.base_url: api.openai.com does not speak the Anthropic API; set llm.provider to openai"},
		{"no input", func(c *Config) { c.MaxInputBytes = 0 }, "llm.max_input_bytes: want 1 to 1048576, got 0"},
		{"negative input", func(c *Config) { c.MaxInputBytes = -1 }, "llm.max_input_bytes: want 1 to 1048576, got -1"},
		{"input without end", func(c *Config) { c.MaxInputBytes = 1<<20 + 1 }, "llm.max_input_bytes: want 1 to 1048576, got 1048577"},
		{"a prompt that leaves nothing", func(c *Config) { c.SystemPrompt = strings.Repeat("x", 8000-16) }, "llm.system_prompt: its 7984 bytes leave nothing of max_input_bytes (8000); shorten it or raise the limit"},
		{"a blank prompt", func(c *Config) { c.SystemPrompt = " \n" }, "llm.system_prompt: blank; leave it out or write one"},
		{"a prompt in another encoding", func(c *Config) { c.SystemPrompt = "\xe9" }, "llm.system_prompt: not valid UTF-8"},
		{"a temperature that is none", func(c *Config) { c.Temperature = &Range{math.NaN(), 1} }, "llm.temperature: want 0 <= min <= max <= 2, got NaN and 1"},
		{"a temperature upside down", func(c *Config) { c.Temperature = &Range{1, 0.5} }, "llm.temperature: want 0 <= min <= max <= 2, got 1 and 0.5"},
		{"no models", func(c *Config) { c.Models = nil }, "llm.models: name at least one model with its prices"},
		{"a model without a name", func(c *Config) { c.Models[1].Name = "" }, "llm.models[1].name: missing"},
		{"a model twice", func(c *Config) { c.Models[1].Name = "small" }, `llm.models[1].name: "small" is there twice`},
		{"no output", func(c *Config) { c.Models[0].MaxOutputTokens = 0 }, "llm.models[0].max_output_tokens: want 1 to 1048576, got 0"},
		{"no price of the input", func(c *Config) { c.Models[0].Price.Input = 0 }, "llm.models[0].input_usd_per_million: missing or 0; a model without a price cannot be capped"},
		{"no price of the output", func(c *Config) { c.Models[0].Price.Output = 0 }, "llm.models[0].output_usd_per_million: missing or 0; a model without a price cannot be capped"},
		{"a negative price", func(c *Config) { c.Models[0].Price.CachedInput = -1 }, "llm.models[0].cached_input_usd_per_million: not a price from 0 to a million dollars per million tokens"},
		{"a price of a planet", func(c *Config) { c.Models[0].Price.CacheWrite = maxRate + 1 }, "llm.models[0].cache_write_usd_per_million: not a price from 0 to a million dollars per million tokens"},
		{"half a long context", func(c *Config) { c.Models[0].Price.LongContext = &LongContext{Output: -1} }, "llm.models[0].long_context.above_input_tokens: want 1 or more, got 0\n" +
			"llm.models[0].long_context.input_usd_per_million: missing or 0; a model without a price cannot be capped\n" +
			"llm.models[0].long_context.output_usd_per_million: not a price from 0 to a million dollars per million tokens"},
	} {
		config := testConfig()
		c.change(&config)
		got := ""
		if err := config.Check(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
