package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// handler is the guarded API's function, or one's own, with what it needs to know and
// what it may do: no action and no resource more than the code uses.
func (c *SpendCap) handler() {
	environment := map[string]*string{
		"SPENDCAP_TABLE":            c.Table.TableName(),
		"SPENDCAP_ORIGIN_SECRET_ID": c.OriginSecret.SecretArn(),
		"SPENDCAP_HMAC_SECRET_ID":   c.HMACSecret.SecretArn(),
		"SPENDCAP_SERVICE":          &c.settings.Service,
	}
	secrets := []*string{c.OriginSecret.SecretArn(), c.HMACSecret.SecretArn()}
	if arn := c.settings.ProviderSecretARN; arn != "" {
		environment["SPENDCAP_PROVIDER_SECRET_ID"] = &arn
		secrets = append(secrets, &arn)
	}
	if c.Handler = c.settings.Handler; c.Handler == nil {
		c.Handler = c.function(functionProps{
			id: "Handler", bundle: bundle.API, description: "spendcap: the guarded API",
			memory: 512, timeout: deadlines.Lambda, environment: environment,
		})
	} else {
		for name, value := range environment {
			c.Handler.AddEnvironment(jsii.String(name), value, nil)
		}
	}
	role := c.Handler.GrantPrincipal()
	allow(role, []string{"dynamodb:GetItem", "dynamodb:UpdateItem"}, c.Table.TableArn())
	allow(role, []string{"secretsmanager:GetSecretValue"}, secrets...)
	for _, model := range c.settings.bedrockModels() {
		for _, s := range c.invoke(model) {
			role.AddToPrincipalPolicy(s)
		}
	}
}

// geographies are the prefixes of Bedrock's cross-region inference profiles
// (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html).
var geographies = []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "global."}

// invoke allows one model of Bedrock. An inference profile hands the call on to the
// model in regions of its own choice, so there the region is open, but only for calls
// through that profile.
func (c *SpendCap) invoke(model string) []awsiam.PolicyStatement {
	action := []string{"bedrock:InvokeModel"}
	stack := awscdk.Stack_Of(c.Construct)
	arn := func(region, account, resource string) *string {
		return jsii.String(fmt.Sprintf("arn:%s:bedrock:%s:%s:%s", *stack.Partition(), region, account, resource))
	}
	if strings.HasPrefix(model, "arn:") {
		return []awsiam.PolicyStatement{statement(action, []*string{&model})}
	}
	for _, geography := range geographies {
		base, ok := strings.CutPrefix(model, geography)
		if !ok {
			continue
		}
		profile := arn(*stack.Region(), *stack.Account(), "inference-profile/"+model)
		through := statement(action, []*string{arn("*", "", "foundation-model/"+base)})
		through.AddCondition(jsii.String("StringEquals"), map[string]any{"bedrock:InferenceProfileArn": profile})
		return []awsiam.PolicyStatement{statement(action, []*string{profile}), through}
	}
	return []awsiam.PolicyStatement{statement(action, []*string{arn(*stack.Region(), "", "foundation-model/"+model)})}
}
