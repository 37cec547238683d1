package infra_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/infra"
)

// noErrorPage fails if CloudFront would put a page in the place of an answer or keep one.
func noErrorPage(t template) error {
	list, _ := t.at(distribution, "Edge", config+"CustomErrorResponses").([]any)
	cached := map[string]bool{}
	for _, e := range list {
		for _, key := range []string{"ResponsePagePath", "ResponseCode"} {
			if _, ok := get(e, key); ok {
				return fmt.Errorf("an answer is replaced: %s", text(e))
			}
		}
		if ttl, _ := get(e, "ErrorCachingMinTTL"); same(ttl, 0) {
			code, _ := get(e, "ErrorCode")
			cached[text(code)] = true
		}
	}
	for _, code := range []string{"400", "403", "404", "405", "414", "416", "500", "501", "502", "503", "504"} {
		if !cached[code] {
			return fmt.Errorf("a %s may be kept for other viewers", code)
		}
	}
	return nil
}

func TestNoErrorPage(t *testing.T) {
	first := config + "CustomErrorResponses/0"
	rule{noErrorPage, map[string]func(template){
		"a page":    func(t template) { t.with(distribution, "Edge", first+"/ResponsePagePath", "/oops.html") },
		"a code":    func(t template) { t.with(distribution, "Edge", first+"/ResponseCode", 200) },
		"kept":      func(t template) { t.with(distribution, "Edge", first+"/ErrorCachingMinTTL", 10) },
		"by itself": func(t template) { t.with(distribution, "Edge", first+"/ErrorCode", 418) },
	}}.run(t, plainTemplate(t))
}

// addresses are the variables of an access log that stand for a viewer.
var addresses = regexp.MustCompile(`(?i)sourceip|useragent|identity|authorizer|\$context\.path|forwarded|header`)

func accessLogIsClean(t template) error {
	format, _ := t.at(stage, "Stage", "Properties/AccessLogSettings/Format").(string)
	var line map[string]string
	if err := json.Unmarshal([]byte(format), &line); err != nil {
		return fmt.Errorf("the access log is not JSON: %w", err)
	}
	if line["status"] != "$context.status" || line["requestId"] != "$context.requestId" {
		return errors.New("the access log does not say what happened")
	}
	if found := addresses.FindString(format); found != "" {
		return fmt.Errorf("the access log has %s", found)
	}
	if _, logging := get(t.at(distribution, "Edge", "Properties/DistributionConfig"), "Logging"); logging {
		return errors.New("CloudFront's log would have the viewers' addresses")
	}
	if text(t.at(stage, "Stage", "Properties/AccessLogSettings/DestinationArn")) == "null" {
		return errors.New("the access log goes nowhere")
	}
	return nil
}

func TestNoAddressInLogs(t *testing.T) {
	format := func(s string) func(template) {
		return func(t template) { t.with(stage, "Stage", "Properties/AccessLogSettings/Format", s) }
	}
	rule{accessLogIsClean, map[string]func(template){
		"an address":      format(`{"requestId":"$context.requestId","status":"$context.status","ip":"$context.identity.sourceIp"}`),
		"a path":          format(`{"requestId":"$context.requestId","status":"$context.status","path":"$context.path"}`),
		"nothing":         format(`{}`),
		"no log":          func(t template) { t.with(stage, "Stage", "Properties/AccessLogSettings", map[string]any{}) },
		"CloudFront logs": func(t template) { t.with(distribution, "Edge", config+"Logging", map[string]any{"Bucket": "b"}) },
	}}.run(t, plainTemplate(t))
}

