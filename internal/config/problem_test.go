package config

import (
	"errors"
	"slices"
	"testing"
)

// What another package says about a field gets the line of the field, or of what
// contains it, and is not said where something was said already.
func TestCheckFindsTheLine(t *testing.T) {
	p := new(problems)
	p.found("llm", 3)
	p.found("llm.models", 5)
	p.found("llm.models[0]", 6)
	p.found("llm.models[0].name", 7)
	p.found("llm.models[1]", 9)
	p.add(9, "llm.models[1]", "is not good")
	p.check(errors.Join(
		errors.New("llm.models[0].name: one: two"),
		errors.New("llm.models[0].upstream: missing"),
		errors.New("llm.models[1].name: missing"),
		errors.New("llm.models[1]: missing"),
		errors.New("llm.models[10].name: missing"),
		errors.New("llm.region: missing"),
		errors.New("else: missing"),
	))
	want := []Problem{
		{9, "llm.models[1]", "is not good"},
		{7, "llm.models[0].name", "one: two"},
		{6, "llm.models[0].upstream", "missing"},
		{5, "llm.models[10].name", "missing"},
		{3, "llm.region", "missing"},
		{0, "else", "missing"},
	}
	if !slices.Equal(p.list, want) {
		t.Errorf("%+v\nwant\n%+v", p.list, want)
	}
	alone := new(problems)
	alone.check(errors.New("llm.provider: missing"))
	if want := []Problem{{0, "llm.provider", "missing"}}; !slices.Equal(alone.list, want) {
		t.Errorf("%+v; want %+v", alone.list, want)
	}
	if alone.check(nil); len(alone.list) != 1 {
		t.Error("no error is a problem")
	}
}
