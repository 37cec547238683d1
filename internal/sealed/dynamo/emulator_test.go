//go:build emulator

package dynamo_test

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	counts "github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/sealed/dynamo"
)

// TestEmulator sends the expressions to the DynamoDB at SPENDCAP_TEST_DYNAMODB, for
// example http://127.0.0.1:4566, which reads them itself.
func TestEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set: give it the endpoint of an emulator")
	}
	client, table := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 10,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), "sealed-"+rand.Text()
	if err := counts.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
	s := dynamo.Store{Client: client, Table: table}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return s.PutFirst(t.Context(), name, []byte("first"), end, now) }, "first"},
		{func() error { return s.PutFirst(t.Context(), name, []byte("second"), end, now) }, "first"},
		{func() error { return s.Put(t.Context(), name, []byte("third"), end.AddDate(0, 0, 1)) }, "third"},
		{func() error { return s.Erase(t.Context(), name, now) }, ""},
		{func() error { return s.PutFirst(t.Context(), name, []byte("late"), end, now) }, ""},
		{func() error { return s.PutFirst(t.Context(), name, []byte("blocked again"), end, now.Add(time.Second)) }, "blocked again"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), name); err != nil || string(got) != step.want {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
	}
}
