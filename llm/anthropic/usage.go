package anthropic

import (
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// usage reads what the upstream will bill. It looks at the text of the reply and not at
// the SDK's fields, which make a number of a text, a whole of a fraction and 0 of
// nothing.
func usage(m *sdk.Message) (*llm.Usage, string) {
	if !m.JSON.Usage.Valid() {
		return nil, "the upstream reported no usage"
	}
	u, err := parseUsage(m.JSON.Usage.Raw())
	if err != nil {
		return nil, "the upstream's usage cannot be: " + err.Error()
	}
	return u, ""
}

// parseUsage reads an object usage (https://docs.anthropic.com/en/api/messages). Tokens
// that were read from the cache or written to it are counted apart from the input's.
func parseUsage(text string) (*llm.Usage, error) {
	d, err := strictjson.New([]byte(text))
	if err != nil {
		return nil, err
	}
	var u llm.Usage
	var hasInput, hasOutput bool
	count := func(n *int64) error {
		v, err := d.Int()
		if err == nil && v < 0 {
			err = strictjson.Errorf("negative")
		}
		*n = v
		return err
	}
	optional := func(n *int64) error {
		if d.IsNull() {
			return nil
		}
		return count(n)
	}
	none := func() error {
		var n int64
		if err := optional(&n); err != nil || n == 0 {
			return err
		}
		return strictjson.Errorf("these have a price of their own")
	}
	only := func(words ...string) error {
		if d.IsNull() {
			return nil
		}
		s, err := d.String()
		if err != nil {
			return err
		}
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return strictjson.Errorf("this has a price of its own")
	}
	err = d.Object(func(name string) error {
		switch name {
		case "input_tokens":
			hasInput = true
			return count(&u.Input)
		case "output_tokens":
			hasOutput = true
			return count(&u.Output)
		case "cache_read_input_tokens":
			return optional(&u.CachedInput)
		case "cache_creation_input_tokens":
			return optional(&u.CacheWrite)
		case "cache_creation":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(name string) error {
				if name == "ephemeral_1h_input_tokens" {
					return none()
				}
				return d.Skip()
			})
		case "server_tool_use":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(string) error { return none() })
		case "service_tier":
			return only("standard", "")
		case "speed":
			return only("standard", "")
		}
		return d.Skip()
	})
	if err == nil {
		err = d.End()
	}
	switch {
	case err != nil:
		return nil, err
	case !hasInput || !hasOutput:
		return nil, errors.New("input_tokens or output_tokens is missing")
	}
	return &u, u.Check()
}
