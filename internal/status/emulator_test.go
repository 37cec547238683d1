//go:build emulator

package status

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
)

// The emulator at SPENDCAP_TEST_DYNAMODB understands the filter, and what the store
// wrote is what the report reads.
func TestEmulatorReport(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set: set it to the URL of a DynamoDB emulator")
	}
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), RetryMaxAttempts: 10,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	name := fmt.Sprintf("status-%d", time.Now().UnixNano())
	if err := dynamo.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	store, err := dynamo.New(dynamo.Config{Client: client, Table: name, Deadline: time.Minute, AttemptTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, newTable(t))
	c.Client, c.Store, c.Table, c.Now = client, store, name, time.Now
	reserve := func(day caps.Day, caller, id string, amount caps.MicroUSD) caps.Charge {
		charge := caps.Charge{Key: caps.ItemKey{Budget: "caller", Day: day, Caller: caller}, Amount: amount, ID: id}
		if out, err := store.Reserve(t.Context(), charge, c.Callers[0].Cap); err != nil || !out.Allowed {
			t.Fatal(out, err)
		}
		return charge
	}
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	if ok, err := store.Settle(t.Context(), reserve(today, a, "1", 1_700), 100); err != nil || !ok {
		t.Fatal(ok, err)
	}
	reserve(today, a, "2", 1_600)
	reserve(today, b, "3", 49_500)
	reserve(today-1, b, "4", 1_000)
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
		"k": &types.AttributeValueMemberS{Value: "other#" + today.String() + "#x"},
	}}); err != nil {
		t.Fatal(err)
	}
	r, err := Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := r.Callers[0]
	got.Cap = nil
	want := Callers{Budget: "caller", Seen: 2, Capped: 1, Calls: 3, Used: 100, Held: 51_100, OpenHolds: 2, Top: []Caller{
		{Key: b, Calls: 1, Held: 49_500, OpenHolds: 1, Capped: true},
		{Key: a, Calls: 2, Used: 100, Held: 1_600, OpenHolds: 1},
	}}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(r.Callers) != 2 || !r.Reads.Complete {
		t.Errorf("got  %+v of %d\nwant %+v", got, len(r.Callers), want)
	}
}
