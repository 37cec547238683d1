package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/deployment/awstest"
)

// Every command that works on a deployment fails with one line that says what is missing
// and which flag remedies it, and prints nothing else.
func TestWhatIsMissing(t *testing.T) {
	table := ddbtest.New(t)
	table.Table = "spendcap"
	commands := map[string]string{
		"status": "", "blocks": "", "stop": "", "resume": "", "history": "",
		"whois": "198.51.100.10", "block": "198.51.100.10", "unblock": "198.51.100.10",
		"limit": "caller --calls 1",
	}
	for _, c := range root(env{}).Commands {
		onTable := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "table") })
		if _, ok := commands[c.Name]; onTable && !ok && c.Name != "rotate-hmac" { // which asks for the secret first
			t.Errorf("%s is not tested here", c.Name)
		}
	}
	for name, test := range map[string]struct {
		flags string
		aws   bool
		want  string
	}{
		"endpoint down":          {"--dynamodb-endpoint http://127.0.0.1:1", false, "nothing answers at --dynamodb-endpoint http://127.0.0.1:1: is it running?"},
		"no local table":         {"--dynamodb-endpoint " + table.URL + " --table nope", false, `there is no table "nope" at ` + table.URL},
		"no table":               {"--table nope", true, `there is no table "nope" in eu-west-1: give --table`},
		"no stack":               {"--stack nope", true, `there is no stack "nope" in eu-west-1: give --stack`},
		"no profile":             {"--profile nope", false, `there is no AWS profile "nope"`},
		"no region":              {"", false, "no AWS region is set: give --region"},
		"no credentials":         {"--region eu-west-1", false, "no AWS credentials: give --profile"},
		"endpoint and AWS flags": {"--dynamodb-endpoint " + table.URL + " --region eu-west-1", false, "leave out --profile, --region"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ENDPOINT_URL"} {
				t.Setenv(variable, "")
				os.Unsetenv(variable)
			}
			t.Setenv("HOME", t.TempDir())
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("SPENDCAP_HMAC_KEY", awstest.HMACKey)
			if test.aws {
				for _, pair := range awstest.New(t).Env() {
					variable, value, _ := strings.Cut(pair, "=")
					t.Setenv(variable, value)
				}
			}
			for command, args := range commands {
				line := append([]string{command}, strings.Fields(args+" "+test.flags)...)
				if !slices.Contains([]string{"blocks", "stop", "resume", "history"}, command) {
					line = append(line, "--config", "../../spendcap.yaml")
				}
				code, stdout, stderr := runForTest(t, append(line, "--json")...)
				if code != failure || stdout != "" || !strings.HasPrefix(stderr, "spendcap "+command+": ") || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%v: %d\n%s%s", line, code, stdout, stderr)
				}
			}
		})
	}
}
