package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	claimsdynamo "github.com/seed3e88d9a2/spendcap/internal/idempotency/dynamo"
)

// localTable is the name of the table of a local system.
const localTable = "spendcap"

// stores are what outlives a request.
type stores struct {
	counts caps.Store
	claims idempotency.Store

	client *dynamodb.Client // nil without a DynamoDB
	table  string
}

// sharedKey keeps the secret of the caller keys that the first process drew in the table,
// and returns it: processes with different ones would count the same viewer apart. That
// is for one machine only; a deployment's key never is where the counts are.
func (s stores) sharedKey(ctx context.Context, drawn string) (string, error) {
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.table,
		Key:                       map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "dev#hmac-key"}},
		UpdateExpression:          aws.String("SET hmacKey = if_not_exists(hmacKey, :drawn)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":drawn": &types.AttributeValueMemberS{Value: drawn}},
		ReturnValues:              types.ReturnValueAllNew,
	})
	if err != nil {
		return "", err
	}
	key, ok := out.Attributes["hmacKey"].(*types.AttributeValueMemberS)
	if !ok {
		return "", errors.New("the table's HMAC key cannot be read: set SPENDCAP_HMAC_KEY")
	}
	return key.Value, nil
}

// dynamoStores returns stores in a DynamoDB that runs at endpoint on this machine,
// which takes any credentials, and creates the table if it is missing.
func dynamoStores(ctx context.Context, endpoint, table string) (s stores, err error) {
	client := dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if err := dynamo.CreateTable(ctx, client, table); err != nil {
		return s, fmt.Errorf("-dynamodb-endpoint %s: %w", endpoint, err)
	}
	if s.counts, err = dynamo.New(dynamo.Config{Client: client, Table: table}); err != nil {
		return s, err
	}
	s.client, s.table = client, table
	s.claims, err = claimsdynamo.New(claimsdynamo.Config{Client: client, Table: table})
	return s, err
}
