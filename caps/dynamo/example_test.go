package dynamo_test

import (
	"context"
	"log"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
)

// A store on a table in the account and region of the process. Make it once, where the
// process starts.
func ExampleNew() {
	aws, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var store caps.Store
	store, err = dynamo.New(dynamo.Config{Client: dynamodb.NewFromConfig(aws), Table: "spendcap"})
	if err != nil {
		log.Fatal(err)
	}
	_ = store // for caps.Config.Store
}