// everyAlarmTells fails for an alarm that nobody hears of.
func everyAlarmTells(t template) error {
	topic, _, err := t.one("AWS::SNS::Topic", "Alarms")
	if err != nil {
		return err
	}
	policy := text(t.at("AWS::SNS::TopicPolicy", "Alarms", "Properties/PolicyDocument"))
	for id, r := range t.all(alarm) {
		if actions, _ := get(r, "Properties/AlarmActions"); !same(actions, []any{map[string]any{"Ref": topic}}) {
			return fmt.Errorf("%s tells %s", id, text(actions))
		}
		if !strings.Contains(policy, `"aws:SourceArn":{"Fn::GetAtt":["`+id+`","Arn"]}`) {
			return fmt.Errorf("%s may not publish to the topic", id)
		}
		if description, _ := get(r, "Properties/AlarmDescription"); len(fmt.Sprint(description)) < 30 {
			return fmt.Errorf("%s does not say what it means", id)
		}
	}
	if n := len(t.all(alarm)); n != 8 {
		return fmt.Errorf("%d alarms", n)
	}
	if !strings.Contains(policy, `"budgets.amazonaws.com"`) || !strings.Contains(policy, `"aws:SecureTransport":"false"`) {
		return errors.New("the topic does not take the budget's notices, or takes them unencrypted")
	}
	notices, _ := t.at("AWS::Budgets::Budget", "", "Properties/NotificationsWithSubscribers").([]any)
	if len(notices) != 3 {
		return fmt.Errorf("%d notices of the budget", len(notices))
	}
	for _, n := range notices {
		if address, _ := get(n, "Subscribers/0/Address"); !same(address, map[string]any{"Ref": topic}) {
			return fmt.Errorf("a notice of the budget goes to %s", text(address))
		}
	}
	return nil
}

func TestEveryAlarmTells(t *testing.T) {
	rule{everyAlarmTells, map[string]func(template){
		"no action": func(t template) { _, r, _ := t.one(alarm, "AlarmOverruns"); remove(r, "Properties/AlarmActions") },
		"one less":  func(t template) { id, _, _ := t.one(alarm, "AlarmSpend80"); delete(t.resources(), id) },
		"no policy": func(t template) {
			t.with("AWS::SNS::TopicPolicy", "Alarms", "Properties/PolicyDocument", map[string]any{})
		},
		"no notice": func(t template) {
			t.with("AWS::Budgets::Budget", "", "Properties/NotificationsWithSubscribers", []any{})
		},
	}}.run(t, plainTemplate(t))
}

func ceilingAlarm(t template) error {
	_, r, err := t.one(alarm, "AlarmSpend100")
	if err != nil {
		return err
	}
	s := text(r)
	for _, part := range []string{"RefusedGlobal", "GlobalUsedPercent", "used \\u003e= 100", "FILL(refused, 0)"} {
		if !strings.Contains(s, part) {
			return fmt.Errorf("the alarm does not go by %s", part)
		}
	}
	return nil
}

func TestCeilingAlarm(t *testing.T) {
	rule{ceilingAlarm, map[string]func(template){
		"without refusals": func(t template) {
			_, r, _ := t.one(alarm, "AlarmSpend100")
			metrics, _ := get(r, "Properties/Metrics")
			for i, m := range metrics.([]any) {
				if strings.Contains(text(m), "RefusedGlobal") {
					remove(r, fmt.Sprintf("Properties/Metrics/%d", i))
				}
			}
		},
	}}.run(t, plainTemplate(t))
}

