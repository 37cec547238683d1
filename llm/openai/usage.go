package openai

import (
	"errors"
	"fmt"

	sdk "github.com/openai/openai-go/v3"

	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/llm/internal/strictjson"
)

// usage reads what the upstream will bill. It looks at the text of the reply and not at
// the SDK's fields, which make a number of a text, a whole of a fraction and 0 of
// nothing.
func (p *Provider) usage(c *sdk.ChatCompletion) (*llm.Usage, string) {
	if p.own {
		switch c.ServiceTier {
		case "", sdk.ChatCompletionServiceTierDefault, sdk.ChatCompletionServiceTierAuto:
		default:
			return nil, "the upstream used another service tier than the default one, which has a price of its own"
		}
	}
	if !c.JSON.Usage.Valid() {
		return nil, "the upstream reported no usage"
	}
	u, err := parseUsage(c.JSON.Usage.Raw())
	if err != nil {
		return nil, "the upstream's usage cannot be: " + err.Error()
	}
	return u, ""
}

// parseUsage reads an object usage
// (https://platform.openai.com/docs/api-reference/chat/object). The cached tokens and
// those written to the cache are among the prompt's, the reasoning tokens among the
// completion's.
func parseUsage(text string) (*llm.Usage, error) {
	d, err := strictjson.New([]byte(text))
	if err != nil {
		return nil, err
	}
	var prompt, completion, total, cached, written, reasoning int64
	var hasPrompt, hasCompletion, hasTotal bool
	count := func(n *int64) error {
		v, err := d.Int()
		if err == nil && v < 0 {
			err = strictjson.Errorf("negative")
		}
		*n = v
		return err
	}
	none := func(what string) error {
		var n int64
		if err := optionalCount(d, count, &n); err != nil || n == 0 {
			return err
		}
		return strictjson.Errorf("%s have a price of their own", what)
	}
	err = d.Object(func(name string) error {
		switch name {
		case "prompt_tokens":
			hasPrompt = true
			return count(&prompt)
		case "completion_tokens":
			hasCompletion = true
			return count(&completion)
		case "total_tokens":
			if d.IsNull() {
				return nil
			}
			hasTotal = true
			return count(&total)
		case "prompt_tokens_details":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(name string) error {
				switch name {
				case "cached_tokens":
					return optionalCount(d, count, &cached)
				case "cache_write_tokens":
					return optionalCount(d, count, &written)
				case "audio_tokens", "image_tokens":
					return none(name)
				}
				return d.Skip()
			})
		case "completion_tokens_details":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(name string) error {
				switch name {
				case "reasoning_tokens":
					return optionalCount(d, count, &reasoning)
				case "audio_tokens":
					return none(name)
				}
				return d.Skip()
			})
		}
		return d.Skip()
	})
	if err == nil {
		err = d.End()
	}
	switch {
	case err != nil:
		return nil, err
	case !hasPrompt || !hasCompletion:
		return nil, errors.New("prompt_tokens or completion_tokens is missing")
	case cached > prompt || written > prompt-cached:
		return nil, fmt.Errorf("%d cached and %d written of %d prompt tokens", cached, written, prompt)
	case hasTotal && (total < prompt || total-prompt < completion):
		return nil, fmt.Errorf("a total of %d for %d and %d tokens", total, prompt, completion)
	}
	if hasTotal {
		// Some compatible upstreams leave reasoning out of the completion and bill it all
		// the same; it is in the total.
		completion = total - prompt
	}
	u := &llm.Usage{Input: prompt - cached - written, CachedInput: cached, CacheWrite: written, Output: completion, Reasoning: min(reasoning, completion)}
	return u, u.Check()
}

func optionalCount(d *strictjson.Decoder, count func(*int64) error, n *int64) error {
	if d.IsNull() {
		return nil
	}
	return count(n)
}
