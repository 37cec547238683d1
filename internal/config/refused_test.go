package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// top are the sections of the file.
const top = "caps, demo, viewer, cors, sealed_addresses, auth, tiers, rate_limits, llm"

// refused are files with what is said about them, to the letter.
var refused = []struct{ name, text, want string }{
	{"empty", "", "the file is empty: start from the spendcap.yaml that comes with spendcap"},
	{"comments only", "# nothing\n", "the file is empty: start from the spendcap.yaml that comes with spendcap"},
	{"nothing in the document", "---\n", "line 2: nothing stands where a group of keys has to: " + top},
	{"a list", "- 1\n", "line 1: a list stands where a group of keys has to: " + top},
	{"a text", "hello\n", `line 1: the text "hello" stands where a group of keys has to: ` + top},
	{"two documents", "demo: {calls: 1}\n---\ndemo: {calls: 2}\n", "line 2: a second document starts here: keep everything in one, without ---"},
	{"a broken second document", "demo: {calls: 1}\n---\na: b: c\n", "line 3: not valid YAML: mapping values are not allowed in this context"},
	{"no YAML", "demo: {calls: 1\n", "line 1: not valid YAML: did not find expected ',' or '}'"},
	{"a key too far in", "demo: {calls: 1}\nllm:\n  provider: demo\n max_input_bytes: 1\n", "line 3: not valid YAML: did not find expected key: here or further down a line is not indented like its neighbours, or a quote is not closed"},
	{"a tab", "demo:\n\tcalls: 1\n", "line 2: not valid YAML: found character that cannot start any token"},
	{"a control character", "demo: {calls: \x01}\n", "not valid YAML: control characters are not allowed"},
	{"not UTF-8", "demo: {calls: \xff}\n", "not valid YAML: invalid leading UTF-8 octet"},
	{"very deep", strings.Repeat("[", 20_000), "not valid YAML: exceeded max depth of 10000"},
	{"nothing to guard", "caps: {caller: {calls: 1}, global: {calls: 1}}\n", "line 1: neither llm nor demo is given: there is nothing to guard"},

	{"decimal comma in a row", "demo: {calls: 1,5}\n", "line 1: demo.5: unknown key: if it is the end of an amount, write a point in it and not a comma, such as 0.05"},
	{"unknown key", "demo: {calls: 1}\ndemos: 1\n", "line 2: demos: unknown key: known here are " + top},
	{"unknown key inside", "demo: {calls: 1, usd: 1}\n", "line 1: demo.usd: unknown key: known here are calls"},
	{"another case", "Demo: {calls: 1}\ndemo: {calls: 1}\n", "line 1: Demo: unknown key: known here are " + top},
	{"strange key", "demo: {calls: 1}\n\"a b\\n\": 1\n", `line 2: "a b\n": unknown key: known here are ` + top},
	{"long key", "demo: {calls: 1}\n" + strings.Repeat("k", 100) + ": 1\n", `line 2: "` + strings.Repeat("k", 40) + `"...: unknown key: known here are ` + top},
	{"null key", "demo: {calls: 1}\n~: 1\n", `line 2: "~": unknown key: known here are ` + top},
	{"secret", "demo: {calls: 1}\nhmac_key: 0123\n", "line 2: hmac_key: unknown key: secrets do not belong in this file, they come from the environment or from Secrets Manager"},
	{"API key", "demo: {calls: 1, API_KEY: sk-1}\n", "line 1: demo.API_KEY: unknown key: secrets do not belong in this file, they come from the environment or from Secrets Manager"},
	{"repeated key", "demo: {calls: 1}\ndemo: {calls: 2}\n", "line 2: demo: given twice, first in line 1: keep one"},
	{"repeated key inside", "demo:\n  calls: 1\n  calls: 1\n", "line 3: demo.calls: given twice, first in line 2: keep one"},
	{"repeated key in quotes", "demo: {calls: 1, \"calls\": 1}\n", "line 1: demo.calls: given twice, first in line 1: keep one"},
	{"a list as a key", "demo: {calls: 1, ? [a] : 1}\n", "line 1: demo: a list stands where a key has to: write one of calls"},
	{"a group as a key", "? {a: 1}\n: 1\n", "line 1: a group of keys stands where a key has to: write one of " + top + "\nline 1: neither llm nor demo is given: there is nothing to guard"},

	{"anchor", "demo: &d {calls: 1}\n", "line 1: demo: &d is an anchor: remove it, aliases are not followed"},
	{"anchor of a value", "demo: {calls: &n 1}\n", "line 1: demo.calls: &n is an anchor: remove it, aliases are not followed"},
	{"anchor of a key", "&k demo: {calls: 1}\n", "line 1: demo: &k is an anchor: remove it, aliases are not followed\nline 1: neither llm nor demo is given: there is nothing to guard"},
	{"anchor of the file", "&f\ndemo: {calls: 1}\n", "line 1: &f is an anchor: remove it, aliases are not followed"},
	{"alias", "demo: {calls: &n 1}\nviewer: *n\n", "line 1: demo.calls: &n is an anchor: remove it, aliases are not followed\nline 2: viewer: *n is an alias: write the value out"},
	{"alias of a value", "caps: {caller: {calls: &n 1}, global: {calls: *n}}\ndemo: {calls: 1}\n", "line 1: caps.caller.calls: &n is an anchor: remove it, aliases are not followed\nline 1: caps.global.calls: *n is an alias: write the value out"},
	{"alias as a key", "demo: {calls: 1}\nviewer: {&v ipv4_prefix: 32, *v : 1}\n", "line 2: viewer.ipv4_prefix: &v is an anchor: remove it, aliases are not followed\nline 2: viewer.v: *v is an alias: write the value out"},
	{"unknown alias", "demo: *d\n", "not valid YAML: unknown anchor 'd' referenced"},
	{"merge key", "demo:\n  <<: {calls: 1}\n", "line 2: demo: the merge key << is not followed: write the keys out\nline 2: demo.calls: missing: set how many calls one caller has on one UTC day"},
	{"tag", "demo: {calls: !!int 1}\n", "line 1: demo.calls: the tag \"!!int\" is not allowed: write the value alone"},
	{"tag of a group", "demo: !!map {calls: 1}\n", "line 1: demo: the tag \"!!map\" is not allowed: write the value alone"},
	{"tag of a key", "!!str demo: {calls: 1}\n", "line 1: demo: the tag \"!!str\" is not allowed: write the value alone\nline 1: neither llm nor demo is given: there is nothing to guard"},
	{"tag of the file", "!!map\ndemo: {calls: 1}\n", "line 1: the tag \"!!map\" is not allowed: write the value alone"},
	{"strange tag", "demo: {calls: !<a%0Ab> 1}\n", `line 1: demo.calls: the tag "a\nb" is not allowed: write the value alone`},
	{"tagged amount", "demo: {calls: 1}\ncaps: {caller: {usd: !!float 1}, global: {usd: !mine 1}}\n", "line 2: caps.caller.usd: the tag \"!!float\" is not allowed: write the value alone\nline 2: caps.global.usd: the tag \"!mine\" is not allowed: write the value alone"},

	{"demo without calls", "demo: {}\n", "line 1: demo.calls: missing: set how many calls one caller has on one UTC day"},
	{"demo without anything", "demo:\n", "line 1: demo: nothing stands where a group of keys has to: calls"},
	{"demo as a number", "demo: 10\n", `line 1: demo: the text "10" stands where a group of keys has to: calls`},
	{"caps without callers", "demo: {calls: 1}\ncaps: {global: {calls: 1}}\n", "line 2: caps.caller: missing: set calls, usd or both for one viewer address and UTC day"},
	{"caps without a ceiling", "demo: {calls: 1}\ncaps: {caller: {calls: 1}}\n", "line 2: caps.global: missing: set calls, usd or both for everybody together and UTC day: many addresses are many callers, so this bounds the bill"},
	{"a cap that limits nothing", "demo: {calls: 1}\ncaps:\n  caller: {}\n  global: {calls: 1}\n", "line 3: caps.caller: limits nothing: set calls, usd or both"},
	{"budget as a number", "demo: {calls: 1}\ncaps: {caller: 5, global: {calls: 1}}\n", `line 2: caps.caller: the text "5" stands where a group of keys has to: calls, usd`},
	{"caps as a list", "demo: {calls: 1}\ncaps: []\n", "line 2: caps: a list stands where a group of keys has to: caller, address, global"},
	{"prefixes", "demo: {calls: 1}\nviewer: {ipv4_prefix: 33, ipv6_prefix: 65}\n", "line 2: viewer.ipv4_prefix: \"33\" is not between 1 and 32\nline 2: viewer.ipv6_prefix: \"65\" is not between 1 and 64"},
	{"prefixes of 0", "demo: {calls: 1}\nviewer: {ipv4_prefix: 0, ipv6_prefix: 0}\n", "line 2: viewer.ipv4_prefix: \"0\" is not between 1 and 32\nline 2: viewer.ipv6_prefix: \"0\" is not between 1 and 64"},

	{"paid calls without caps", "llm: {provider: demo, max_input_bytes: 100, " + models + "}\n", "line 1: caps: missing: paid calls need caps.caller and caps.global"},
	{"paid calls without a ceiling in dollars", "caps:\n  caller: {usd: 1}\n  global: {calls: 1}\nllm: {provider: demo, max_input_bytes: 100, " + models + "}\n", "line 3: caps.global.usd: missing: paid calls need a ceiling in dollars, which is what bounds the bill"},
	{"llm without anything", paid("llm: {}"), "line 2: llm.provider: missing: write demo, openai, anthropic or bedrock\n" +
		"line 2: llm.max_input_bytes: missing: set how many bytes of input a call may make you pay for, such as 8000\n" +
		"line 2: llm.models: missing: list at least one, with its prices"},
	{"llm as a text", paid("llm: demo"), `line 2: llm: the text "demo" stands where a group of keys has to: provider, base_url, max_input_bytes, system_prompt, temperature, models`},
	{"unknown provider", paid("llm: {provider: acme, max_input_bytes: 100, " + models + "}"), `line 2: llm.provider: "acme" is not one of demo, openai, anthropic, bedrock`},
	{"provider as a list", paid("llm: {provider: [demo], max_input_bytes: 100, " + models + "}"), "line 2: llm.provider: a list stands where a text has to"},
	{"base URL of the demo model", paid("llm: {provider: demo, base_url: https://example.com, max_input_bytes: 100, " + models + "}"), "line 2: llm.base_url: the provider demo has none; leave it out"},
	{"base URL with a password", paid("llm: {provider: openai, base_url: https://user:hunter2@example.com, max_input_bytes: 100, " + models + "}"), "line 2: llm.base_url: want a URL such as https://api.example.com/v1, without user, query or fragment"},
	{"no input", paid("llm: {provider: demo, max_input_bytes: 0, " + models + "}"), "line 2: llm.max_input_bytes: want 1 to 1048576, got 0"},
	{"system prompt larger than the input", paid("llm: {provider: demo, max_input_bytes: 5, system_prompt: hello, " + models + "}"), "line 2: llm.system_prompt: its 5 bytes leave nothing of max_input_bytes (5); shorten it or raise the limit"},
	{"temperature the wrong way round", paid("llm: {provider: demo, max_input_bytes: 100, temperature: {min: 1, max: 0.5}, " + models + "}"), "line 2: llm.temperature: want 0 <= min <= max <= 2, got 1 and 0.5"},
	{"half a temperature", paid("llm: {provider: demo, max_input_bytes: 100, temperature: {max: 0.5}, " + models + "}"), "line 2: llm.temperature.min: missing: set both min and max, such as 0 and 1"},
	{"negative temperature", paid("llm: {provider: demo, max_input_bytes: 100, temperature: {min: -1, max: 0.5}, " + models + "}"), `line 2: llm.temperature.min: "-1" is not a plain decimal number: write digits and a point, such as 0.7, without sign, unit, exponent or separator`},
	{"no models", paid("llm: {provider: demo, max_input_bytes: 100, models: []}"), "line 2: llm.models: name at least one model with its prices"},
	{"models as a group", paid("llm: {provider: demo, max_input_bytes: 100, models: {name: m}}"), "line 2: llm.models: a group of keys stands where a list has to"},
	{"model as a text", paid("llm: {provider: demo, max_input_bytes: 100, models: [m]}"), `line 2: llm.models[0]: the text "m" stands where a group of keys has to: name, upstream, input_usd_per_million, cached_input_usd_per_million, cache_write_usd_per_million, output_usd_per_million, max_output_tokens, long_context`},
	{"model without anything", paid("llm:\n  provider: demo\n  max_input_bytes: 100\n  models:\n    - {}"), "line 6: llm.models[0].name: missing: write what callers call the model\n" +
		"line 6: llm.models[0].input_usd_per_million: missing: a model without a price cannot be capped\n" +
		"line 6: llm.models[0].output_usd_per_million: missing: a model without a price cannot be capped\n" +
		"line 6: llm.models[0].max_output_tokens: missing: set how many tokens a call may produce, such as 300"},
	{"the same model twice", paid("llm:\n  provider: demo\n  max_input_bytes: 100\n  models:\n    - " + model("") + "\n    - " + model("")), `line 7: llm.models[1].name: "m" is there twice`},
	{"empty name", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "name: m", `name: ""`, 1) + "]}"), "line 2: llm.models[0].name: missing"},
	{"number as a name", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "name: m", "name: 4.1", 1) + "]}"), `line 2: llm.models[0].name: "4.1" is not read as text: put it in quotes`},
	{"truth as a name", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "name: m", "name: true", 1) + "]}"), `line 2: llm.models[0].name: "true" is not read as text: put it in quotes`},
	{"nothing as a name", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "name: m", "name: ~", 1) + "]}"), "line 2: llm.models[0].name: nothing stands where a text has to"},
	{"price of 0", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "0.15", "0", 1) + "]}"), "line 2: llm.models[0].input_usd_per_million: 0 is not a price: a model without a price cannot be capped"},
	{"negative price", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "0.60", "-0.60", 1) + "]}"), `line 2: llm.models[0].output_usd_per_million: "-0.60" is not a plain decimal number: write digits and a point, such as 0.15, without sign, unit, exponent or separator`},
	{"price finer than can be counted", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "0.60", "0.0000001", 1) + "]}"), `line 2: llm.models[0].output_usd_per_million: "0.0000001" is finer than a micro-dollar (six digits after the point)`},
	{"price of a planet", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "0.60", "1000000.01", 1) + "]}"), `line 2: llm.models[0].output_usd_per_million: the price 1000000.01 is above a million dollars per million tokens`},
	{"cached input for nothing", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + model("cached_input_usd_per_million: 0, cache_write_usd_per_million: 0.0") + "]}"), "line 2: llm.models[0].cached_input_usd_per_million: 0 is not a price: leave it out, and the input price applies\n" +
		"line 2: llm.models[0].cache_write_usd_per_million: 0 is not a price: leave it out where writing to the cache costs nothing extra"},
	{"long context without anything", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + model("long_context: {}") + "]}"), "line 2: llm.models[0].long_context.above_input_tokens: missing: set from how much input on these prices apply\n" +
		"line 2: llm.models[0].long_context.input_usd_per_million: missing: a model without a price cannot be capped\n" +
		"line 2: llm.models[0].long_context.output_usd_per_million: missing: a model without a price cannot be capped"},
	{"long context from 0 on", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + model("long_context: {above_input_tokens: 0, input_usd_per_million: 1, output_usd_per_million: 1}") + "]}"), "line 2: llm.models[0].long_context.above_input_tokens: want 1 or more, got 0"},
	{"no output", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "300", "0", 1) + "]}"), "line 2: llm.models[0].max_output_tokens: want 1 to 1048576, got 0"},
	{"output without end", paid("llm: {provider: demo, max_input_bytes: 100, models: [" + strings.Replace(model(""), "300", "99999999999", 1) + "]}"), `line 2: llm.models[0].max_output_tokens: "99999999999" is not between 0 and 2147483647`},
}

