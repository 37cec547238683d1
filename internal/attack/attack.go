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

// Send sends the attack, writes to w what was expected and what came, and tells
// whether they agree.
func (a Attack) Send(ctx context.Context, client *http.Client, w io.Writer) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 35*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set(a.Header, a.Value)
	res, err := client.Do(req)
	if err != nil {
		return false, fmt.Errorf("%w (is the system running?)", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return false, err
	}
	var r reply
	ok := json.Unmarshal(body, &r) == nil && a.check(res.StatusCode, r)
	verdict := "ok  "
	if !ok {
		verdict = "FAIL"
	}
	_, err = fmt.Fprintf(w, "%s %s\n     %s\n     expected: %s\n     came:     %d %s\n",
		verdict, a.Name, a.Curl(), a.Expected, res.StatusCode, strings.TrimSpace(string(body)))
	return ok, err
}
