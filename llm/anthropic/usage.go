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
	err = d.Object(func(name string) (err error) {
		switch name {
		case "input_tokens":
			hasInput = true
			u.Input, err = d.Count()
		case "output_tokens":
			hasOutput = true
			u.Output, err = d.Count()
		case "cache_read_input_tokens":
			u.CachedInput, err = d.OptionalCount()
		case "cache_creation_input_tokens":
			u.CacheWrite, err = d.OptionalCount()
		case "cache_creation":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(name string) error {
				if name == "ephemeral_1h_input_tokens" {
					return none(d)
				}
				return d.Skip()
			})
		case "server_tool_use":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(string) error { return none(d) })
		case "service_tier", "speed":
			return standard(d)
		default:
			err = d.Skip()
		}
		return err
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

// none refuses a count of what has a price of its own, unless it is 0.
func none(d *strictjson.Decoder) error {
	if n, err := d.OptionalCount(); err != nil || n == 0 {
		return err
	}
	return strictjson.Errorf("this has a price of its own")
}

// standard refuses a tier or speed other than the usual one.
func standard(d *strictjson.Decoder) error {
	if d.IsNull() {
		return nil
	}
	s, err := d.String()
	if err == nil && s != "standard" {
		err = strictjson.Errorf("this has a price of its own")
	}
	return err
}
