package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// table holds the counts, one item per budget and day, under the names that package
// caps/dynamo uses. There are no backups: yesterday's counts are worth nothing.
func (c *SpendCap) table() {
	removal := awscdk.RemovalPolicy_RETAIN
	if c.settings.DeleteTable {
		removal = awscdk.RemovalPolicy_DESTROY
	}
	c.Table = awsdynamodb.NewTable(c.Construct, jsii.String("Table"), &awsdynamodb.TableProps{
		PartitionKey:        &awsdynamodb.Attribute{Name: jsii.String("k"), Type: awsdynamodb.AttributeType_STRING},
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		TimeToLiveAttribute: jsii.String("expiresAt"),
		Encryption:          awsdynamodb.TableEncryption_AWS_MANAGED,
		DeletionProtection:  jsii.Bool(!c.settings.DeleteTable),
		RemovalPolicy:       removal,
	})
}
