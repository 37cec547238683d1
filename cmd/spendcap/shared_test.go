//go:build emulator

package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Four processes count in one DynamoDB, whose endpoint is in SPENDCAP_TEST_DYNAMODB.
func TestBurstOfOneViewerOnFourProcesses(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set; scripts/test starts an emulator and sets it")
	}
	table := fmt.Sprintf("burst-%d", time.Now().UnixNano())
	var origins []string
	for range 4 {
		origins = append(origins, start(t, fixed, "-dynamodb-endpoint", endpoint, "-dynamodb-table", table).origin)
	}
	got := burst(t, 1000, "198.51.100.78:1234", origins...)
	if got[200] != 10 || got[429] != 990 {
		t.Errorf("statuses %v, want 10 x 200 and 990 x 429", got)
	}
	if status, reply := call(t, origins[0], "198.51.100.78:1234"); status != 429 || reply.Count != 10 {
		t.Errorf("%d %+v afterwards, want 429 and a count of 10", status, reply)
	}
}
