package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/llm"
)

// llm reads what the public may do with a model and what it costs.
func (s section) llm(c *Config) {
	group, ok := s.section("llm", "provider", "base_url", "max_input_bytes", "system_prompt", "temperature", "models")
	if !ok {
		return
	}
	c.LLM = new(llm.Config)
	if group.required("provider", "write demo, openai, anthropic or bedrock") {
		c.LLM.Provider, _ = group.text("provider")
	}
	c.LLM.BaseURL, _ = group.text("base_url")
	if group.required("max_input_bytes", "set how many bytes of input a call may make you pay for, such as 8000") {
		c.LLM.MaxInputBytes = group.int("max_input_bytes")
	}
	c.LLM.SystemPrompt, _ = group.text("system_prompt")
	c.LLM.Temperature = group.temperature()
	if group.required("models", "list at least one, with its prices") {
		for i, n := range group.list("models") {
			c.LLM.Models = append(c.LLM.Models, s.model(n, index(group.field("models"), i)))
		}
	}
	s.check(c.LLM.Check())
}

// temperature reads {min, max}, within which a caller may choose.
func (s section) temperature() *llm.Range {
	group, ok := s.section("temperature", "min", "max")
	if !ok {
		return nil
	}
	least, okMin := group.number("min")
	most, okMax := group.number("max")
	if !okMin || !okMax {
		return nil
	}
	return &llm.Range{Min: least, Max: most}
}

// number reads a decimal that is not money.
func (s section) number(key string) (float64, bool) {
	if !s.required(key, "set both min and max, such as 0 and 1") {
		return 0, false
	}
	text, ok := s.decimal(key, "0.7")
	if !ok {
		return 0, false
	}
	f, _ := strconv.ParseFloat(text, 64) // cannot fail: a plain decimal of bounded length
	return f, true
}

// model reads one item of the list of models.
func (p *problems) model(n *yaml.Node, path string) (m llm.Model) {
	group, ok := p.group(n, path, "name", "upstream", "input_usd_per_million", "cached_input_usd_per_million",
		"cache_write_usd_per_million", "output_usd_per_million", "max_output_tokens", "long_context")
	if !ok {
		return m
	}
	if group.required("name", "write what callers call the model") {
		m.Name, _ = group.text("name")
	}
	m.Upstream, _ = group.text("upstream")
	m.Price.Input = group.price("input_usd_per_million")
	m.Price.CachedInput = group.discount("cached_input_usd_per_million")
	m.Price.CacheWrite = group.rate("cache_write_usd_per_million", "leave it out where writing to the cache costs nothing extra")
	m.Price.Output = group.price("output_usd_per_million")
	if group.required("max_output_tokens", "set how many tokens a call may produce, such as 300") {
		m.MaxOutputTokens = group.int("max_output_tokens")
	}
	if long, ok := group.section("long_context", "above_input_tokens", "input_usd_per_million", "cached_input_usd_per_million", "output_usd_per_million"); ok {
		m.Price.LongContext = new(llm.LongContext)
		if long.required("above_input_tokens", "set from how much input on these prices apply") {
			m.Price.LongContext.AboveInputTokens = long.int("above_input_tokens")
		}
		m.Price.LongContext.Input = long.price("input_usd_per_million")
		m.Price.LongContext.CachedInput = long.discount("cached_input_usd_per_million")
		m.Price.LongContext.Output = long.price("output_usd_per_million")
	}
	return m
}

// int reads a whole number whose range is not checked here but by [llm.Config.Check].
func (s section) int(key string) int {
	n, _ := s.integer(key, 0, 1<<31-1)
	return int(n)
}

// price reads a price that has to be given.
func (s section) price(key string) llm.Rate {
	if !s.required(key, "a model without a price cannot be capped") {
		return 0
	}
	return s.rate(key, "a model without a price cannot be capped")
}

// discount reads a price that stands for the input price if it is left out.
func (s section) discount(key string) llm.Rate {
	return s.rate(key, "leave it out, and the input price applies")
}

// rate reads a price in dollars per million tokens. 0 would be read as no price.
func (s section) rate(key, zero string) llm.Rate {
	text, ok := s.decimal(key, "0.15")
	if !ok {
		return 0
	}
	rate, err := llm.ParseRate(text)
	switch {
	case err != nil:
		// The last part of the text says what is wrong with the number.
		what := err.Error()
		if _, after, ok := strings.Cut(what, caps.ErrAmount.Error()+": "); ok {
			what = after
		}
		s.at(s.values[key], s.field(key), "%s", what)
	case rate == 0:
		s.at(s.values[key], s.field(key), "0 is not a price: %s", zero)
	}
	return rate
}

// check adds the errors of [llm.Config.Check], each of which begins with its field,
// except where something is wrong with the same field or what contains it already.
func (p *problems) check(err error) {
	if err == nil {
		return
	}
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		field, what, _ := strings.Cut(e.Error(), ": ")
		if !p.reported(field) {
			p.add(p.lineOf(field), field, "%s", what)
		}
	}
}

// ceiling checks the caps against what the models cost: there is one in dollars, and
// each of those holds one call of every model.
func (s section) ceiling(c *Config) {
	if c.LLM == nil || s.err() != nil {
		return // what is not read well cannot be compared
	}
	if _, ok := c.Global.Cap.USD(); !ok {
		s.add(s.lineOf("caps.global"), "caps.global.usd", "missing: paid calls need a ceiling in dollars, which is what bounds the bill")
	}
	i, cost, err := dearest(c.LLM)
	model := index("llm.models", i)
	if err != nil {
		s.add(s.lineOf(model), model, "one call may cost more than can be counted: lower its prices or max_output_tokens")
		return
	}
	type limit struct {
		field string
		cap   caps.Cap
	}
	limits := []limit{{"caps.caller.usd", c.Caller.Cap}, {"caps.address.usd", c.Address.Cap}, {"caps.global.usd", c.Global.Cap}}
	if c.Auth != nil {
		for i, t := range c.Auth.Tiers {
			limits = append(limits, limit{index("tiers", i) + ".usd", t.Cap})
		}
	}
	for _, l := range limits {
		field := l.field
		most, limited := l.cap.USD()
		if limited && most > 0 && most < cost {
			s.add(s.lineOf(field), field, "%s dollars do not hold one call of %s, which may cost %s: raise the cap, or lower llm.max_input_bytes or %s.max_output_tokens",
				most, quote(c.LLM.Models[i].Name), cost, model)
		}
	}
}

// dearest returns which model's worst case is the highest, and that.
func dearest(c *llm.Config) (at int, cost caps.MicroUSD, err error) {
	for i, m := range c.Models {
		worst, err := c.MaxCost(m)
		if err != nil {
			return i, 0, err
		}
		if worst.USD > cost {
			at, cost = i, worst.USD
		}
	}
	return at, cost, nil
}
