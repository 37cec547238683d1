package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
)

// dynamoStore returns a store in a DynamoDB that runs at endpoint on this machine,
// which takes any credentials, and creates the table if it is missing.
func dynamoStore(ctx context.Context, endpoint, table string) (caps.Store, error) {
	client := dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if err := dynamo.CreateTable(ctx, client, table); err != nil {
		return nil, fmt.Errorf("-dynamodb-endpoint %s: %w", endpoint, err)
	}
	return dynamo.New(dynamo.Config{Client: client, Table: table})
}