// paid puts caps in front of an llm, which begins in line 2.
func paid(llm string) string { return "caps: {caller: {calls: 1}, global: {usd: 5}}\n" + llm + "\n" }

// model is one that is good, with more keys.
func model(more string) string {
	return "{name: m, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 300, " + more + "}"
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range refused {
		got, err := load(c.text)
		if got != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
}

func TestNumbersRefused(t *testing.T) {
	const (
		whole   = "%s is not a whole number: write digits only, without a leading zero, such as 10"
		decimal = "%s is not a plain decimal number: write digits and a point, such as 0.05, without sign, unit, exponent or separator"
		text    = "%s is text: write the number without quotes"
	)
	for _, c := range []struct{ value, calls, usd string }{ // what is said of it as a number of calls and as an amount
		{"-1", whole, decimal},
		{"+1", whole, decimal},
		{"-0", whole, decimal},
		{"1e3", whole, decimal},
		{"1E-2", whole, decimal},
		{"0x10", whole, decimal},
		{"0o17", whole, decimal},
		{"0b11", whole, decimal},
		{"010", whole, decimal},
		{"00.5", whole, decimal},
		{"1_000", whole, decimal},
		{"1,000", "", ""}, // in a flow group: another key
		{".5", whole, decimal},
		{"5.", whole, decimal},
		{"1.2.3", whole, decimal},
		{".inf", whole, decimal},
		{"-.Inf", whole, decimal},
		{".nan", whole, decimal},
		{"NaN", whole, decimal},
		{"true", whole, decimal},
		{"ten", whole, decimal},
		{"$5", whole, decimal},
		{"5 USD", whole, decimal},
		{"1:30", whole, decimal}, // base 60 to YAML 1.1
		{"2026-11-30", whole, decimal},
		{`"-1"`, text, decimal},
		{`"1e3"`, text, decimal},
		{`" 1"`, text, decimal},
		{`""`, text, decimal},
		{"1.5", whole, ""},
		{"1.0", whole, ""},
		{"10.000001", whole, ""},
		{`"10"`, text, ""},
		{"'10'", text, ""},
		{"0.0000001", whole, "%s is finer than a micro-dollar (six digits after the point)"},
		{"9007199254.740992", whole, "%s is above the largest amount, 9007199254.740991 dollars"},
		{"1000000000001", "%s is not between 0 and 1000000000000", "%s is above the largest amount, 9007199254.740991 dollars"},
		{"99999999999999999999", "%s is not between 0 and 1000000000000", "%s is above the largest amount, 9007199254.740991 dollars"},
		{"~", "nothing stands where a whole number has to", "nothing stands where a decimal number such as 0.05 has to"},
		{"", "nothing stands where a whole number has to", "nothing stands where a decimal number such as 0.05 has to"},
		{"[1]", "a list stands where a whole number has to", "a list stands where a decimal number such as 0.05 has to"},
		{"{a: 1}", "a group of keys stands where a whole number has to", "a group of keys stands where a decimal number such as 0.05 has to"},
	} {
		for field, want := range map[string]string{"calls": c.calls, "usd": c.usd} {
			if want == "" {
				continue
			}
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, quoted(c.value))
			}
			want = "line 2: caps.caller." + field + ": " + want
			_, err := load("demo: {calls: 1}\ncaps: {caller: {" + field + ": " + c.value + "}, global: {calls: 1}}\n")
			if err == nil || err.Error() != want {
				t.Errorf("%s: %s:\n%v\nwant\n%s", field, c.value, err, want)
			}
		}
	}
	// A very long number is shown shortened, and a block of text is none.
	_, err := load("demo: {calls: 1}\ncaps: {caller: {usd: 0." + strings.Repeat("0", 1000) + "}, global: {calls: 1}}\n")
	want := "line 2: caps.caller.usd: " + `"0.` + strings.Repeat("0", 38) + `"... is not a plain decimal number: write digits and a point, such as 0.05, without sign, unit, exponent or separator`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	_, err = load("demo:\n  calls: |-\n    10\n")
	if want := `line 2: demo.calls: "10" is text: write the number without quotes`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// quoted is how a message shows a value of the file.
