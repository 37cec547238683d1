package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableAPI is what [CreateTable] asks of a *dynamodb.Client.
type TableAPI interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

const (
	// tableTimeout bounds CreateTable.
	tableTimeout = time.Minute

	// tablePoll is the pause between two looks at a table that is being created.
	tablePoll = 200 * time.Millisecond
)

// CreateTable creates the table of a [Store] if it is missing, on demand and with its
// TTL enabled, and returns when it can be used. It is for local use: in AWS the
// infrastructure owns the table. A table of another shape is an error and left alone.
func CreateTable(ctx context.Context, client TableAPI, name string) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	if err := createTable(ctx, client, name); err != nil {
		return fmt.Errorf("creating DynamoDB table %s: %w", name, err)
	}
	return nil
}

func createTable(ctx context.Context, client TableAPI, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(attrKey), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(attrKey), KeyType: types.KeyTypeHash}},
	})
	if exists := (*types.ResourceInUseException)(nil); err != nil && !errors.As(err, &exists) {
		return err
	}
	for {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return err
		}
		if err := checkKey(out.Table); err != nil {
			return err
		}
		if out.Table.TableStatus == types.TableStatusActive {
			break
		}
		select {
		case <-time.After(tablePoll):
		case <-ctx.Done():
			return fmt.Errorf("the table is still %s: %w", out.Table.TableStatus, ctx.Err())
		}
	}
	return enableTTL(ctx, client, name)
}

func checkKey(table *types.TableDescription) error {
	if table == nil {
		return errors.New("DescribeTable told nothing")
	}
	if len(table.KeySchema) != 1 || aws.ToString(table.KeySchema[0].AttributeName) != attrKey {
		return fmt.Errorf("the table exists and its key is not %s alone: choose another name", attrKey)
	}
	for _, a := range table.AttributeDefinitions {
		if aws.ToString(a.AttributeName) == attrKey && a.AttributeType != types.ScalarAttributeTypeS {
			return fmt.Errorf("the table exists and its key %s is not a string: choose another name", attrKey)
		}
	}
	return nil
}

// enableTTL enables the table's TTL, also if somebody else does so at the same time.
func enableTTL(ctx context.Context, client TableAPI, name string) error {
	enabled, err := ttlEnabled(ctx, client, name)
	if enabled || err != nil {
		return err
	}
	_, enabling := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrExpiry), Enabled: aws.Bool(true)},
	})
	if enabling == nil {
		return nil
	}
	if enabled, err := ttlEnabled(ctx, client, name); enabled && err == nil {
		return nil
	}
	return enabling
}

func ttlEnabled(ctx context.Context, client TableAPI, name string) (bool, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return false, err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return false, nil
	}
	if got := aws.ToString(d.AttributeName); got != attrExpiry {
		return false, fmt.Errorf("the table exists and its TTL attribute is %s, not %s: choose another name", got, attrExpiry)
	}
	return true, nil
}
