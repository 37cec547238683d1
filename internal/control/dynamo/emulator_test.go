//go:build emulator

package dynamo_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	tables "github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/control/controltest"
	"github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
)

// TestEmulator runs the suite against the DynamoDB at SPENDCAP_TEST_DYNAMODB, for
// example http://127.0.0.1:4566, which reads the expressions itself.
func TestEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set: set it to the URL of a DynamoDB emulator")
	}
	transport := &http.Transport{MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	client := dynamodb.New(dynamodb.Options{
		HTTPClient:   &http.Client{Transport: transport},
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	controltest.Run(t, func(t *testing.T) control.Store {
		name := "control-" + rand.Text()
		if err := tables.CreateTable(t.Context(), client, name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Error(err)
			}
		})
		store, err := dynamo.New(dynamo.Config{Client: client, Table: name})
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}