func quoted(value string) string { return fmt.Sprintf("%q", strings.Trim(value, `"'`)) }

// A cap that does not hold one call would refuse every call of the day, which nobody
// means: the start says so, for each cap, with the dearest model.
func TestCapsHoldOneCall(t *testing.T) {
	text := func(caller, global string) string {
		return "caps:\n  caller: {usd: " + caller + "}\n  global: {usd: " + global + "}\n" +
			"llm:\n  provider: demo\n  max_input_bytes: 100\n  models:\n" +
			"    - {name: cheap, input_usd_per_million: 1, output_usd_per_million: 1, max_output_tokens: 1}\n" +
			"    - {name: dear, input_usd_per_million: 1, output_usd_per_million: 1000, max_output_tokens: 1000}\n" +
			"    - {name: middle, input_usd_per_million: 2, output_usd_per_million: 1, max_output_tokens: 1}\n"
	}
	c, err := load(text("5", "5"))
	if err != nil {
		t.Fatal(err)
	}
	worst, err := c.LLM.MaxCost(c.LLM.Models[1])
	if err != nil || worst.USD <= 1_000_000 {
		t.Fatalf("the dearest model costs %v, %v; want more than its output", worst, err)
	}
	exact, below := worst.USD.String(), (worst.USD - 1).String()
	said := func(line int, name string) string {
		return fmt.Sprintf(`line %d: caps.%s.usd: %s dollars do not hold one call of "dear", which may cost %s: raise the cap, or lower llm.max_input_bytes or llm.models[1].max_output_tokens`, line, name, below, exact)
	}
	for _, c := range []struct{ caller, global, want string }{
		{exact, exact, ""},
		{below, exact, said(2, "caller")},
		{exact, below, said(3, "global")},
		{below, below, said(2, "caller") + "\n" + said(3, "global")},
		{"0", below, said(3, "global")},
		{"0", "0", ""},
	} {
		_, err := load(text(c.caller, c.global))
		if got := errorText(err); got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.caller, c.global, got, c.want)
		}
	}
	// No cap in calls is too small: one call is one call.
	calls := strings.Replace(text("5", "5"), "{usd: 5}", "{calls: 1}", 1)
	if _, err := load(calls); err != nil {
		t.Error(err)
	}
	huge := strings.Replace(text("5", "5"), "output_usd_per_million: 1000, max_output_tokens: 1000", "output_usd_per_million: 1000000, max_output_tokens: 1048576", 1)
	if got, want := errorText(errorOf(load(huge))), `line 2: caps.caller.usd: 5.000000 dollars do not hold one call of "dear", which may cost 1048576.`; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant it to begin with\n%s", got, want)
	}
}

