//go:build emulator

package dynamo

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	caps "github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
	"github.com/seed3e88d9a2/spendcap/ratelimit/ratelimittest"
)

// The expressions are read as the scripted endpoint reads them. The DynamoDB is the one at
// SPENDCAP_TEST_DYNAMODB, for example http://127.0.0.1:4566; without one this test fails.
func TestEmulatorStore(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set: set it to the URL of a DynamoDB emulator")
	}
	// The emulator's queue of new connections is short; what does not fit is reset.
	transport := &http.Transport{MaxConnsPerHost: 32, MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	client := dynamodb.New(dynamodb.Options{
		HTTPClient:   &http.Client{Transport: transport},
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	const table = "spendcap-ratelimit-test"
	if err := caps.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	ratelimittest.Run(t, func(tb testing.TB) func() ratelimit.Store {
		return func() ratelimit.Store {
			store, err := New(Config{Client: client, Table: table, Deadline: 2 * time.Minute, AttemptTimeout: 2 * time.Minute})
			if err != nil {
				tb.Fatal(err)
			}
			return store
		}
	})
}
