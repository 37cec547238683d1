package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

// metric is one of the API's own metrics, or another of the dashboard.
func (c *SpendCap) metric(name fmt.Stringer, statistic string, period float64) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace:     jsii.String(metrics.Namespace),
		MetricName:    jsii.String(name.String()),
		DimensionsMap: &map[string]*string{metrics.ServiceDimension: &c.settings.Service},
		Statistic:     &statistic,
		Period:        awscdk.Duration_Seconds(&period),
	})
}

// alarms tell the topic.
func (c *SpendCap) alarms() {
	c.Alarms = awssns.NewTopic(c.Construct, jsii.String("Alarms"), &awssns.TopicProps{
		DisplayName: jsii.String("spendcap " + c.settings.Service),
		EnforceSSL:  jsii.Bool(true),
	})
	if c.settings.AlarmEmail != "" {
		c.Alarms.AddSubscription(awssnssubscriptions.NewEmailSubscription(&c.settings.AlarmEmail, nil))
	}

	used := c.metric(metrics.GlobalUsedPercent, "Maximum", 60)
	for _, percent := range []int{50, 80} {
		c.oncePerDay(fmt.Sprintf("Spend%d", percent), percent,
			fmt.Sprintf("Today's calls have used %d %% of the global ceiling.", percent),
			fmt.Sprintf("IF(used >= %d || used < %d, used)", percent, percent/2),
			map[string]awscloudwatch.IMetric{"used": used})
	}
	c.oncePerDay("Spend100", 100,
		"Today's global ceiling is reached: calls are refused until 00:00 UTC.",
		"IF(FILL(refused, 0) > 0 || used >= 100 || used < 50, IF(FILL(refused, 0) > 0, 100, used))",
		map[string]awscloudwatch.IMetric{"used": used, "refused": c.metric(metrics.RefusedGlobal, "Sum", 60)})

	c.alarm("StoreErrors", "DynamoDB does not answer: paid calls are refused while it does not.",
		c.metric(metrics.StoreErrors, "Sum", 300), 5, 1)
	c.alarm("LockRefusals", "Far more requests than usual try the API's own URL and are refused. They cost a little Lambda time; if it goes on, see who publishes that URL.",
		c.metric(metrics.LockRefused, "Sum", 300), 500, 3)
	c.alarm("Overruns", "A paid call cost more than was held for it: a price or a bound in spendcap.yaml is wrong. The cost is booked in full.",
		c.metric(metrics.Overruns, "Sum", 60), 1, 1)
	c.alarm("RotationFailed", "A step of the origin secret's rotation failed. The site goes on with the secret that it has; see docs/rotate.md.",
		c.Rotate.MetricErrors(&awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(5)), Statistic: jsii.String("Sum")}), 1, 1)
	c.alarm("HandlerFailed", "The API's function fails or does not start: a wrong setting, or a secret that cannot be read.",
		c.Handler.MetricErrors(&awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(5)), Statistic: jsii.String("Sum")}), 1, 1)
}

// alarm goes off at a threshold in so many periods, and off again by itself.
func (c *SpendCap) alarm(id, text string, metric awscloudwatch.IMetric, threshold, periods float64) {
	c.tell(awscloudwatch.NewAlarm(c.Construct, jsii.String("Alarm"+id), &awscloudwatch.AlarmProps{
		AlarmDescription:   &text,
		Metric:             metric,
		Threshold:          &threshold,
		EvaluationPeriods:  &periods,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	}))
}

// oncePerDay is an alarm about the day's use of the ceiling. That use goes up to the
// ceiling in the course of a day, down a little whenever a call costs less than was
// held for it, and back to nothing at 00:00 UTC. The expression leaves out what lies
// between half of the threshold and the threshold, and missing data leave the alarm as
// it is. So it goes off when the threshold is reached, stays so for the rest of the
// day however the use goes up and down, and is ready again with the new day's first
// calls.
func (c *SpendCap) oncePerDay(id string, percent int, text, expression string, using map[string]awscloudwatch.IMetric) {
	c.tell(awscloudwatch.NewAlarm(c.Construct, jsii.String("Alarm"+id), &awscloudwatch.AlarmProps{
		AlarmDescription: &text,
		Metric: awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression:   &expression,
			UsingMetrics: &using,
			Period:       awscdk.Duration_Minutes(jsii.Number(1)),
			Label:        jsii.String("per cent of today's ceiling"),
		}),
		Threshold:          jsii.Number(float64(percent)),
		EvaluationPeriods:  jsii.Number(1),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_IGNORE,
	}))
}

func (c *SpendCap) tell(alarm awscloudwatch.Alarm) {
	alarm.AddAlarmAction(awscloudwatchactions.NewSnsAction(c.Alarms))
	c.Alarms.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Tell" + *alarm.Node().Id()),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{c.Alarms.TopicArn()},
		Conditions: &map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": alarm.AlarmArn()}},
	}))
}
