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

// tokens are the counts of an object usage
// (https://platform.openai.com/docs/api-reference/chat/object). The cached tokens and
// those written to the cache are among the prompt's, the reasoning tokens among the
// completion's.
type tokens struct {
	prompt, completion, total  int64
	cached, written, reasoning int64
	seen                       map[string]bool
}

func parseUsage(text string) (*llm.Usage, error) {
	d, err := strictjson.New([]byte(text))
	if err != nil {
		return nil, err
	}
	t := tokens{seen: make(map[string]bool, 4)}
	if err := t.read(d); err != nil {
		return nil, err
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	switch {
	case !t.seen["prompt_tokens"] || !t.seen["completion_tokens"]:
		return nil, errors.New("prompt_tokens or completion_tokens is missing")
	case t.cached > t.prompt || t.written > t.prompt-t.cached:
		return nil, fmt.Errorf("%d cached and %d written of %d prompt tokens", t.cached, t.written, t.prompt)
	case t.seen["total_tokens"] && (t.total < t.prompt || t.total-t.prompt < t.completion):
		return nil, fmt.Errorf("a total of %d for %d and %d tokens", t.total, t.prompt, t.completion)
	}
	if t.seen["total_tokens"] {
		// Some compatible upstreams leave reasoning out of the completion and bill it all
		// the same; it is in the total.
		t.completion = t.total - t.prompt
	}
	u := &llm.Usage{
		Input:       t.prompt - t.cached - t.written,
		CachedInput: t.cached,
		CacheWrite:  t.written,
		Output:      t.completion,
		Reasoning:   min(t.reasoning, t.completion),
	}
	return u, u.Check()
}

func (t *tokens) read(d *strictjson.Decoder) error {
	return d.Object(func(name string) (err error) {
		switch name {
		case "prompt_tokens":
			t.prompt, err = d.Count()
		case "completion_tokens":
			t.completion, err = d.Count()
		case "total_tokens":
			if d.IsNull() {
				return nil
			}
			t.total, err = d.Count()
		case "prompt_tokens_details", "completion_tokens_details":
			if d.IsNull() {
				return nil
			}
			return d.Object(func(name string) error { return t.detail(d, name) })
		default:
			return d.Skip()
		}
		t.seen[name] = true
		return err
	})
}

func (t *tokens) detail(d *strictjson.Decoder, name string) (err error) {
	switch name {
	case "cached_tokens":
		t.cached, err = d.OptionalCount()
	case "cache_write_tokens":
		t.written, err = d.OptionalCount()
	case "reasoning_tokens":
		t.reasoning, err = d.OptionalCount()
	case "audio_tokens", "image_tokens":
		var n int64
		if n, err = d.OptionalCount(); n > 0 && err == nil {
			err = strictjson.Errorf("these have a price of their own")
		}
	default:
		err = d.Skip()
	}
	return err
}
