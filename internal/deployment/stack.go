package deployment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"
)

// output returns an output of the stack, which is asked once.
func (d *Deployment) output(ctx context.Context, name string) (string, error) {
	stack := d.options.Stack
	if stack == "" {
		stack = DefaultStack
	}
	if d.stack == nil {
		out, err := cloudformation.NewFromConfig(d.aws).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
		var api smithy.APIError
		switch {
		case errors.As(err, &api) && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist"):
			return "", fmt.Errorf("there is no stack %q in %s: give --stack, --region or --profile, or the table's name with --table", stack, d.aws.Region)
		case err != nil:
			return "", fmt.Errorf("looking for the table in the outputs of the stack %s (--table NAME does without): %w", stack, err)
		case len(out.Stacks) != 1:
			return "", fmt.Errorf("CloudFormation told %d stacks %q", len(out.Stacks), stack)
		}
		d.stack = make(map[string]string)
		for _, o := range out.Stacks[0].Outputs {
			d.stack[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	value, ok := d.stack[name]
	if !ok || value == "" {
		return "", fmt.Errorf("the stack %s in %s has no output %s: is it one of spendcap, and deployed by this version?", stack, d.aws.Region, name)
	}
	return value, nil
}
