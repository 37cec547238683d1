//go:build emulator

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What an operator sets from the command line is obeyed by a process that has been
// running, within the time that is promised, and what the commands show is what the
// process has counted.
func TestOperatedFromTheCommandLine(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set; scripts/test starts an emulator and sets it")
	}
	path := filepath.Join(t.TempDir(), "spendcap.yaml")
	if err := os.WriteFile(path, []byte("demo: {calls: 10000}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("operate-%d", time.Now().UnixNano())
	// No HMAC key: the commands find the one that the process keeps in the table.
	origin := start(t, fixed[:1], "-config", path, "-dynamodb-endpoint", endpoint, "-dynamodb-table", table).origin
	spendcap := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := runForTest(t, append(args, "--dynamodb-endpoint", endpoint, "--table", table)...)
		if code != success {
			t.Fatalf("%v: %d %s", args, code, stderr)
		}
		return stdout
	}
	file := "--config=" + path
	const viewer = "198.51.100.10"
	// eventually calls until the demo endpoint answers with the status, which costs calls.
	eventually := func(want int, viewer string) demoReply {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
			status, reply := call(t, origin, viewer+":1")
			if status == want {
				return reply
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d %+v, want %d", status, reply, want)
			}
		}
	}

	for n := range 3 {
		if status, reply := call(t, origin, viewer+":1"); status != 200 || reply.Count != n+1 {
			t.Fatalf("%d %+v", status, reply)
		}
	}
	var who found
	if err := json.Unmarshal([]byte(spendcap("whois", viewer, file, "--json")), &who); err != nil {
		t.Fatal(err)
	}
	demo := who.Budgets[0]
	if who.CountedAs != viewer || demo.Budget != "demo" || demo.Calls != 3 || demo.UsedUp {
		t.Errorf("%+v", who)
	}
	if text := spendcap("status", file); !strings.Contains(text, demo.Key+"      3  ") {
		t.Errorf("the caller %s is not shown with 3 calls:\n%s", demo.Key, text)
	}

	spendcap("limit", "demo", "--calls", "3", "--today", file)
	if reply := eventually(429, viewer); !reply.Capped {
		t.Errorf("%+v", reply)
	}
	spendcap("limit", "demo", "--clear", file)
	eventually(200, viewer)

	spendcap("block", demo.Key, file)
	eventually(429, viewer)
	if status, _ := call(t, origin, "198.51.100.11:1"); status != 200 {
		t.Errorf("another caller is refused: %d", status)
	}
	spendcap("unblock", viewer, file)
	eventually(200, viewer)

	spendcap("block", "2001:db8::1", "--for", "1h", file)
	eventually(429, "2001:db8::ffff") // the same /64
	spendcap("unblock", "2001:db8::/64", file)
	eventually(200, "2001:db8::ffff")
	if n := strings.Count(spendcap("history", "--json"), `"action":`); n != 6 {
		t.Errorf("%d changes are recorded, want 6", n)
	}
}