// rotates fails if the origin secret does not rotate by its function, or the other one does.
func rotates(t template) error {
	schedules := t.all("AWS::SecretsManager::RotationSchedule")
	if len(schedules) != 1 {
		return fmt.Errorf("%d secrets rotate", len(schedules))
	}
	secret, _, err := t.one("AWS::SecretsManager::Secret", "OriginSecret")
	if err != nil {
		return err
	}
	rotate, f, err := t.one(function, "Rotate")
	if err != nil {
		return err
	}
	edge, _, err := t.one(distribution, "Edge")
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if id, _ := get(s, "Properties/SecretId"); !same(id, map[string]any{"Ref": secret}) {
			return errors.New("another secret rotates")
		}
		if arn, _ := get(s, "Properties/RotationLambdaARN"); !same(arn, map[string]any{"Fn::GetAtt": []any{rotate, "Arn"}}) {
			return errors.New("another function rotates it")
		}
		after := text(s["DependsOn"])
		for _, name := range []string{"InvokedBySecretsManager", "RotateRoleDefaultPolicy", "Edge"} {
			if !strings.Contains(after, name) {
				return fmt.Errorf("the first rotation may begin before %s is there", name)
			}
		}
	}
	variables, _ := get(f, "Properties/Environment/Variables")
	for name, want := range map[string]any{
		"SPENDCAP_ORIGIN_SECRET_ID": map[string]any{"Ref": secret},
		"SPENDCAP_DISTRIBUTION_ID":  map[string]any{"Ref": edge},
		"SPENDCAP_ORIGIN_IDS":       t.at(distribution, "Edge", config+"Origins/1/Id"),
	} {
		if got, _ := get(variables, name); !same(got, want) {
			return fmt.Errorf("%s is %s", name, text(got))
		}
	}
	if s := text(variables); strings.Count(s, "/api/cap") != 2 {
		return errors.New("the rotation is not verified at the edge and at the side door")
	}
	target := text(t.at("AWS::Events::Rule", "Retire", "Properties/Targets"))
	if !strings.Contains(target, `{\"Step\":\"retireSecret\"`) && !strings.Contains(target, `\"Step\":\"retireSecret\"`) || !strings.Contains(target, secret) || !strings.Contains(target, rotate) {
		return fmt.Errorf("the old secret is not retired: %s", target)
	}
	callers := 0
	for _, p := range t.all("AWS::Lambda::Permission") {
		if fn, _ := get(p, "Properties/FunctionName"); same(fn, map[string]any{"Fn::GetAtt": []any{rotate, "Arn"}}) {
			if who, _ := get(p, "Properties/Principal"); who == "secretsmanager.amazonaws.com" || who == "events.amazonaws.com" {
				callers++
			}
		}
	}
	if callers != 2 {
		return errors.New("the function cannot be called by its schedule or by Secrets Manager")
	}
	return nil
}

func TestRotation(t *testing.T) {
	const schedule = "AWS::SecretsManager::RotationSchedule"
	rule{rotates, map[string]func(template){
		"no schedule": func(t template) { id, _, _ := t.one(schedule, ""); delete(t.resources(), id) },
		"the HMAC key rotates": func(t template) {
			id, _, _ := t.one("AWS::SecretsManager::Secret", "HmacSecret")
			t.with(schedule, "", "Properties/SecretId", map[string]any{"Ref": id})
		},
		"too early": func(t template) { _, r, _ := t.one(schedule, ""); delete(r, "DependsOn") },
		"another origin": func(t template) {
			t.with(function, "Rotate", "Properties/Environment/Variables/SPENDCAP_ORIGIN_IDS", "x")
		},
		"not verified": func(t template) {
			t.with(function, "Rotate", "Properties/Environment/Variables/SPENDCAP_EDGE_URL", "https://x/")
		},
		"never retired": func(t template) { t.with("AWS::Events::Rule", "Retire", "Properties/Targets", []any{}) },
		"not callable": func(t template) {
			id, _, _ := t.one("AWS::Lambda::Permission", "InvokedByRetireSchedule")
			delete(t.resources(), id)
		},
	}}.run(t, plainTemplate(t))
}

// handlerKnows fails if the API's function lacks what it reads at its start.
func handlerKnows(t template) error {
	variables := t.at(function, "Handler", "Properties/Environment/Variables")
	for name, kind := range map[string][2]string{
		"SPENDCAP_TABLE":            {table, "Table"},
		"SPENDCAP_ORIGIN_SECRET_ID": {"AWS::SecretsManager::Secret", "OriginSecret"},
		"SPENDCAP_HMAC_SECRET_ID":   {"AWS::SecretsManager::Secret", "HmacSecret"},
	} {
		id, _, err := t.one(kind[0], kind[1])
		if err != nil {
			return err
		}
		if got, _ := get(variables, name); !same(got, map[string]any{"Ref": id}) {
			return fmt.Errorf("%s is %s", name, text(got))
		}
	}
	if s := text(variables); strings.Contains(s, "resolve:") {
		return errors.New("a secret is in the environment, where anybody may read it who may see the function")
	}
	return nil
}

