package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/endpoint"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// The file that comes with spendcap is the one that the design describes.
func TestShippedFile(t *testing.T) {
	c, err := config.LoadFile("../../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Caller.Cap != caps.Calls(10).AndUSD(50_000) || c.Global.Cap != caps.Calls(5000).AndUSD(5_000_000) || c.Demo.Cap != caps.Calls(10) {
		t.Errorf("caps: %+v, %+v, %+v", c.Caller, c.Global, c.Demo)
	}
	if c.Mask != (caps.Mask{}) || c.AllowedOrigins != nil {
		t.Errorf("%+v, %v", c.Mask, c.AllowedOrigins)
	}
	want := llm.Model{Name: "demo-small", MaxOutputTokens: 300, Price: llm.Price{Input: 150_000, CachedInput: 75_000, Output: 600_000}}
	if c.LLM.Provider != llm.ProviderDemo || c.LLM.MaxInputBytes != 8000 || !slices.Equal(c.LLM.Models, []llm.Model{want}) {
		t.Errorf("%+v", c.LLM)
	}
	optional := regexp.MustCompile(`(?m)^# ((?:viewer|rate_limits|cors): .*)$`)
	text, err := os.ReadFile("../../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(optional.FindAllString(string(text), -1)); n != 3 {
		t.Errorf("%d optional settings are shown; want viewer, rate_limits and cors", n)
	}
	with, err := load(optional.ReplaceAllString(string(text), "$1"))
	if err != nil {
		t.Fatalf("with the optional settings: %v", err)
	}
	if with.Mask != (caps.Mask{IPv4Bits: 32, IPv6Bits: 64}) || len(with.AllowedOrigins) != 0 || with.RateLimits != nil {
		t.Errorf("the optional settings do not show the defaults: %+v, %v", with.Mask, with.AllowedOrigins)
	}
}

// Every example loads, is for the provider it is named after, says when and where its
// prices were read, and lets a caller make at least one call of each model.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/config/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if name == "tiers" || name == "bursts" {
			continue // see TestTiersExample and TestBurstsExample
		}
		names = append(names, name)
		c, err := config.LoadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.LLM == nil || c.LLM.Provider != name || len(c.LLM.Models) < 3 {
			t.Errorf("%s: %+v", path, c.LLM)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"CHECK THE PRICES BEFORE USE", "noted on 20", "https://"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		own, _ := c.Caller.Cap.USD()
		for _, m := range c.LLM.Models {
			worst, err := c.LLM.MaxCost(m)
			if err != nil || worst.USD > own {
				t.Errorf("%s: one call of %s may cost %s, a caller has %s (%v)", path, m.Name, worst.USD, own, err)
			}
			if m.Price.Output <= m.Price.Input || m.Price.CachedInput > m.Price.Input || m.Price.CacheWrite != 0 && m.Price.CacheWrite < m.Price.Input {
				t.Errorf("%s: the prices of %s are mixed up: %+v", path, m.Name, m.Price)
			}
			if l := m.Price.LongContext; l != nil && (l.Input < m.Price.Input || l.Output < m.Price.Output || l.CachedInput > l.Input) {
				t.Errorf("%s: the long-context prices of %s are mixed up: %+v", path, m.Name, l)
			}
		}
	}
	if want := []string{"anthropic", "bedrock", "openai"}; !slices.Equal(names, want) {
		t.Errorf("examples for %v; want %v", names, want)
	}
	shipped, err := os.ReadFile("../../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(shipped), "examples/config/openai.yaml, anthropic.yaml or bedrock.yaml") {
		t.Error("spendcap.yaml does not say where the prices are")
	}
}

// The example of signed-in callers has every setting of auth, and each tier has room for
// calls.
func TestTiersExample(t *testing.T) {
	const path = "../../examples/config/tiers.yaml"
	c, err := config.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Auth; !a.Anonymous || a.UserClaim != "sub" || a.TierClaim != "cognito:groups" || a.Default != "free" || len(a.Audience) != 1 || len(a.Tiers) != 2 {
		t.Errorf("%+v", a)
	}
	worst, err := c.LLM.MaxCost(c.LLM.Models[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []caps.Cap{c.Caller.Cap, c.Auth.Tiers[0].Cap, c.Auth.Tiers[1].Cap, c.Address.Cap} {
		if usd, _ := limit.USD(); usd < 10*worst.USD {
			t.Errorf("%+v holds less than ten calls of %s", limit, worst.USD)
		}
	}
	// Without anonymous callers it is one word and one line less.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refusing := regexp.MustCompile(`(?m)^  caller: .*\n`).ReplaceAllString(strings.Replace(string(text), "anonymous: allow ", "anonymous: refuse", 1), "")
	if c, err = load(refusing); err != nil || c.Auth.Anonymous || c.Caller.Cap != caps.Calls(0) {
		t.Errorf("%+v, %v", c, err)
	}
}

// The example of limits on bursts holds back what is paid for, and lets a caller spend
// its day within it.
func TestBurstsExample(t *testing.T) {
	c, err := config.LoadFile("../../examples/config/bursts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.RateLimits) != 4 || c.RateLimits[endpoint.DemoCap] != nil {
		t.Errorf("%+v", c.RateLimits)
	}
	calls, _ := c.Caller.Cap.Calls()
	for _, path := range []string{endpoint.ChatCompletions, endpoint.Messages} {
		if rules := c.RateLimits[path]; len(rules) != 1 || rules[0].WhenDown != ratelimit.Refuse || int64(rules[0].Requests) >= calls {
			t.Errorf("%s: %+v", path, rules)
		}
	}
}
