package deployment

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	"github.com/seed3e88d9a2/spendcap/internal/deployment/awstest"
)

func unset(string) (string, bool) { return "", false }

// inAWS sets the environment of a person who works on a deployment in AWS.
func inAWS(t *testing.T) *awstest.AWS {
	a := awstest.New(t)
	home(t)
	for _, pair := range a.Env() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	return a
}

// home is that of a person without any AWS settings.
func home(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
}

func TestFoundByTheStack(t *testing.T) {
	inAWS(t)
	d, err := Find(t.Context(), Options{Lookup: unset})
	if err != nil || d.Table != awstest.Table {
		t.Fatalf("%+v %v", d, err)
	}
	if who := d.Who(t.Context()); who != awstest.Operator {
		t.Error(who)
	}
	keyer, err := d.Keyer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sameKeys(t, keyer, awstest.HMACKey)
}

func sameKeys(t *testing.T, keyer *caps.Keyer, secret string) {
	t.Helper()
	want, err := caps.NewKeyer([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := caps.ViewerCaller("198.51.100.10:1")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := keyer.Key("caller", 1, caller), want.Key("caller", 1, caller); got != want {
		t.Errorf("key %s, want %s", got, want)
	}
}

func TestGivenInThePlaceOfTheStacks(t *testing.T) {
	inAWS(t)
	const own = "another-secret-of-32-characters-or-more"
	d, err := Find(t.Context(), Options{Table: "own", Stack: "none", Lookup: func(name string) (string, bool) {
		return own, name == "SPENDCAP_HMAC_KEY"
	}})
	if err != nil || d.Table != "own" {
		t.Fatal(d, err)
	}
	keyer, err := d.Keyer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sameKeys(t, keyer, own)
	d, err = Find(t.Context(), Options{Table: "own", Stack: "none", HMACSecret: awstest.SecretARN, Lookup: unset})
	if err != nil {
		t.Fatal(err)
	}
	if keyer, err = d.Keyer(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameKeys(t, keyer, awstest.HMACKey)
}

func TestNotFound(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		setup   func(*testing.T)
		want    string
	}{
		"no region":      {Options{}, home, "no AWS region is set: give --region"},
		"no credentials": {Options{Region: "eu-west-1"}, home, "no AWS credentials: give --profile"},
		"no profile":     {Options{Profile: "nobody"}, home, `there is no AWS profile "nobody"`},
		"no stack":       {Options{Stack: "other"}, func(t *testing.T) { inAWS(t) }, `there is no stack "other" in eu-west-1: give --stack`},
		"bad endpoint":   {Options{Endpoint: "127.0.0.1:8000"}, home, "not a URL such as http://127.0.0.1:8000"},
		"endpoint and profile": {Options{Endpoint: "http://127.0.0.1:1", Profile: "prod"}, home,
			"--dynamodb-endpoint is a system on this machine: leave out --profile"},
	} {
		t.Run(name, func(t *testing.T) {
			test.setup(t)
			test.options.Lookup = unset
			if d, err := Find(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v %v, want %s", d, err, test.want)
			}
		})
	}
}

func TestProfile(t *testing.T) {
	home(t)
	file := t.TempDir() + "/config"
	if err := os.WriteFile(file, []byte("[profile prod]\nregion = eu-central-1\naws_access_key_id = a\naws_secret_access_key = b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	d, err := Find(t.Context(), Options{Profile: "prod", Table: "t", Lookup: unset})
	if err != nil || d.aws.Region != "eu-central-1" {
		t.Errorf("%+v %v", d, err)
	}
	d, err = Find(t.Context(), Options{Profile: "prod", Region: "eu-north-1", Table: "t", Lookup: unset})
	if err != nil || d.aws.Region != "eu-north-1" {
		t.Errorf("%+v %v", d, err)
	}
}

func TestLocal(t *testing.T) {
	home(t)
	table := ddbtest.New(t)
	table.Table = LocalTable
	d, err := Find(t.Context(), Options{Endpoint: table.URL, Lookup: unset})
	if err != nil || d.Table != LocalTable {
		t.Fatal(d, err)
	}
	if who := d.Who(t.Context()); !strings.Contains(who, "@") {
		t.Error(who)
	}
	if _, err := d.Keyer(t.Context()); err == nil || !strings.Contains(err.Error(), "set SPENDCAP_HMAC_KEY") {
		t.Error(err)
	}
	first, err := ShareLocalKey(t.Context(), d.DynamoDB, d.Table, strings.Repeat("1", 32))
	if err != nil {
		t.Fatal(err)
	}
	second, err := ShareLocalKey(t.Context(), d.DynamoDB, d.Table, strings.Repeat("2", 32))
	if err != nil || first != second {
		t.Error(first, second, err)
	}
	keyer, err := d.Keyer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sameKeys(t, keyer, first)
	if _, err := (&Deployment{options: Options{Lookup: func(string) (string, bool) { return "short", true }}}).Keyer(t.Context()); err == nil || strings.Contains(err.Error(), "short ") || !strings.Contains(err.Error(), "SPENDCAP_HMAC_KEY") {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	home(t)
	table := ddbtest.New(t)
	table.Table = "another"
	get := func(d *Deployment) error {
		_, err := d.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &d.Table})
		return d.Explain(err)
	}
	local, err := Find(t.Context(), Options{Endpoint: table.URL, Lookup: unset})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, get(local), `there is no table "spendcap" at `+table.URL+": start `spendcap dev --dynamodb-endpoint "+table.URL+"` once")
	down, err := Find(t.Context(), Options{Endpoint: "http://127.0.0.1:1", Lookup: unset})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, get(down), "nothing answers at --dynamodb-endpoint http://127.0.0.1:1: is it running?")

	aws := inAWS(t)
	d, err := Find(t.Context(), Options{Table: "own", Lookup: unset})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, get(d), `there is no table "own" in eu-west-1: give --table, --region or --profile`)
	aws.DynamoDB.Always(ddbtest.Denied)
	wants(t, get(d), "AWS does not allow it: not authorized (the command's --help has the permissions")
	if d.Explain(nil) != nil || d.Explain(context.Canceled) != context.Canceled {
		t.Error("nothing to explain")
	}
}

func wants(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v\nwant %s", err, text)
	}
}

// A throttled read is tried again, more often than the SDK would by itself.
func TestThrottled(t *testing.T) {
	aws := inAWS(t)
	aws.DynamoDB.Faults(ddbtest.Throttled)
	d, err := Find(t.Context(), Options{Lookup: unset})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.aws.Retryer().MaxAttempts(); got != attempts {
		t.Errorf("%d attempts", got)
	}
	if _, err := d.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &d.Table}); err != nil || len(aws.DynamoDB.Requests()) != 2 {
		t.Error(err)
	}
}
