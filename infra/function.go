package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
)

// retention has the numbers of days that are offered.
var retention = map[int]awslogs.RetentionDays{
	7:   awslogs.RetentionDays_ONE_WEEK,
	14:  awslogs.RetentionDays_TWO_WEEKS,
	30:  awslogs.RetentionDays_ONE_MONTH,
	60:  awslogs.RetentionDays_TWO_MONTHS,
	90:  awslogs.RetentionDays_THREE_MONTHS,
	180: awslogs.RetentionDays_SIX_MONTHS,
	365: awslogs.RetentionDays_ONE_YEAR,
}

func (c *SpendCap) logs(id string) awslogs.LogGroup {
	return awslogs.NewLogGroup(c.Construct, &id, &awslogs.LogGroupProps{
		Retention:     retention[c.settings.LogDays],
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
}

type functionProps struct {
	id, bundle, description string
	memory                  float64 // MB
	timeout                 time.Duration
	environment             map[string]*string
}

// function is a Lambda whose role may write its own logs and nothing else: the managed
// policy that is usually given would let it write everybody's.
func (c *SpendCap) function(p functionProps) awslambda.Function {
	logs := c.logs(p.id + "Logs")
	role := awsiam.NewRole(c.Construct, jsii.String(p.id+"Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	allow(role, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, logs.LogGroupArn())
	architecture := awslambda.Architecture_ARM_64()
	if c.settings.Architecture == bundle.AMD64 {
		architecture = awslambda.Architecture_X86_64()
	}
	return awslambda.NewFunction(c.Construct, &p.id, &awslambda.FunctionProps{
		Runtime:               awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:          architecture,
		Handler:               jsii.String("bootstrap"),
		Code:                  c.code(p.bundle),
		Description:           &p.description,
		MemorySize:            &p.memory,
		Timeout:               awscdk.Duration_Millis(jsii.Number(float64(p.timeout.Milliseconds()))),
		Environment:           &p.environment,
		Role:                  role,
		LogGroup:              logs,
		LoggingFormat:         awslambda.LoggingFormat_JSON,
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		SystemLogLevelV2:      awslambda.SystemLogLevel_WARN,
	})
}

// allow adds the actions on exactly these resources.
func allow(grantee awsiam.IPrincipal, actions []string, resources ...*string) {
	grantee.AddToPrincipalPolicy(statement(actions, resources))
}

func statement(actions []string, resources []*string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings(actions...),
		Resources: &resources,
	})
}
