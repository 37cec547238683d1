package llm

import (
	"errors"
	"fmt"

	"github.com/seed3e88d9a2/spendcap/caps"
)

// Cost is a bound on what a call can cost, and what the bound is made of.
type Cost struct {
	InputTokens, OutputTokens int64
	USD                       caps.MicroUSD
}

// Usage is how many tokens a call took, as the provider counted them. The parts
// that are priced do not overlap.
type Usage struct {
	Input       int64 // neither read from nor written to a cache
	CachedInput int64 // read from a cache
	CacheWrite  int64 // written to a cache
	Output      int64 // with reasoning tokens
	Reasoning   int64 // the part of Output that was reasoning, where it is known; not a price
}

// ErrUsage is wrapped by errors about a usage that is missing or impossible: what the
// call cost is unknown, and its hold stays.
var ErrUsage = errors.New("no usable usage")

// Check tells whether the usage can be true: no part is negative or absurd, and there
// was input.
func (u Usage) Check() error {
	for _, n := range [...]int64{u.Input, u.CachedInput, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > maxTokens {
			return fmt.Errorf("%w: a number of tokens is negative or too large", ErrUsage)
		}
	}
	if u.total() == 0 {
		return fmt.Errorf("%w: there is no input", ErrUsage)
	}
	return nil
}

func (u Usage) total() int64 { return u.Input + u.CachedInput + u.CacheWrite }

// Cost returns what the usage costs, in micro-dollars, rounded up once. The error wraps
// [ErrUsage] or [caps.ErrAmount]. A write to the cache that the price says nothing about
// is an unusable usage too: providers that charge it at all charge more than the input.
func (p Price) Cost(u Usage) (caps.MicroUSD, error) {
	if err := u.Check(); err != nil {
		return 0, err
	}
	if u.CacheWrite > 0 && p.CacheWrite == 0 {
		return 0, fmt.Errorf("%w: %d tokens were written to the cache, and there is no price for that", ErrUsage, u.CacheWrite)
	}
	input, cached, write, output := p.rates(u.total())
	var b bill
	b.add(u.Input, input)
	b.add(u.CachedInput, cached)
	b.add(u.CacheWrite, write)
	b.add(u.Output, output)
	return b.total()
}

// rates are the prices of a call with that much input, the ones that are not given
// filled in.
func (p Price) rates(inputTokens int64) (input, cached, write, output Rate) {
	input, cached, write, output = p.Input, p.CachedInput, p.CacheWrite, p.Output
	if l := p.LongContext; l != nil && inputTokens > int64(l.AboveInputTokens) {
		input, cached, write, output = l.Input, l.CachedInput, l.Input.times(p.CacheWrite, p.Input), l.Output
	}
	if cached == 0 {
		cached = input
	}
	if write == 0 {
		write = input
	}
	return input, cached, write, output
}

// worst is the most that a call can cost whose input and output are bounded: every
// token of input at the dearest price it can have, on either side of the long-context
// threshold if the bound passes it.
func (p Price) worst(inputTokens, outputTokens int64) (caps.MicroUSD, error) {
	price := func(tokens int64) (caps.MicroUSD, error) {
		input, cached, write, output := p.rates(tokens)
		var b bill
		b.add(tokens, max(input, cached, write))
		b.add(outputTokens, output)
		return b.total()
	}
	dearest, err := price(inputTokens)
	if l := p.LongContext; err == nil && l != nil && inputTokens > int64(l.AboveInputTokens) {
		var short caps.MicroUSD
		if short, err = price(int64(l.AboveInputTokens)); short > dearest {
			dearest = short
		}
	}
	return dearest, err
}
