//go:build emulator

package dynamo

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/idemtest"
)

// TestEmulator runs the suite against the DynamoDB at SPENDCAP_TEST_DYNAMODB, for
// example http://127.0.0.1:4566, which reads the expressions itself.
func TestEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set: give it the endpoint of an emulator")
	}
	client, name := newClient(endpoint), "idempotency-"+rand.Text()
	if err := dynamo.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	idemtest.Run(t, func(t *testing.T) idempotency.Store {
		s, err := New(Config{Client: client, Table: name})
		if err != nil {
			t.Fatal(err)
		}
		// An emulator is one process on a busy machine, and the contract is about outcomes.
		s.limits.total, s.limits.attempt = time.Minute, time.Minute
		return s
	})
}
