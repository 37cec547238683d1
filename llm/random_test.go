package llm

import (
	"context"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomRequests builds requests of either API and answers them with any usage
// within their bounds: what they cost is positive and never above what was held.
func TestRandomRequests(t *testing.T) {
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("aZ 0\n\"\\<&{}[],:é字😀\u2028\x00")), 1, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		c := testConfig()
		c.Models[0].Price = prices().Draw(t, "price")
		c.SystemPrompt = rapid.SampledFrom([]string{"", "You work for us."}).Draw(t, "operator's prompt")
		f := &fake{features: everything}
		s, err := New(c, f)
		if err != nil {
			t.Fatal(err)
		}
		body := map[string]any{"model": "small", "max_tokens": rapid.IntRange(1, 400).Draw(t, "max_tokens")}
		sent := len(c.SystemPrompt)
		text := func(name string) string {
			s := texts.Draw(t, name)
			sent += len(s)
			return s
		}
		var messages []map[string]any
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			role := rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role")
			messages = append(messages, map[string]any{"role": role, "content": text("content")})
		}
		body["messages"] = messages
		front := rapid.SampledFrom([]Front{ChatCompletions, Messages}).Draw(t, "front")
		parse := s.ParseChatCompletions
		if front == Messages {
			parse = s.ParseMessages
			if rapid.Bool().Draw(t, "system") {
				body["system"] = text("system")
			}
		}
		if rapid.Bool().Draw(t, "tools") {
			schema := map[string]any{"type": "object", "description": text("schema")}
			sent += len("weather") + len(`{"description":"","type":"object"}`)
			tool := map[string]any{"name": "weather", "input_schema": schema}
			if front == ChatCompletions {
				tool = map[string]any{"type": "function", "function": map[string]any{"name": "weather", "parameters": schema}}
			}
			body["tools"] = []any{tool}
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		call, err := parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		bound := call.Bound()
		if bound.InputTokens < int64(sent)+perRequest {
			t.Fatalf("%s: %d bytes are sent, and the bound is %d", raw, sent, bound.InputTokens)
		}
		input := rapid.Int64Range(1, bound.InputTokens).Draw(t, "input")
		cached := rapid.Int64Range(0, input).Draw(t, "cached")
		f.response = &Response{Usage: &Usage{Input: input - cached, CachedInput: cached, Output: rapid.Int64Range(0, bound.OutputTokens).Draw(t, "output")}}
		a, err := call.Do(context.Background())
		if err != nil || !a.CostKnown || a.Cost < 1 || a.Cost > call.Worst() {
			t.Fatalf("%s: %v, cost %+v of %d", raw, err, a, call.Worst())
		}
	})
}
