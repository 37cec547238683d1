//lint:file-ignore SA1019 the assertions still hand out the type whose definition has moved

package infra_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/cxapi"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// accepted are the findings of the AWS Solutions pack that are meant to be, by the rule
// and the end of the construct's path, each with its reason.
var accepted = map[string]string{
	"AwsSolutions-APIG4 Route":     "The API is for the public, without sign-up. What stands in front of it is the origin lock, which the function asks first.",
	"AwsSolutions-SMG4 HmacSecret": "Another key would make every caller a new one and start the counts of the day again. It leaves AWS in no request.",
	"AwsSolutions-S1 Site":         "An access log would keep viewers' addresses, and nothing reads the bucket but CloudFront.",
	"AwsSolutions-CFR3 Edge":       "An access log would keep viewers' addresses, which is what spendcap promises not to do. Metrics and the HTTP API's log say what happens.",
	"AwsSolutions-CFR4 Edge":       "CloudFront's own certificate leaves no choice. With DomainNames and a Certificate the minimum is TLS 1.2, which a test checks.",
	"AwsSolutions-DDB3 Table":      "Counts of yesterday are worth nothing, and restored counts of today would let callers spend twice.",
	"AwsSolutions-CFR1 Edge":       "Where callers may be is the operator's decision; the caps hold everywhere.",
	"AwsSolutions-CFR2 Edge":       "A web ACL costs more per month than the rest together. The caps bound the bill without it; docs/costs.md says when to add one.",
}

// preflight is accepted where callers sign in.
const preflight = "A preflight request has no token, and is answered without anything counted or called."

// TestNag: the AWS Solutions pack of cdk-nag finds what is accepted above, no more and
// no less.
func TestNag(t *testing.T) {
	content, err := os.ReadFile("../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	nag(t, string(content), accepted)
}

func TestNagWhereCallersSignIn(t *testing.T) {
	with := func(key string, without string) map[string]string {
		m := maps.Clone(accepted)
		m["AwsSolutions-APIG4 "+key] = preflight
		delete(m, without)
		return m
	}
	nag(t, signInFile("allow"), with("RouteOPTIONSapiuproxy", ""))
	nag(t, signInFile("refuse"), with("RouteOPTIONSproxy", "AwsSolutions-APIG4 Route"))
}

func nag(t *testing.T, content string, accepted map[string]string) {
	t.Helper()
	_, stack, err := stackOf(t, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	found := map[string]bool{}
	annotations := assertions.Annotations_FromStack(stack)
	any := assertions.Match_StringLikeRegexp(jsii.String("AwsSolutions-.*"))
	for _, list := range []*[]*cxapi.SynthesisMessage{annotations.FindError(jsii.String("*"), any), annotations.FindWarning(jsii.String("*"), any)} {
		for _, m := range *list {
			rule, _, _ := strings.Cut(text(m.Entry.Data), ":")
			path := strings.TrimSuffix(strings.TrimPrefix(*m.Id, "/spendcap/SpendCap/"), "/Resource")
			key := strings.Trim(rule, `"`) + " " + path
			found[key] = true
			if accepted[key] == "" {
				t.Errorf("%s: %s", key, text(m.Entry.Data))
			}
		}
	}
	for key := range accepted {
		if !found[key] {
			t.Errorf("%s is accepted and not found: take it off the list", key)
		}
	}
}
