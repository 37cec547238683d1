package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controldynamo "github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	claimsdynamo "github.com/seed3e88d9a2/spendcap/internal/idempotency/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	sealeddynamo "github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	ratesdynamo "github.com/seed3e88d9a2/spendcap/ratelimit/dynamo"
)

// stores are what outlives a request.
type stores struct {
	counts caps.Store
	claims idempotency.Store

	controls control.Store
	rates    ratelimit.Store
	sealed   sealed.Store // nil without a DynamoDB: nobody could open it

	client *dynamodb.Client // nil without a DynamoDB
	table  string
}

// dynamoStores returns stores in a DynamoDB that runs at endpoint on this machine,
// which takes any credentials, and creates the table if it is missing.
func dynamoStores(ctx context.Context, endpoint, table string) (s stores, err error) {
	client, err := deployment.LocalClient(endpoint)
	if err != nil {
		return s, err
	}
	if err := dynamo.CreateTable(ctx, client, table); err != nil {
		return s, deployment.ExplainLocal(endpoint, err)
	}
	if s.counts, err = dynamo.New(dynamo.Config{Client: client, Table: table}); err != nil {
		return s, err
	}
	s.sealed = sealeddynamo.Store{Client: client, Table: table}
	if s.controls, err = controldynamo.New(controldynamo.Config{Client: client, Table: table}); err != nil {
		return s, err
	}
	if s.rates, err = ratesdynamo.New(ratesdynamo.Config{Client: client, Table: table}); err != nil {
		return s, err
	}
	s.client, s.table = client, table
	s.claims, err = claimsdynamo.New(claimsdynamo.Config{Client: client, Table: table})
	return s, err
}
