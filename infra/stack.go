package infra

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// NewStack makes a stack with one deployment and its outputs. It deploys into the
// account and region of whoever deploys it.
func NewStack(scope constructs.Construct, id string, props *Props) (awscdk.Stack, *SpendCap, error) {
	stack := awscdk.NewStack(scope, &id, &awscdk.StackProps{
		Description: jsii.String("spendcap: a spend cap in front of paid calls"),
	})
	c, err := NewSpendCap(stack, "SpendCap", props)
	if err != nil {
		return nil, nil, err
	}
	output := func(name, description, value string) {
		awscdk.NewCfnOutput(stack, &name, &awscdk.CfnOutputProps{Description: &description, Value: &value})
	}
	demo := "/api/demo/cap"
	forged := "-H 'CloudFront-Viewer-Address: 203.0.113.99:1234'"
	output("SiteURL", "The site, through the edge", *c.SiteURL)
	output("SideDoorURL", "The API's own URL, which answers 401", *c.SideDoorURL)
	output("TableName", "The table of the counts", *c.Table.TableName())
	output("HmacSecret", "The secret of the caller keys, for the operator's tool", *c.HMACSecret.SecretArn())
	output("AlarmTopic", "The topic of the alarms", *c.Alarms.TopicArn())
	output("Curl1ForgedForwardedFor", "Counted as your own address", fmt.Sprintf("curl -X POST -H 'X-Forwarded-For: 203.0.113.99' %s%s", *c.SiteURL, demo))
	output("Curl2ForgedViewerAddress", "Counted as your own address", fmt.Sprintf("curl -X POST %s %s%s", forged, *c.SiteURL, demo))
	output("Curl3SideDoor", "Refused: 401 not_via_cloudfront", fmt.Sprintf("curl -X POST %s %s%s", forged, *c.SideDoorURL, demo))
	return stack, c, nil
}
