// Package attack has the three ways in which a caller tries to choose its own bucket,
// as commands to paste and as requests to send.
package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Attack is one request with a forged header.
type Attack struct {
	Name     string
	URL      string
	Header   string // the forged header
	Value    string
	Expected string // what a person should see
	check    func(status int, r reply) bool
}

type reply struct {
	Capped    *bool  `json:"capped"`
	CountedAs string `json:"countedAs"`
	Error     string `json:"error"`
}

const path = "/api/demo/cap"

// forged is from the range for documentation (RFC 5737), so it is nobody's.
const forged = "203.0.113.99"

// All returns the three attacks on a system with this edge and side door, both as
// URLs without a path.
func All(edge, sideDoor string) []Attack {
	counted := func(status int, r reply) bool {
		return (status == 200 || status == 429) && r.Capped != nil && r.CountedAs != "" && r.CountedAs != forged
	}
	refused := func(status int, r reply) bool { return status == 401 && r.Error == "not_via_cloudfront" }
	edge, sideDoor = strings.TrimRight(edge, "/"), strings.TrimRight(sideDoor, "/")
	return []Attack{
		{"forged X-Forwarded-For through the edge", edge + path, "X-Forwarded-For", forged,
			"200 counting the real address (429 once its calls are used up)", counted},
		{"forged viewer address through the edge", edge + path, "CloudFront-Viewer-Address", forged + ":1234",
			"200 counting the real address (429 once its calls are used up)", counted},
		{"forged viewer address at the side door", sideDoor + path, "CloudFront-Viewer-Address", forged + ":1234",
			"401 not_via_cloudfront", refused},
	}
}

// Curl returns the attack as a command to paste.
func (a Attack) Curl() string {
	return fmt.Sprintf("curl -i -X POST -H '%s: %s' %s", a.Header, a.Value, a.URL)
}

// Result is what came of an attack.
type Result struct {
	Name     string `json:"name"`
	Curl     string `json:"curl"`
	Expected string `json:"expected"`
	Status   int    `json:"status"`
	Body     string `json:"body"`
	OK       bool   `json:"ok"` // what came is what was expected
}

// String gives the result as text of several lines, without one at the end.
func (r Result) String() string {
	verdict := "ok  "
	if !r.OK {
		verdict = "FAIL"
	}
	return fmt.Sprintf("%s %s\n     %s\n     expected: %s\n     came:     %d %s",
		verdict, r.Name, r.Curl, r.Expected, r.Status, r.Body)
}

// Send sends the attack and tells what came. An error means that nothing came.
func (a Attack) Send(ctx context.Context, client *http.Client) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 35*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, nil)
	if err != nil {
		return Result{}, err
	}
	req.Header.Set(a.Header, a.Value)
	res, err := client.Do(req)
	if err != nil {
		return Result{}, fmt.Errorf("%w (is the system running?)", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return Result{}, err
	}
	var r reply
	return Result{
		Name: a.Name, Curl: a.Curl(), Expected: a.Expected,
		Status: res.StatusCode, Body: strings.TrimSpace(string(body)),
		OK: json.Unmarshal(body, &r) == nil && a.check(res.StatusCode, r),
	}, nil
}
