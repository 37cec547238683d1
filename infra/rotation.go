package infra

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
	"github.com/seed3e88d9a2/spendcap/internal/rotation"
)

// rotationTimeout is the most that a Lambda has. A distribution takes minutes.
const rotationTimeout = 15 * time.Minute

// rotation gives the origin secret a new value every month, and a schedule retires
// the old one a while later. The first rotation follows the first deployment, so that
// one that cannot work shows on the day when somebody is looking.
func (c *SpendCap) rotation() {
	stack := awscdk.Stack_Of(c.Construct)
	secret := c.OriginSecret.SecretArn()
	var distribution *string
	if c.settings.Existing != nil {
		distribution = &c.settings.Existing.DistributionID
	} else {
		distribution = c.Distribution.DistributionId()
	}
	c.Rotate = c.function(functionProps{
		id: "Rotate", bundle: bundle.Rotate, description: "spendcap: rotates what CloudFront sends in X-Origin-Verify",
		memory: 256, timeout: rotationTimeout,
		environment: map[string]*string{
			"SPENDCAP_ORIGIN_SECRET_ID": secret,
			"SPENDCAP_DISTRIBUTION_ID":  distribution,
			"SPENDCAP_ORIGIN_IDS":       jsii.String(originID),
			"SPENDCAP_EDGE_URL":         jsii.String(*c.SiteURL + "/api/cap"),
			"SPENDCAP_SIDE_DOOR_URL":    jsii.String(*c.SideDoorURL + "/api/cap"),
		},
	})
	role := c.Rotate.GrantPrincipal()
	allow(role, []string{
		"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue",
		"secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage",
	}, secret)
	allow(role, []string{"cloudfront:GetDistribution", "cloudfront:GetDistributionConfig", "cloudfront:UpdateDistribution"},
		jsii.String(fmt.Sprintf("arn:%s:cloudfront::%s:distribution/%s", *stack.Partition(), *stack.Account(), *distribution)))

	c.Rotate.AddPermission(jsii.String("InvokedBySecretsManager"), &awslambda.Permission{
		Principal:     awsiam.NewServicePrincipal(jsii.String("secretsmanager.amazonaws.com"), nil),
		SourceArn:     secret,
		SourceAccount: stack.Account(),
	})
	schedule := awssecretsmanager.NewCfnRotationSchedule(c.Construct, jsii.String("RotationSchedule"), &awssecretsmanager.CfnRotationScheduleProps{
		SecretId:                  secret,
		RotationLambdaArn:         c.Rotate.FunctionArn(),
		RotateImmediatelyOnUpdate: jsii.Bool(true),
		RotationRules:             &awssecretsmanager.CfnRotationSchedule_RotationRulesProperty{AutomaticallyAfterDays: jsii.Number(float64(c.settings.RotationDays))},
	})
	// The permission and the role's policy have to be there, and so has the edge with its
	// behaviours, or the first rotation fails.
	schedule.Node().AddDependency(c.Rotate, c.Rotate.Role())
	if c.Distribution != nil {
		schedule.Node().AddDependency(c.Distribution)
	}

	event := map[string]any{"Step": rotation.StepRetire, "SecretId": secret}
	rule := awsevents.NewCfnRule(c.Construct, jsii.String("RetireSchedule"), &awsevents.CfnRuleProps{
		Description:        jsii.String("spendcap: every day, retire the previous origin secret and report a rotation that is stuck"),
		ScheduleExpression: jsii.String("rate(1 day)"),
		State:              jsii.String("ENABLED"),
		Targets: []any{&awsevents.CfnRule_TargetProperty{
			Id:    jsii.String("Rotate"),
			Arn:   c.Rotate.FunctionArn(),
			Input: stack.ToJsonString(&event, nil),
		}},
	})
	c.Rotate.AddPermission(jsii.String("InvokedByRetireSchedule"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil),
		SourceArn: rule.AttrArn(),
	})
}
