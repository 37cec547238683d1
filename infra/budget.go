package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsbudgets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// budget is the last resort, for what no cap of ours sees. It looks at the bill of the
// whole account, and it looks late: AWS updates it a few times a day.
func (c *SpendCap) budget() {
	stack := awscdk.Stack_Of(c.Construct)
	c.Alarms.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("TellBudget"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("budgets.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{c.Alarms.TopicArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": stack.Account()}},
	}))
	notify := func(kind string, percent float64) *awsbudgets.CfnBudget_NotificationWithSubscribersProperty {
		return &awsbudgets.CfnBudget_NotificationWithSubscribersProperty{
			Notification: &awsbudgets.CfnBudget_NotificationProperty{
				NotificationType:   &kind,
				ComparisonOperator: jsii.String("GREATER_THAN"),
				Threshold:          &percent,
				ThresholdType:      jsii.String("PERCENTAGE"),
			},
			Subscribers: []any{&awsbudgets.CfnBudget_SubscriberProperty{SubscriptionType: jsii.String("SNS"), Address: c.Alarms.TopicArn()}},
		}
	}
	awsbudgets.NewCfnBudget(c.Construct, jsii.String("Budget"), &awsbudgets.CfnBudgetProps{
		Budget: &awsbudgets.CfnBudget_BudgetDataProperty{
			BudgetType:  jsii.String("COST"),
			TimeUnit:    jsii.String("MONTHLY"),
			BudgetLimit: &awsbudgets.CfnBudget_SpendProperty{Amount: jsii.Number(c.settings.budget()), Unit: jsii.String("USD")},
		},
		NotificationsWithSubscribers: []any{notify("ACTUAL", 80), notify("ACTUAL", 100), notify("FORECASTED", 100)},
	})
}
