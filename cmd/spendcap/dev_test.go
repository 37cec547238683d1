package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/attack"
)

const (
	originSecret = "0123456789abcdef0123456789abcdef-origin"
	hmacKey      = "0123456789abcdef0123456789abcdef-hmac"
)

var fixed = []string{"SPENDCAP_ORIGIN_SECRET=" + originSecret, "SPENDCAP_HMAC_KEY=" + hmacKey}

// client keeps enough connections for a burst.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}

type demoReply struct {
	Capped    bool   `json:"capped"`
	CountedAs string `json:"countedAs"`
	Count     int    `json:"count"`
	Error     string `json:"error"`
}

// call posts to the demo endpoint at the side door, as the edge would for a viewer.
func call(t testing.TB, url, viewer string) (int, demoReply) {
	t.Helper()
	req, err := http.NewRequest("POST", url+"/api/demo/cap", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Origin-Verify", originSecret)
	req.Header.Set("CloudFront-Viewer-Address", viewer)
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0, demoReply{}
	}
	defer res.Body.Close()
	var reply demoReply
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		t.Error(err)
	}
	return res.StatusCode, reply
}

// burst sends n parallel calls of one viewer, in turn to each of urls, and returns how
// many of each status came.
func burst(t testing.TB, n int, viewer string, urls ...string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := make(map[int]int)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			status, _ := call(t, urls[i%len(urls)], viewer)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	group.Wait()
	return statuses
}

func TestViewerAddressesAtTheSideDoor(t *testing.T) {
	p := start(t, fixed)
	rows, err := os.ReadFile("testdata/viewer-address.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(strings.TrimSpace(string(rows)), "\n")[1:] {
		fields := strings.Split(row, "\t")
		value, bucket := fields[0], fields[1]
		status, reply := call(t, p.origin, value)
		switch {
		case bucket == "refuse" && (status != 401 || reply.Error != "no_viewer_address"):
			t.Errorf("%q: %d %+v, want 401 no_viewer_address", value, status, reply)
		case bucket != "refuse" && (status != 200 || reply.CountedAs != bucket):
			t.Errorf("%q: %d %+v, want 200 counted as %s", value, status, reply, bucket)
		}
	}
}

func TestBurstOfOneViewer(t *testing.T) {
	p := start(t, fixed)
	got := burst(t, 1000, "198.51.100.77:1234", p.origin)
	if got[200] != 10 || got[429] != 990 {
		t.Errorf("statuses %v, want 10 x 200 and 990 x 429", got)
	}
}

func TestForgeries(t *testing.T) {
	p := start(t, nil)
	code, out, errs := runForTest(t, "demo", "-origin", p.origin, p.edge)
	if code != 0 || strings.Count(out, "ok  ") != 3 || errs != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	// Played against the wrong way round, it must fail: the side door counts nothing.
	if code, out, _ = runForTest(t, "demo", "-origin", p.edge, p.origin); code != 1 || strings.Count(out, "FAIL") != 3 {
		t.Errorf("exit code %d with the URLs swapped, want 1\n%s", code, out)
	}
}

func TestEveryRunDrawsItsOwnSecrets(t *testing.T) {
	p := start(t, nil)
	if status, reply := call(t, p.origin, "198.51.100.10:1"); status != 401 || reply.Error != "not_via_cloudfront" {
		t.Errorf("%d %+v, want 401 not_via_cloudfront", status, reply)
	}
}

func TestThePageKnowsTheSideDoor(t *testing.T) {
	p := start(t, nil)
	for path, want := range map[string]string{"/": "Your bucket", "/config.json": `{"sideDoor":"` + p.origin + `"}`} {
		res, err := http.Get(p.edge + path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(content), want) {
			t.Errorf("%s: %d %v %s", path, res.StatusCode, err, content)
		}
		if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' "+p.origin+";") {
			t.Errorf("%s: the policy %q does not let the page send to the side door", path, policy)
		}
	}
}

func TestReadmeHasTheThreeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attack.All("http://127.0.0.1:8080", "http://127.0.0.1:8081") {
		if !strings.Contains(string(readme), a.Curl()) {
			t.Errorf("the README lacks: %s", a.Curl())
		}
	}
}
