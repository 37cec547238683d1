package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/deployment/awstest"
)

// Each script has a deployment of its own: $DYNAMODB is the URL of a local system's
// DynamoDB with the table spendcap, and the command `aws` sets the environment of one in
// AWS. Both have what put puts; $KEY is the caller key of the one who called today.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			local := ddbtest.New(t)
			local.Table = "spendcap"
			local.Put("dev#hmac-key", ddbtest.Row{"hmacKey": {"S": awstest.HMACKey}})
			cloud := awstest.New(t)
			put(local)
			e.Setenv("KEY", put(cloud.DynamoDB))
			e.Setenv("DYNAMODB", local.URL)
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Values[awsEnv{}] = cloud.Env()
			file, err := os.ReadFile("../../spendcap.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(e.WorkDir+"/spendcap.yaml", file, 0o644)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// configured adds the last two lines of a file to the operator's.
			"configured": func(ts *testscript.TestScript, neg bool, args []string) {
				lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
				file := ts.ReadFile("spendcap.yaml") + "\n" + strings.Join(lines[len(lines)-2:], "\n") + "\n"
				ts.Check(os.WriteFile(ts.MkAbs("spendcap.yaml"), []byte(file), 0o644))
			},
			"aws": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, pair := range ts.Value(awsEnv{}).([]string) {
					name, value, _ := strings.Cut(pair, "=")
					ts.Setenv(name, value)
				}
			},
		},
	})
}

type awsEnv struct{}

// seeded is the viewer with calls today, and on another day.
const seeded = "198.51.100.10"

// put puts what two callers have used on 2026-01-02, and one today, whose key it returns.
func put(table *ddbtest.Server) string {
	earlier, err := caps.ParseDay("2026-01-02")
	if err != nil {
		panic(err)
	}
	keyer, err := caps.NewKeyer([]byte(awstest.HMACKey))
	if err != nil {
		panic(err)
	}
	viewer, err := caps.ViewerCaller(seeded + ":1")
	if err != nil {
		panic(err)
	}
	row := func(budget string, day caps.Day, caller, calls, usd, held string) {
		r := ddbtest.Row{"n": {"N": calls}, "usd": {"N": usd}, "held": {"N": held}}
		if held != "0" && caller != caps.Everybody {
			r["hold:0123456789abcdef"] = map[string]string{"N": held}
		}
		table.Put(caps.ItemKey{Budget: budget, Day: day, Caller: caller}.String(), r)
	}
	row("global", earlier, caps.Everybody, "14", "2052700", "2000")
	row("caller", earlier, strings.Repeat("a", 32), "10", "49000", "2000")
	row("caller", earlier, strings.Repeat("b", 32), "4", "3700", "0")
	row("demo", earlier, strings.Repeat("c", 32), "10", "0", "0")
	today := caps.DayOf(time.Now())
	key := keyer.Key("caller", today, viewer)
	row("caller", today, key, "3", "450", "50")
	return key
}
