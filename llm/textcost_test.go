package llm

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTextCost holds the bound without a request to that of the same request.
func TestTextCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testConfig()
		c.MaxInputBytes = rapid.IntRange(200, 2000).Draw(t, "max_input_bytes")
		c.Models[0].Price = prices().Draw(t, "price")
		c.SystemPrompt = rapid.SampledFrom([]string{"", "You work for us."}).Draw(t, "operator's prompt")
		s, err := New(c, &fake{features: everything})
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(1, 2100).Draw(t, "bytes")
		body := map[string]any{"model": c.Models[0].Name, "messages": []any{map[string]any{"role": "user", "content": strings.Repeat("x", size)}}}
		asked := rapid.IntRange(0, 2*c.Models[0].MaxOutputTokens).Draw(t, "max_tokens")
		if asked > 0 {
			body["max_tokens"] = asked
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		call, wantErr := s.ParseChatCompletions(raw)
		got, err := c.TextCost(c.Models[0], size, asked)
		if wantErr != nil {
			var refused *RequestError
			if !errors.As(err, &refused) || !reflect.DeepEqual(err, wantErr) {
				t.Fatalf("%v, want %v", err, wantErr)
			}
			return
		}
		if err != nil || got != call.Bound() {
			t.Fatalf("%+v, %v; want %+v", got, err, call.Bound())
		}
	})
}
