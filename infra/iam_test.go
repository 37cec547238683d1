package infra_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/infra"
	"github.com/seed3e88d9a2/spendcap/site"
)

// grants are what the role of a function may do: "action on resource", sorted.
func grants(t template, role string) []string {
	var found []string
	for id, r := range t.all("AWS::IAM::Policy") {
		if !strings.Contains(id, role) {
			continue
		}
		statements, _ := get(r, "Properties/PolicyDocument/Statement")
		for _, s := range statements.([]any) {
			actions, _ := get(s, "Action")
			resources, _ := get(s, "Resource")
			for _, a := range many(actions) {
				for _, res := range many(resources) {
					found = append(found, fmt.Sprintf("%v on %s", a, short(t, res)))
				}
			}
		}
	}
	sort.Strings(found)
	return found
}

func many(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// short names the resource of a template that a value refers to.
func short(t template, v any) string {
	s := text(v)
	for id := range t.resources() {
		s = strings.ReplaceAll(s, id, strings.TrimPrefix(id[:len(id)-8], "SpendCap"))
	}
	return strings.ReplaceAll(s, `"arn:",{"Ref":"AWS::Partition"},":`, `"arn:PARTITION:`)
}

// pageGrants are what the page's function may do: write and delete the page's files.
func pageGrants() []string {
	grants := []string{
		`logs:CreateLogStream on {"Fn::GetAtt":["PageLogs","Arn"]}`,
		`logs:PutLogEvents on {"Fn::GetAtt":["PageLogs","Arn"]}`,
	}
	for _, action := range []string{"s3:DeleteObject", "s3:PutObject"} {
		for _, f := range site.Files(site.Settings{}) {
			grants = append(grants, action+` on {"Fn::Join":["",[{"Fn::GetAtt":["Site","Arn"]},"/`+f.Name+`"]]}`)
		}
	}
	return grants
}

func TestLeastPrivilege(t *testing.T) {
	whole := plainTemplate(t)
	for role, want := range map[string][]string{
		"HandlerRole": {
			`dynamodb:GetItem on {"Fn::GetAtt":["Table","Arn"]}`,
			`dynamodb:UpdateItem on {"Fn::GetAtt":["Table","Arn"]}`,
			`logs:CreateLogStream on {"Fn::GetAtt":["HandlerLogs","Arn"]}`,
			`logs:PutLogEvents on {"Fn::GetAtt":["HandlerLogs","Arn"]}`,
			`secretsmanager:GetSecretValue on {"Ref":"HmacSecret"}`,
			`secretsmanager:GetSecretValue on {"Ref":"OriginSecret"}`,
		},
		"RotateRole": {
			`cloudfront:GetDistribution on {"Fn::Join":["",["arn:PARTITION:cloudfront::",{"Ref":"AWS::AccountId"},":distribution/",{"Ref":"Edge"}]]}`,
			`cloudfront:GetDistributionConfig on {"Fn::Join":["",["arn:PARTITION:cloudfront::",{"Ref":"AWS::AccountId"},":distribution/",{"Ref":"Edge"}]]}`,
			`cloudfront:UpdateDistribution on {"Fn::Join":["",["arn:PARTITION:cloudfront::",{"Ref":"AWS::AccountId"},":distribution/",{"Ref":"Edge"}]]}`,
			`logs:CreateLogStream on {"Fn::GetAtt":["RotateLogs","Arn"]}`,
			`logs:PutLogEvents on {"Fn::GetAtt":["RotateLogs","Arn"]}`,
			`secretsmanager:DescribeSecret on {"Ref":"OriginSecret"}`,
			`secretsmanager:GetSecretValue on {"Ref":"OriginSecret"}`,
			`secretsmanager:PutSecretValue on {"Ref":"OriginSecret"}`,
			`secretsmanager:UpdateSecretVersionStage on {"Ref":"OriginSecret"}`,
		},
		"PageRole": pageGrants(),
	} {
		got := grants(whole, role)
		got = slices.DeleteFunc(slices.Clone(got), func(s string) bool { return slices.Contains(want, s) })
		if all := grants(whole, role); len(all) != len(want) || len(got) != 0 {
			t.Errorf("%s may do\n%s\nbeyond the expected\n%s", role, strings.Join(all, "\n"), strings.Join(got, "\n"))
		}
	}
	if n := len(whole.all("AWS::IAM::Policy")); n != 3 {
		t.Errorf("%d policies", n)
	}
}

// noWildcard fails for an identity policy with a wildcard, a managed policy, and a
// permission to call a function that is not bound to its caller.
func noWildcard(t template) error {
	var errs []error
	for id, r := range t.all("AWS::IAM::Role") {
		for _, key := range []string{"ManagedPolicyArns", "Policies"} {
			if _, ok := get(r, "Properties/"+key); ok {
				errs = append(errs, fmt.Errorf("%s has %s", id, key))
			}
		}
	}
	for id, r := range t.all("AWS::IAM::Policy") {
		statements, _ := get(r, "Properties/PolicyDocument/Statement")
		for _, s := range statements.([]any) {
			for _, key := range []string{"Action", "Resource"} {
				v, _ := get(s, key)
				if strings.Contains(text(v), "*") && !through(s) {
					errs = append(errs, fmt.Errorf("%s has a wildcard: %s", id, text(s)))
				}
			}
			for _, key := range []string{"NotAction", "NotResource"} {
				if _, ok := get(s, key); ok {
					errs = append(errs, fmt.Errorf("%s has %s", id, key))
				}
			}
		}
	}
	for id, r := range t.all("AWS::Lambda::Permission") {
		if _, ok := get(r, "Properties/SourceArn"); !ok || strings.Contains(text(r), "*") {
			errs = append(errs, fmt.Errorf("%s lets others call the function: %s", id, text(r)))
		}
	}
	return errors.Join(errs...)
}

// through tells the one wildcard that could not be narrower: an inference profile calls
// its model in regions of its own choice.
func through(statement any) bool {
	_, bound := get(statement, "Condition/StringEquals/bedrock:InferenceProfileArn")
	v, _ := get(statement, "Resource")
	action, _ := get(statement, "Action")
	return bound && action == "bedrock:InvokeModel" && strings.Count(text(v), "*") == len(many(v)) && strings.Contains(text(v), ":bedrock:*::foundation-model/")
}

func TestNoWildcard(t *testing.T) {
	widen := func(key string, value any) func(template) {
		return func(t template) {
			id, r, _ := t.one("AWS::IAM::Policy", "HandlerRole")
			_ = id
			s, _ := get(r, "Properties/PolicyDocument/Statement/0")
			s.(map[string]any)[key] = value
		}
	}
	rule{noWildcard, map[string]func(template){
		"all actions":      widen("Action", "dynamodb:*"),
		"all resources":    widen("Resource", "*"),
		"NotAction":        widen("NotAction", "iam:PassRole"),
		"a managed policy": func(t template) { t.with("AWS::IAM::Role", "RotateRole", "Properties/ManagedPolicyArns", []any{"x"}) },
		"any caller": func(t template) {
			_, r, _ := t.one("AWS::Lambda::Permission", "InvokedByApi")
			remove(r, "Properties/SourceArn")
		},
	}}.run(t, plainTemplate(t))
}

const bedrockFile = `
caps: {caller: {calls: 10, usd: 0.5}, global: {usd: 5}}
llm:
  provider: bedrock
  max_input_bytes: 8000
  models:
    - {name: plain, upstream: amazon.nova-lite-v1:0, input_usd_per_million: 0.06, output_usd_per_million: 0.24, max_output_tokens: 300}
    - {name: us.amazon.nova-pro-v1:0, input_usd_per_million: 0.8, output_usd_per_million: 3.2, max_output_tokens: 300}
`

func TestBedrockIsAllowedForTheNamedModelsOnly(t *testing.T) {
	whole := synth(t, bedrockFile, nil)
	var got []string
	for _, g := range grants(whole, "HandlerRole") {
		if strings.HasPrefix(g, "bedrock:") {
			got = append(got, g)
		}
	}
	want := []string{
		`bedrock:InvokeModel on {"Fn::Join":["",["arn:PARTITION:bedrock:*::foundation-model/amazon.nova-pro-v1:0"]]}`,
		`bedrock:InvokeModel on {"Fn::Join":["",["arn:PARTITION:bedrock:",{"Ref":"AWS::Region"},"::foundation-model/amazon.nova-lite-v1:0"]]}`,
		`bedrock:InvokeModel on {"Fn::Join":["",["arn:PARTITION:bedrock:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":inference-profile/us.amazon.nova-pro-v1:0"]]}`,
	}
	sort.Strings(got)
	sort.Strings(want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if strings.Contains(text(plainTemplate(t)), "bedrock:") {
		t.Error("Bedrock is allowed without being the provider")
	}
	rule{noWildcard, map[string]func(template){
		"through any profile": func(t template) {
			for _, r := range t.all("AWS::IAM::Policy") {
				statements, _ := get(r, "Properties/PolicyDocument/Statement")
				for _, s := range statements.([]any) {
					delete(s.(map[string]any), "Condition")
				}
			}
		},
	}}.run(t, whole)
	if v := whole.at("AWS::Budgets::Budget", "", "Properties/Budget/BudgetLimit/Amount"); !same(v, 165) {
		t.Errorf("the budget is %v, want 31 days of 5 dollars and 10 for the rest", v)
	}
}

func TestProviderKey(t *testing.T) {
	const arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:openai-key-AbCdEf"
	file := strings.Replace(strings.Replace(bedrockFile, "provider: bedrock", "provider: openai", 1), "upstream: amazon.nova-lite-v1:0, ", "", 1)
	whole := synth(t, file, func(p *infra.Props) { p.ProviderSecretARN = arn })
	if got := grants(whole, "HandlerRole"); !slices.Contains(got, `secretsmanager:GetSecretValue on "`+arn+`"`) {
		t.Errorf("%q", got)
	}
	if v := whole.at(function, "Handler", "Properties/Environment/Variables/SPENDCAP_PROVIDER_SECRET_ID"); v != arn {
		t.Errorf("%v", v)
	}
	for wrong, expected := range map[string]string{
		"":           "ProviderSecretARN is missing",
		"openai-key": "not the complete ARN",
		"arn:aws:secretsmanager:us-east-1:123456789012:secret:*": "not the complete ARN",
	} {
		_, _, err := stackOf(t, file, func(p *infra.Props) { p.ProviderSecretARN = wrong })
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