func TestHandlerKnows(t *testing.T) {
	set := func(name string, v any) func(template) {
		return func(t template) { t.with(function, "Handler", "Properties/Environment/Variables/"+name, v) }
	}
	rule{handlerKnows, map[string]func(template){
		"no table": set("SPENDCAP_TABLE", nil),
		"one for both": func(t template) {
			set("SPENDCAP_HMAC_SECRET_ID", t.at(function, "Handler", "Properties/Environment/Variables/SPENDCAP_ORIGIN_SECRET_ID"))(t)
		},
		"a value": set("SPENDCAP_HMAC_KEY", "{{resolve:secretsmanager:x}}"),
	}}.run(t, plainTemplate(t))
}

func TestBucketTakesTLSOnly(t *testing.T) {
	rule{func(t template) error {
		s := text(t.at("AWS::S3::BucketPolicy", "Site", "Properties/PolicyDocument"))
		if !strings.Contains(s, `"aws:SecureTransport":"false"`) || !strings.Contains(s, `"AWS:SourceArn"`) {
			return errors.New(s)
		}
		return nil
	}, map[string]func(template){
		"no policy": func(t template) {
			t.with("AWS::S3::BucketPolicy", "Site", "Properties/PolicyDocument", map[string]any{})
		},
	}}.run(t, plainTemplate(t))
}

func TestDashboard(t *testing.T) {
	rule{func(t template) error {
		body := text(t.at("AWS::CloudWatch::Dashboard", "Dashboard", "Properties/DashboardBody"))
		for _, part := range []string{"GlobalUsedMicroUSD", "GlobalCapMicroUSD", "GlobalUsedPercent", "Admitted", "RefusedCaller", "RefusedAddress", "RefusedGlobal",
			"LockRefused", "MissingAddress", "StoreErrors", "Latency", "Overruns", "SettledMicroUSD"} {
			if !strings.Contains(body, part) {
				return fmt.Errorf("the dashboard lacks %s", part)
			}
		}
		return nil
	}, map[string]func(template){
		"empty": func(t template) { t.with("AWS::CloudWatch::Dashboard", "Dashboard", "Properties/DashboardBody", "{}") },
	}}.run(t, plainTemplate(t))
}

func TestOutputs(t *testing.T) {
	rule{func(t template) error {
		outputs, _ := t["Outputs"].(map[string]any)
		for name, part := range map[string]string{
			"SiteURL": "https://", "SideDoorURL": ".execute-api.", "TableName": "Table", "HmacSecret": "HmacSecret", "AlarmTopic": "Alarms",
			"Curl1ForgedForwardedFor":  "curl -X POST -H 'X-Forwarded-For: 203.0.113.99' https://",
			"Curl2ForgedViewerAddress": "curl -X POST -H 'CloudFront-Viewer-Address: 203.0.113.99:1234' https://",
			"Curl3SideDoor":            ".execute-api.",
		} {
			// In JSON ' is written \u0027 nowhere; the encoder leaves it.
			if value, _ := get(outputs, name+"/Value"); !strings.Contains(text(value), part) {
				return fmt.Errorf("%s: %s", name, text(value))
			}
		}
		return nil
	}, map[string]func(template){
		"one less": func(t template) { delete(t["Outputs"].(map[string]any), "Curl2ForgedViewerAddress") },
	}}.run(t, plainTemplate(t))
}

