//go:build emulator

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sent is a call that was answered.
type sent struct {
	process int
	path    string
	started time.Time
	status  int
	body    string
}

// flow sends paid and demo calls of ever new viewers to every process until end is
// closed, and hands on what came of them.
func flow(t *testing.T, origins []string, end <-chan struct{}) <-chan sent {
	results := make(chan sent, 10_000)
	var group sync.WaitGroup
	var viewer atomic.Uint32
	for i, origin := range origins {
		for _, path := range []string{"/api/demo/cap", "/api/v1/chat/completions"} {
			group.Go(func() {
				for {
					select {
					case <-end:
						return
					case <-time.After(20 * time.Millisecond):
					}
					n := viewer.Add(1)
					req, err := http.NewRequest("POST", origin+path, strings.NewReader(strings.Replace(chatBody, "small", "demo-small", 1)))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("X-Origin-Verify", originSecret)
					req.Header.Set("CloudFront-Viewer-Address", fmt.Sprintf("198.18.%d.%d:1234", n>>8&0xff, n&0xff))
					req.Header.Set("Content-Type", "application/json")
					started := time.Now()
					res, err := client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					body, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil {
						t.Error(err)
						return
					}
					results <- sent{i, path, started, res.StatusCode, string(body)}
				}
			})
		}
	}
	go func() { group.Wait(); close(results) }()
	return results
}

// Two processes that have admitted calls and go on getting them: five seconds after
// `spendcap stop` has returned neither admits any call, paid or demo, and all are told
// the operator's message. After `spendcap resume` both admit again.
func TestStopIsObeyedWithinFiveSeconds(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set; scripts/test starts an emulator and sets it")
	}
	file := filepath.Join(t.TempDir(), "spendcap.yaml")
	text, err := os.ReadFile("../../spendcap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wide := strings.ReplaceAll(string(text), "global: {calls: 5000, usd: 5.00}", "global: {usd: 5000}")
	if err := os.WriteFile(file, []byte(wide), 0o644); err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("stop-%d", time.Now().UnixNano())
	where := []string{"--dynamodb-endpoint", endpoint, "--table", table}
	var origins []string
	for range 2 {
		origins = append(origins, start(t, fixed, "-config", file, "-dynamodb-endpoint", endpoint, "-dynamodb-table", table).origin)
	}
	end := make(chan struct{})
	calls := flow(t, origins, end)
	kinds := map[string]bool{}
	admitted := func(c sent) {
		if c.status == 200 {
			kinds[fmt.Sprint(c.process, c.path)] = true
		}
	}
	everything := func(what string) {
		t.Helper()
		clear(kinds)
		for deadline := time.After(time.Minute); len(kinds) < 4; {
			select {
			case c := <-calls:
				admitted(c)
			case <-deadline:
				t.Fatalf("%s: only %v admitted", what, kinds)
			}
		}
	}
	everything("at first")

	code, stdout, stderr := runForTest(t, append([]string{"stop", "--message", "Back on Monday"}, where...)...)
	stopped := time.Now()
	if code != success {
		t.Fatal(code, stdout, stderr)
	}
	var last time.Duration
	refused := map[string]int{}
	for deadline := time.After(8 * time.Second); deadline != nil; {
		select {
		case c := <-calls:
			after := c.started.Sub(stopped)
			switch {
			case c.status == 200:
				last = max(last, after)
			case after >= 5*time.Second && c.status == 429 && strings.Contains(c.body, "Back on Monday"):
				refused[fmt.Sprint(c.process, c.path)]++
			}
			if after >= 5*time.Second && c.status == 200 {
				t.Errorf("process %d admitted a call to %s %v after the stop", c.process, c.path, after)
			}
		case <-deadline:
			deadline = nil
		}
	}
	t.Logf("the last admitted call began %v after the stop; refused later: %v", last, refused)
	if len(refused) != 4 {
		t.Errorf("refused with the message: %v, want both paths of both processes", refused)
	}

	if code, stdout, stderr = runForTest(t, append([]string{"resume"}, where...)...); code != success {
		t.Fatal(code, stdout, stderr)
	}
	everything("after the resume")
	close(end)
	for range calls {
	}
}
