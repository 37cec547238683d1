//go:build emulator

package dynamo

import (
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/capstest"
)

// emulatorClient is a client of the DynamoDB at SPENDCAP_TEST_DYNAMODB, for example
// http://127.0.0.1:4566. Without one these tests fail.
func emulatorClient(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		tb.Fatal("SPENDCAP_TEST_DYNAMODB is not set: set it to the URL of a DynamoDB emulator")
	}
	// The emulator's queue of new connections is short; what does not fit is reset.
	transport := &http.Transport{MaxConnsPerHost: 32, MaxIdleConnsPerHost: 32}
	tb.Cleanup(transport.CloseIdleConnections)
	return dynamodb.New(dynamodb.Options{
		HTTPClient:   &http.Client{Transport: transport},
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

const emulatorTable = "spendcap-store-test"

func TestEmulatorStore(t *testing.T) {
	client := emulatorClient(t)
	if err := CreateTable(t.Context(), client, emulatorTable); err != nil {
		t.Fatal(err)
	}
	capstest.Run(t, func(tb testing.TB, clock *capstest.Clock) func() caps.Store {
		return func() caps.Store {
			store, err := New(Config{
				Client: client, Table: emulatorTable, Now: clock.Now,
				Deadline: 2 * time.Minute, AttemptTimeout: 2 * time.Minute,
			})
			if err != nil {
				tb.Fatal(err)
			}
			return store
		}
	})
}

// CreateTable may be called again, and by many at once.
func TestEmulatorCreateTable(t *testing.T) {
	client := emulatorClient(t)
	const name = "spendcap-create-test"
	errs := make(chan error)
	for range 4 {
		go func() { errs <- CreateTable(t.Context(), client, name) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := CreateTable(t.Context(), client, name); err != nil {
		t.Error(err)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	if d := ttl.TimeToLiveDescription; d.TimeToLiveStatus != "ENABLED" || aws.ToString(d.AttributeName) != "expiresAt" {
		t.Errorf("TTL is %s on %q; want ENABLED on expiresAt", d.TimeToLiveStatus, aws.ToString(d.AttributeName))
	}
}

// What is in the table is what the package says.
func TestEmulatorItem(t *testing.T) {
	client := emulatorClient(t)
	if err := CreateTable(t.Context(), client, emulatorTable); err != nil {
		t.Fatal(err)
	}
	store, err := New(Config{Client: client, Table: emulatorTable})
	if err != nil {
		t.Fatal(err)
	}
	day := caps.DayOf(time.Now())
	key := caps.ItemKey{Budget: "item", Day: day, Caller: time.Now().Format("150405.000000000")}
	c := caps.Charge{Key: key, Amount: 7, ID: "aa"}
	for _, c := range []caps.Charge{c, {Key: key, Amount: 5, ID: "bb"}, {Key: key, Amount: 3, ID: "cc", Final: true}} {
		if out, err := store.Reserve(t.Context(), c, caps.Calls(10)); !out.Allowed || err != nil {
			t.Fatal(out, err)
		}
	}
	if ok, err := store.Settle(t.Context(), c, 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	item, err := store.get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range item {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"done:cc", "expiresAt", "held", "hold:bb", "k", "n", "usd"}; !slices.Equal(names, want) {
		t.Errorf("attributes %q; want %q", names, want)
	}
	for name, want := range map[string]int64{"n": 3, "usd": 9, "held": 5, "hold:bb": 5, "expiresAt": day.Expiry().Unix()} {
		if got, err := item.count(name); got != want || err != nil {
			t.Errorf("%s = %d, %v; want %d", name, got, err, want)
		}
	}
}