func TestTags(t *testing.T) {
	tagged := 0
	for _, kind := range []string{function, table, bucket, distribution, "AWS::SecretsManager::Secret", "AWS::SNS::Topic"} {
		for id, r := range plainTemplate(t).all(kind) {
			tags, _ := get(r, "Properties/Tags")
			if !strings.Contains(text(tags), `{"Key":"app","Value":"spendcap"}`) {
				t.Errorf("%s: %s", id, text(tags))
			}
			tagged++
		}
	}
	if tagged != 9 {
		t.Errorf("%d resources", tagged)
	}
}

// TestAnyAccountAndRegion: nothing in the template belongs to one of them. Twelve digits
// within a longer word are a piece of a digest.
func TestAnyAccountAndRegion(t *testing.T) {
	s := regexp.MustCompile(`cdk-hnb659fds-[^"]*`).ReplaceAllString(text(plainTemplate(t)), "")
	if found := regexp.MustCompile(`\b[0-9]{12}\b|(us|eu|ap)-[a-z]+-[0-9]`).FindString(s); found != "" {
		t.Errorf("the template has %s", found)
	}
}

func TestSettings(t *testing.T) {
	whole := synth(t, demoOnly, func(p *infra.Props) {
		p.AlarmEmail = "ops@example.com"
		p.DeleteTable = true
		p.MonthlyBudgetUSD = 25
		p.RequestsPerSecond, p.Burst = 7, 9
		p.LogDays, p.RotationDays = 90, 7
		p.Service = "second"
		p.Architecture = "amd64"
	})
	for _, p := range []property{
		{"AWS::SNS::Subscription", "", "Properties/Protocol", "email"},
		{"AWS::SNS::Subscription", "", "Properties/Endpoint", "ops@example.com"},
		{table, "Table", "Properties/DeletionProtectionEnabled", false},
		{table, "Table", "DeletionPolicy", "Delete"},
		{"AWS::Budgets::Budget", "", "Properties/Budget/BudgetLimit/Amount", 25},
		{stage, "Stage", "Properties/DefaultRouteSettings/ThrottlingRateLimit", 7},
		{stage, "Stage", "Properties/DefaultRouteSettings/ThrottlingBurstLimit", 9},
		{"AWS::Logs::LogGroup", "HandlerLogs", "Properties/RetentionInDays", 90},
		{"AWS::SecretsManager::RotationSchedule", "", "Properties/RotationRules/AutomaticallyAfterDays", 7},
		{alarm, "AlarmOverruns", "Properties/Dimensions/0/Value", "second"},
		{function, "Handler", "Properties/Environment/Variables/SPENDCAP_SERVICE", "second"},
		{function, "Handler", "Properties/Architectures", []string{"x86_64"}},
	} {
		if err := p.check(whole); err != nil {
			t.Error(err)
		}
	}
	if n := len(plainTemplate(t).all("AWS::SNS::Subscription")); n != 0 {
		t.Errorf("%d subscriptions without an e-mail address", n)
	}
}

