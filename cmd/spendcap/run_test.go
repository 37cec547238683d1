package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string // a part of each; nothing at all if empty
	}{
		{"", wrongUsage, "", "Usage: spendcap COMMAND"},
		{"help", success, "Try and plan:", ""},
		{"--help", success, "Operate a deployment:", ""},
		{"-h", success, "Usage: spendcap COMMAND", ""},
		{"help dev", success, "Usage: spendcap dev", ""},
		{"help nonsense", wrongUsage, "", "nonsense"},
		{"nonsense", wrongUsage, "", `there is no command "nonsense"` + "\n"},
		{"pries", wrongUsage, "", `did you mean "prices"?`},
		{"-nonsense", wrongUsage, "", "flag provided but not defined: -nonsense"},
		{"dev --help", success, "--dynamodb-endpoint URL", ""},
		{"dev -edge", wrongUsage, "", "flag needs an argument: -edge"},
		{"dev help", wrongUsage, "", `unexpected argument "help"`},
		{"prices -config ../../spendcap.yaml", success, "demo-small", ""},
		{"prices --config ../../spendcap.yaml", success, "demo-small", ""},
		{"prices -config=../../spendcap.yaml", success, "demo-small", ""},
		{"prices -json=maybe", wrongUsage, "", `invalid value "maybe" for flag -json`},
		{"prices surplus -config ../../spendcap.yaml", wrongUsage, "", `unexpected argument "surplus"`},
		{"prices -config missing.yaml", failure, "", "spendcap prices: missing.yaml: there is no such file"},
		{"smoke https://example.com", wrongUsage, "", "the site's URL and --origin are needed"},
		{"demo -origin http://127.0.0.1:1 http://127.0.0.1:1", failure, "", "is the system running?"},
		{"demo http://127.0.0.1:1 -origin http://127.0.0.1:1", failure, "", "is the system running?"},
		{"completion bash", success, "complete -o bashdefault", ""},
		{"completion zsh", success, "#compdef spendcap", ""},
		{"completion fish", success, "complete -c spendcap", ""},
		{"completion pwsh", success, "Register-ArgumentCompleter", ""},
		{"completion nonsense", wrongUsage, "", "nonsense"},
		{"completion bash surplus", wrongUsage, "", `unexpected argument "surplus"`},
		{"dev - --generate-shell-completion", success, "--dynamodb-endpoint:", ""},
	} {
		code, stdout, stderr := runForTest(t, strings.Fields(test.args)...)
		if code != test.code || !has(stdout, test.stdout) || !has(stderr, test.stderr) {
			t.Errorf("spendcap %s: exit code %d, want %d\nstdout: %s\nstderr: %s", test.args, code, test.code, stdout, stderr)
		}
	}
}

func has(text, part string) bool {
	if part == "" {
		return text == ""
	}
	return strings.Contains(text, part)
}

// Every command explains itself, prints JSON on request, and says in its help what
// the JSON has.
func TestEveryCommandTeaches(t *testing.T) {
	for _, c := range root(env{}).Commands {
		code, help, stderr := runForTest(t, c.Name, "--help")
		if code != success || stderr != "" {
			t.Errorf("%s: %d %s", c.Name, code, stderr)
		}
		for _, part := range []string{"Usage: spendcap " + c.Name, "Example", "JSON", "--json ", "--help, -h "} {
			if !strings.Contains(help, part) {
				t.Errorf("the help of %s lacks %q", c.Name, part)
			}
		}
	}
}

func TestPricesAsJSON(t *testing.T) {
	code, stdout, stderr := runForTest(t, "prices", "--json", "--config", "../../spendcap.yaml")
	const want = `{"models":[{"name":"demo-small","inputTokens":10048,"outputTokens":300,"worstCase":"0.001688",` +
		`"perCaller":{"calls":10,"endsBy":"calls"},"everybody":{"calls":2962,"endsBy":"usd"}}]}` + "\n"
	if code != success || stdout != want || stderr != "" {
		t.Errorf("%d %s%s", code, stdout, stderr)
	}
}

func TestForgeriesAsJSON(t *testing.T) {
	p := start(t, nil)
	code, stdout, stderr := runForTest(t, "demo", "--json", "-origin", p.origin, p.edge)
	var got struct {
		OK        bool
		Forgeries []struct {
			Name, Curl, Expected, Body string
			Status                     int
			OK                         bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != success || stderr != "" {
		t.Fatalf("%d %v %s%s", code, err, stdout, stderr)
	}
	if !got.OK || len(got.Forgeries) != 3 || got.Forgeries[2].Status != 401 || !got.Forgeries[2].OK ||
		got.Forgeries[2].Body != `{"error":"not_via_cloudfront"}` || got.Forgeries[0].Curl == "" {
		t.Errorf("%+v", got)
	}
}

func TestDevAsJSON(t *testing.T) {
	cmd := exec.Command("spendcap", "dev", "--json", "-edge", "127.0.0.1:0", "-origin", "127.0.0.1:0", "-config", "../../spendcap.yaml")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Edge, SideDoor, Counts, Model string
		Try                           []struct{ Name, Expected, Curl string }
	}
	if err := json.NewDecoder(out).Decode(&got); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(got.Edge, "http://127.0.0.1:") || !strings.HasPrefix(got.SideDoor, "http://127.0.0.1:") || got.Model != "demo" || len(got.Try) != 3 || got.Try[0].Curl == "" {
		t.Errorf("%+v", got)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
