package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// deploymentFlags say which deployment a command works on.
func deploymentFlags(o *deployment.Options) []cli.Flag {
	const category = "Which deployment"
	return []cli.Flag{
		&cli.StringFlag{Name: "profile", Category: category, Destination: &o.Profile, Usage: "`NAME` of the AWS profile, as for the AWS CLI; without it AWS_PROFILE, or the environment's credentials"},
		&cli.StringFlag{Name: "region", Category: category, Destination: &o.Region, Usage: "AWS `REGION`, as for the AWS CLI; without it AWS_REGION, or the profile's"},
		&cli.StringFlag{Name: "stack", Category: category, Destination: &o.Stack, Sources: cli.EnvVars("SPENDCAP_STACK"), DefaultText: deployment.DefaultStack, Usage: "`NAME` of the CloudFormation stack, whose outputs name the table"},
		&cli.StringFlag{Name: "table", Category: category, Destination: &o.Table, Sources: cli.EnvVars("SPENDCAP_TABLE"), DefaultText: "the stack's", Usage: "`NAME` of the DynamoDB table; the stack is then not asked"},
		&cli.StringFlag{Name: "dynamodb-endpoint", Category: category, Destination: &o.Endpoint, Usage: "`URL` of a DynamoDB on this machine, as for `spendcap dev`: nothing of AWS is asked"},
	}
}

// find finds the deployment and runs the action on it. What goes wrong comes back with
// what can be done about it.
func find(ctx context.Context, e env, o deployment.Options, action func(*deployment.Deployment) error) error {
	o.Lookup = e.lookup
	d, err := deployment.Find(ctx, o)
	if err != nil {
		return err
	}
	return d.Explain(action(d))
}

// whichHelp ends the help of the commands that work on a deployment.
const whichHelp = `
Which deployment: without flags the CloudFormation stack "spendcap" in the account and
region of your AWS profile. It needs the permissions cloudformation:DescribeStacks on
the stack (not with --table)`

// addressFlags are for commands that turn addresses into caller keys.
func addressFlags(o *deployment.Options, file *string) []cli.Flag {
	return []cli.Flag{
		configFlag(file),
		&cli.StringFlag{Name: "hmac-secret", Category: "Which deployment", Destination: &o.HMACSecret, DefaultText: "the stack's", Usage: "`NAME` or ARN of the secret of the caller keys in Secrets Manager; SPENDCAP_HMAC_KEY comes before it"},
	}
}
