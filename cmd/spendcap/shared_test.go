//go:build emulator

package main

import (
	"fmt"
	"os"
	"strings"
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
		// No HMAC key: the processes have to agree on one by themselves.
		origins = append(origins, start(t, fixed[:1], "-dynamodb-endpoint", endpoint, "-dynamodb-table", table).origin)
	}
	got := burst(t, 1000, "198.51.100.78:1234", origins...)
	if got[200] != 10 || got[429] != 990 {
		t.Errorf("statuses %v, want 10 x 200 and 990 x 429", got)
	}
	if status, reply := call(t, origins[0], "198.51.100.78:1234"); status != 429 || reply.Count != 10 {
		t.Errorf("%d %+v afterwards, want 429 and a count of 10", status, reply)
	}
}

// A process that is killed in the middle of a burst forgets nothing: what it counted
// is counted, its open holds stay, and the next process admits the rest and no more.
func TestKilledInTheMiddleOfABurst(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set; scripts/test starts an emulator and sets it")
	}
	table := fmt.Sprintf("kill-%d", time.Now().UnixNano())
	b := newBill(t)
	arrived := make(chan struct{}, 100)
	b.before = func() { arrived <- struct{}{} }
	args := []string{"-config", b.file(t, "{calls: 10, usd: 5}", "{usd: 5}"), "-dynamodb-endpoint", endpoint, "-dynamodb-table", table}
	env := append([]string{"OPENAI_API_KEY=sk-test-1"}, fixed...)

	first := startToKill(t, env, args...)
	for range 6 {
		go func() {
			if res, err := client.Post(first.edge+"/api/v1/chat/completions", "application/json", strings.NewReader(chatBody)); err == nil {
				res.Body.Close()
			}
		}()
	}
	for range 3 {
		<-arrived
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()

	second := start(t, env, args...)
	admitted := 0
	for range 12 {
		if status, _ := chat(t, second.edge); status == 200 {
			admitted++
		}
	}
	// Every call that reached the upstream was counted before, so both processes
	// together never pass ten; a call that was counted and not made stays counted.
	if total := b.calls.Load(); total > 10 || admitted > 7 || admitted < 4 {
		t.Errorf("%d calls reached the upstream, %d of them after the kill; want at most 10, and 4 to 7", total, admitted)
	}
}
