package config_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/llm"
)

func load(text string) (*config.Config, error) { return config.Load(strings.NewReader(text)) }

// Everything that can be set, and what it becomes.
func TestLoad(t *testing.T) {
	got, err := load(`
caps:
  caller: {calls: 10, usd: 0.05}
  global: {calls: 5000, usd: "5.000001"}
demo: {calls: 3}
viewer: {ipv4_prefix: 24, ipv6_prefix: 56}
cors: {allowed_origins: [https://www.example.com, "https://example.com:8443"]}
llm:
  provider: openai
  base_url: http://127.0.0.1:11434/v1
  max_input_bytes: 8000
  system_prompt: |
    You answer questions about birds.
    Be brief.
  temperature: {min: 0, max: 1.5}
  models:
    - name: small
      upstream: vendor/small-2026
      input_usd_per_million: 0.15
      cached_input_usd_per_million: 0.0375
      cache_write_usd_per_million: "0.1875"
      output_usd_per_million: 0.60
      max_output_tokens: 300
      long_context:
        above_input_tokens: 200000
        input_usd_per_million: 0.30
        cached_input_usd_per_million: 0.075
        output_usd_per_million: 0.90
    - name: large
      input_usd_per_million: 1
      output_usd_per_million: 2.000001
      max_output_tokens: 1
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Caller:         caps.Budget{Name: "caller", Cap: caps.Calls(10).AndUSD(50_000)},
		Global:         caps.Budget{Name: "global", Cap: caps.Calls(5000).AndUSD(5_000_001)},
		Demo:           caps.Budget{Name: "demo", Cap: caps.Calls(3)},
		Mask:           caps.Mask{IPv4Bits: 24, IPv6Bits: 56},
		AllowedOrigins: []string{"https://www.example.com", "https://example.com:8443"},
		LLM: &llm.Config{
			Provider:      llm.ProviderOpenAI,
			BaseURL:       "http://127.0.0.1:11434/v1",
			MaxInputBytes: 8000,
			SystemPrompt:  "You answer questions about birds.\nBe brief.\n",
			Temperature:   &llm.Range{Min: 0, Max: 1.5},
			Models: []llm.Model{{
				Name: "small", Upstream: "vendor/small-2026", MaxOutputTokens: 300,
				Price: llm.Price{
					Input: 150_000, CachedInput: 37_500, CacheWrite: 187_500, Output: 600_000,
					LongContext: &llm.LongContext{AboveInputTokens: 200_000, Input: 300_000, CachedInput: 75_000, Output: 900_000},
				},
			}, {
				Name: "large", MaxOutputTokens: 1, Price: llm.Price{Input: 1_000_000, Output: 2_000_001},
			}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}

const models = `models: [{name: m, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 300}]`

func TestLoadBudgets(t *testing.T) {
	const paid = "\nllm: {provider: demo, max_input_bytes: 100, " + models + "}\n"
	for text, want := range map[string][3]caps.Cap{ // caller, global, demo
		"demo: {calls: 10}": {{}, {}, caps.Calls(10)},
		"demo: {calls: 0}":  {{}, {}, caps.Calls(0)},
		"demo: {calls: 5}\ncaps: {caller: {calls: 10}, global: {usd: 5}}": {caps.Calls(10), caps.USD(5_000_000), caps.Calls(5)},
		"caps: {caller: {calls: 10}, global: {usd: 5}}" + paid:            {caps.Calls(10), caps.USD(5_000_000), {}},
		"caps: {caller: {usd: 1}, global: {usd: 5, calls: 7}}" + paid:     {caps.USD(1_000_000), caps.Calls(7).AndUSD(5_000_000), {}},
		// 0 closes; it is not a cap that is too small by mistake.
		"caps: {caller: {usd: 0}, global: {usd: 0.0}}" + paid: {caps.USD(0), caps.USD(0), {}},
		// A caller may be allowed more than the ceiling.
		"caps: {caller: {usd: 50}, global: {usd: 5}}" + paid: {caps.USD(50_000_000), caps.USD(5_000_000), {}},
	} {
		c, err := load(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := [3]caps.Cap{c.Caller.Cap, c.Global.Cap, c.Demo.Cap}; got != want {
			t.Errorf("%s: %+v; want %+v", text, got, want)
		}
		for _, b := range []struct {
			budget caps.Budget
			name   string
		}{{c.Caller, "caller"}, {c.Global, "global"}, {c.Demo, "demo"}} {
			if b.budget != (caps.Budget{}) && b.budget.Name != b.name {
				t.Errorf("the budget %s is called %q", b.name, b.budget.Name)
			}
		}
		if (c.LLM != nil) != strings.Contains(text, "llm") {
			t.Errorf("%s: llm is %v", text, c.LLM)
		}
	}
}

// The text of an amount counts, not the number that a YAML reader would make of it.
func TestAmountsAreExact(t *testing.T) {
	for text, want := range map[string]caps.MicroUSD{
		"0":              0,
		"0.0":            0,
		"5":              5_000_000,
		"0.000001":       1,
		"0.1":            100_000,
		"0.10":           100_000,
		"0.3":            300_000,
		"0.29":           290_000,
		"1.000000000000": 1_000_000,
		"0.00000000000000000000000000000000000000": 0,                     // as long as one may be
		"4503599627.370497":                        4_503_599_627_370_497, // beyond what a float's decimals carry
		"9007199254.740991":                        caps.MaxMicroUSD,
		`"0.05"`:                                   50_000,
		`'0.05'`:                                   50_000,
	} {
		c, err := load("demo: {calls: 1}\ncaps: {caller: {calls: 1}, global: {usd: " + text + "}}")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := c.Global.Cap.USD(); got != want || !ok {
			t.Errorf("%s is %d micro-dollars; want %d", text, got, want)
		}
	}
}

// Ways of writing the same that are fine.
func TestLoadForms(t *testing.T) {
	for name, text := range map[string]string{
		"block":              "demo:\n  calls: 10\n",
		"flow":               "{demo: {calls: 10}}",
		"JSON":               `{"demo": {"calls": 10}}`,
		"comments":           "# one\ndemo: # two\n  # three\n  calls: 10 # four\n",
		"document start":     "---\ndemo: {calls: 10}\n",
		"document end":       "demo: {calls: 10}\n...\n",
		"Windows line ends":  "demo:\r\n  calls: 10\r\n",
		"byte order mark":    "\ufeffdemo: {calls: 10}",
		"quoted key":         `"demo": {'calls': 10}`,
		"no line end":        "demo: {calls: 10}",
		"explicit key":       "? demo\n: {? calls : 10}\n",
		"empty origins":      "demo: {calls: 10}\ncors: {allowed_origins: []}",
		"YAML 1.1 directive": "%YAML 1.1\n---\ndemo: {calls: 10}\n",
	} {
		c, err := load(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.Demo.Cap != caps.Calls(10) || len(c.AllowedOrigins) != 0 || c.Mask != (caps.Mask{}) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.yaml")
	if _, err := config.LoadFile(path); err == nil || err.Error() != path+": there is no such file: start from the spendcap.yaml that comes with spendcap" {
		t.Errorf("no file: %v", err)
	}
	if _, err := config.LoadFile("a\x00b"); err == nil || err.Error() != "the configuration cannot be opened: open a\x00b: invalid argument" {
		t.Errorf("a file that cannot be opened: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("demo: {calls: 10}\n")
	if c, err := config.LoadFile(path); err != nil || c.Demo.Cap != caps.Calls(10) {
		t.Errorf("%+v, %v", c, err)
	}
	write("demo:\n  calls: ten\n  cals: 1\n")
	want := path + ":2: demo.calls: \"ten\" is not a whole number: write digits only, without a leading zero, such as 10\n" +
		path + ":3: demo.cals: unknown key: known here are calls"
	if _, err := config.LoadFile(path); err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	write("")
	if _, err := config.LoadFile(path); err == nil || err.Error() != path+": the file is empty: start from the spendcap.yaml that comes with spendcap" {
		t.Errorf("empty: %v", err)
	}
	if _, err := config.LoadFile(filepath.Dir(path)); err == nil || !strings.HasPrefix(err.Error(), "the configuration cannot be ") {
		t.Errorf("a directory: %v", err)
	}
}

type brokenReader struct{}

var errBroken = errors.New("broken")

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestLoadReader(t *testing.T) {
	if c, err := config.Load(brokenReader{}); c != nil || !errors.Is(err, errBroken) {
		t.Errorf("%v, %v", c, err)
	}
	// A file that is too large is not read to its end.
	endless := io.MultiReader(strings.NewReader("demo: {calls: 10}\n#"), endlessReader{})
	if _, err := config.Load(endless); err == nil || err.Error() != "the file is larger than 65536 bytes: is it the right one?" {
		t.Errorf("%v", err)
	}
	const demo = "demo: {calls: 10}\n#"
	for n, fits := range map[int]bool{config.MaxBytes: true, config.MaxBytes + 1: false} {
		if _, err := load(demo + strings.Repeat("x", n-len(demo))); (err == nil) != fits {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzLoad: whatever the file is, there is a configuration that is usable or an error
// that says where, and never a panic.
func FuzzLoad(f *testing.F) {
	shipped, err := os.ReadFile("../../spendcap.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(shipped))
	for _, c := range refused {
		f.Add(c.text)
	}
	f.Add("demo: &a {calls: 1}\nviewer: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(text)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v and %v", c, err)
		}
		var problems *config.Error
		if err != nil {
			if !errors.As(err, &problems) || len(problems.Problems) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			last := 0
			for _, p := range problems.Problems {
				if p.What == "" || p.Line < 0 || p.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+strings.Count(text, "\u2028")+strings.Count(text, "\u2029")+strings.Count(text, "\u0085")+1 {
					t.Fatalf("%+v", p)
				}
				if p.Line < last && !strings.HasPrefix(p.What, "and ") {
					t.Fatalf("not in order: %v", err)
				}
				last = p.Line
			}
			return
		}
		if c.LLM == nil && c.Demo == (caps.Budget{}) {
			t.Fatal("there is nothing to guard")
		}
		for _, b := range []caps.Budget{c.Caller, c.Global, c.Demo} {
			if b != (caps.Budget{}) && b.Check() != nil {
				t.Fatal(b.Check())
			}
		}
		if err := c.Mask.Check(); err != nil {
			t.Fatal(err)
		}
		if c.LLM == nil {
			return
		}
		if err := c.LLM.Check(); err != nil {
			t.Fatal(err)
		}
		ceiling, ok := c.Global.Cap.USD()
		if !ok {
			t.Fatal("paid calls without a ceiling in dollars")
		}
		for _, m := range c.LLM.Models {
			if worst, err := c.LLM.MaxCost(m); err != nil || ceiling > 0 && worst.USD > ceiling {
				t.Fatalf("the ceiling of %s does not hold one call of %s (%v)", ceiling, worst.USD, err)
			}
		}
	})
}