func TestWrongSettings(t *testing.T) {
	for want, change := range map[string]func(*infra.Props){
		"LogDays is 31":           func(p *infra.Props) { p.LogDays = 31 },
		"RotationDays is not":     func(p *infra.Props) { p.RotationDays = -1 },
		"AlarmEmail is not":       func(p *infra.Props) { p.AlarmEmail = "ops" },
		"Architecture is neither": func(p *infra.Props) { p.Architecture = "riscv64" },
		"Service has to be":       func(p *infra.Props) { p.Service = "a b" },
		"DomainNames and Certif":  func(p *infra.Props) { p.DomainNames = []string{"www.example.com"} },
		"MonthlyBudgetUSD is not": func(p *infra.Props) { p.MonthlyBudgetUSD = -1 },
		"DistributionID is not": func(p *infra.Props) {
			p.Existing = &infra.Existing{DistributionID: "*", URL: "https://www.example.com"}
		},
		"Existing.URL is not": func(p *infra.Props) {
			p.Existing = &infra.Existing{DistributionID: "E2EXAMPLE", URL: "https://www.example.com/"}
		},
		"cannot be negative": func(p *infra.Props) { p.Burst = -1 },
		"no provider of the file": func(p *infra.Props) {
			p.ProviderSecretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:k-AbCdEf"
		},
		"there is no such file":     func(p *infra.Props) { p.ConfigFile = "nowhere.yaml" },
		"spendcap.yaml:1: demo.cal": func(p *infra.Props) { os.WriteFile(p.ConfigFile, []byte("demo: {calls: many}\n"), 0o644) },
	} {
		_, _, err := stackOf(t, demoOnly, change)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestOwnFunctionAndDomain puts the construct in front of somebody's own function, in
// somebody's own stack, under a domain of theirs.
func TestOwnFunctionAndDomain(t *testing.T) {
	dir, err := lambdas()
	if err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("theirs"), nil)
	own := awslambda.NewFunction(stack, jsii.String("Own"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(filepath.Join(dir, "api")), nil),
	})
	c, err := infra.NewSpendCap(stack, "Cap", &infra.Props{
		Handler: own, Lambdas: dir, DomainNames: []string{"www.example.com"},
		Certificate: awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("Cert"), jsii.String("arn:aws:acm:us-east-1:123456789012:certificate/x")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if *c.SiteURL != "https://www.example.com" {
		t.Errorf("%s", *c.SiteURL)
	}
	whole := template(*assertions.Template_FromStack(stack, nil).ToJSON()).clone()
	if n := len(whole.all(function)); n != 3 {
		t.Errorf("%d functions", n)
	}
	id, f, err := whole.one(function, "Own")
	if err != nil {
		t.Fatal(err)
	}
	if s := text(f); !strings.Contains(s, "SPENDCAP_TABLE") || !strings.Contains(s, "SPENDCAP_ORIGIN_SECRET_ID") {
		t.Errorf("%s", s)
	}
	if uri := whole.at("AWS::ApiGatewayV2::Integration", "", "Properties/IntegrationUri"); !strings.Contains(text(uri), id) {
		t.Errorf("%s", text(uri))
	}
	if got := strings.Join(grants(whole, "OwnServiceRole"), "\n"); !strings.Contains(got, "dynamodb:UpdateItem") || !strings.Contains(got, "secretsmanager:GetSecretValue") {
		t.Error(got)
	}
	for _, p := range []property{
		{distribution, "Edge", config + "Aliases", []string{"www.example.com"}},
		{distribution, "Edge", config + "ViewerCertificate/MinimumProtocolVersion", "TLSv1.2_2021"},
	} {
		if err := p.check(whole); err != nil {
			t.Error(err)
		}
	}
	if err := onlyWithSecret(whole); err != nil {
		t.Error(err)
	}
}

// TestExistingDistribution: nothing of the edge is deployed, and the rotation goes to
// the distribution that is there.
func TestExistingDistribution(t *testing.T) {
	whole := synth(t, demoOnly, func(p *infra.Props) {
		p.Existing = &infra.Existing{DistributionID: "E2EXAMPLE3KBJ", URL: "https://www.example.com"}
	})
	for _, kind := range []string{distribution, bucket, "Custom::SpendCapPage"} {
		if n := len(whole.all(kind)); n != 0 {
			t.Errorf("%d of %s", n, kind)
		}
	}
	for _, p := range []property{
		{function, "Rotate", "Properties/Environment/Variables/SPENDCAP_DISTRIBUTION_ID", "E2EXAMPLE3KBJ"},
		{function, "Rotate", "Properties/Environment/Variables/SPENDCAP_EDGE_URL", "https://www.example.com/api/cap"},
		{function, "Rotate", "Properties/Environment/Variables/SPENDCAP_ORIGIN_IDS", "spendcap-api"},
	} {
		if err := p.check(whole); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(grants(whole, "RotateRole"), "\n"); !strings.Contains(got, `":distribution/E2EXAMPLE3KBJ"`) {
		t.Error(got)
	}
	if err := noWildcard(whole); err != nil {
		t.Error(err)
	}
}