func errorOf(_ *config.Config, err error) error { return err }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Everything is said at once, by line, and not without end.
func TestEveryProblemIsReported(t *testing.T) {
	_, err := load(`llm:
  provider: acme
  models:
    - {name: m, input_usd_per_million: x, output_usd_per_million: 0.60, max_output_tokens: 300}
caps:
  caller: {calls: ten}
  global: {usd: 5, eur: 4}
demo: {calls: 0x10}
extra: 1
`)
	const want = `line 2: llm.max_input_bytes: missing: set how many bytes of input a call may make you pay for, such as 8000
line 2: llm.provider: "acme" is not one of demo, openai, anthropic, bedrock
line 4: llm.models[0].input_usd_per_million: "x" is not a plain decimal number: write digits and a point, such as 0.15, without sign, unit, exponent or separator
line 6: caps.caller.calls: "ten" is not a whole number: write digits only, without a leading zero, such as 10
line 7: caps.global.eur: unknown key: known here are calls, usd
line 8: demo.calls: "0x10" is not a whole number: write digits only, without a leading zero, such as 10
line 9: extra: unknown key: known here are ` + top
	if errorText(err) != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	var problems *config.Error
	if !errors.As(err, &problems) || len(problems.Problems) != 7 || problems.Problems[3] != (config.Problem{Line: 6, Field: "caps.caller.calls", What: `"ten" is not a whole number: write digits only, without a leading zero, such as 10`}) {
		t.Errorf("%+v", problems)
	}

	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}
	_, err = load(many.String())
	lines := strings.Split(errorText(err), "\n")
	if len(lines) != 51 || lines[50] != "and 951 more" {
		t.Errorf("%d lines, the last %q; want 51 and the rest counted", len(lines), lines[len(lines)-1])
	}
}
