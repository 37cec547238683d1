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
		errors.New("llm.models[0].names: missing"),
	))
	want := []Problem{
		{9, "llm.models[1]", "is not good"},
		{7, "llm.models[0].name", "one: two"},
		{6, "llm.models[0].upstream", "missing"},
		{5, "llm.models[10].name", "missing"},
		{3, "llm.region", "missing"},
		{0, "else", "missing"},
		{6, "llm.models[0].names", "missing"}, // beside what was said of the name
	}
	if !slices.Equal(p.list, want) {
		t.Errorf("%+v\nwant\n%+v", p.list, want)
	}
	whole := new(problems)
	whole.add(1, "", "something about the file")
	whole.check(errors.New("llm.provider: missing"))
	if len(whole.list) != 2 {
		t.Errorf("%+v; want the provider as well", whole.list)
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

// A list's item has the line it begins in.
func TestLinesOfItems(t *testing.T) {
	root, err := document([]byte("llm:\n  models:\n    - name: a\n\n    - upstream: b\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(problems)
	top, _ := p.group(root, "", "llm")
	top.llm(new(Config))
	for field, want := range map[string]int{
		"llm": 2, "llm.models": 3, "llm.models[0]": 3, "llm.models[1]": 5, "llm.models[1].upstream": 5, "llm.models[1].price": 5, "llm.models[2]": 3,
	} {
		if got := p.lineOf(field); got != want {
			t.Errorf("%s is in line %d; want %d", field, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"":       `""`,
		"a\nb\"": `"a\nb\""`,
		"1234567890123456789012345678901234567890":  `"1234567890123456789012345678901234567890"`,
		"12345678901234567890123456789012345678901": `"1234567890123456789012345678901234567890"...`,
	} {
		if got := quote(s); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
