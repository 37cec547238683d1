// Package smoke tries, after a deployment, each promise that only the real edge can
// keep, and says pass or fail for it. It spends a few calls of the demo cap of
// whoever runs it, and nothing else.
package smoke

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// timeout bounds one request. It is above the edge's own 35 seconds.
const timeout = 40 * time.Second

// Run tries a deployment whose edge is at edgeURL and whose API's own URL is
// sideDoorURL, both without a path, as the stack's outputs have them. It tells each promise
// to say as soon as it was tried. ok: every promise is kept, as far as it can be seen from
// here. An error means that it could not be tried at all, or is one of say.
func Run(ctx context.Context, edgeURL, sideDoorURL string, say func(Promise) error) (ok bool, err error) {
	edge, err := parse("the site's URL", edgeURL)
	if err != nil {
		return false, err
	}
	r := &run{edge: edge, say: say, plain: "http://" + edge.Hostname()}
	if sideDoorURL != "" {
		door, err := parse("the side door's URL", sideDoorURL)
		if err != nil {
			return false, err
		}
		r.sideDoor = door.String()
	}
	r.v4, r.v6 = client("tcp4"), client("tcp6")
	return r.all(ctx)
}

func parse(what, s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%s is not one such as https://d111111abcdef8.cloudfront.net: take it from the outputs of the stack", what)
	}
	return u, nil
}

// client keeps to one version of the internet protocol, so that all its calls come from
// one address.
func client(network string) *http.Client {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, address)
			},
		},
	}
}

type run struct {
	edge     *url.URL
	sideDoor string // empty: not given
	plain    string // the edge's URL without TLS
	v4, v6   *http.Client
	say      func(Promise) error
}

// Promise is what came of one promise.
type Promise struct {
	Promise string `json:"promise"`
	Verdict string `json:"verdict"` // Pass, Fail or NotTried
	Detail  string `json:"detail"`  // what was seen, or why it was not tried; may be empty
}

// Verdicts.
const (
	Pass     = "pass"
	Fail     = "fail"
	NotTried = "not tried"
)

// String gives the promise as text of one or two lines, without one at the end.
func (p Promise) String() string {
	text := map[string]string{Pass: "pass ", Fail: "FAIL ", NotTried: "---- "}[p.Verdict] + p.Promise
	if p.Verdict == NotTried {
		return text + "\n     not tried: " + p.Detail
	}
	if p.Detail != "" {
		text += "\n     " + p.Detail
	}
	return text
}

// verdict is what came of one promise: nothing is wrong, or what is. unseen: it cannot
// be tried from here.
type verdict struct {
	wrong, unseen string
	seen          string
}

func (v verdict) of(promise string) Promise {
	switch {
	case v.wrong != "":
		return Promise{promise, Fail, v.wrong}
	case v.unseen != "":
		return Promise{promise, NotTried, v.unseen}
	}
	return Promise{promise, Pass, v.seen}
}

// all tries the promises in turn.
func (r *run) all(ctx context.Context) (bool, error) {
	first, err := r.count(ctx, r.v4, nil)
	if err != nil {
		return false, fmt.Errorf("%s does not answer: %w", r.edge, err)
	}
	kept := true
	for _, p := range []struct {
		promise string
		try     func() verdict
	}{
		{"the demo endpoint answers through CloudFront", func() verdict { return through(first) }},
		{"HTTPS only", func() verdict { return r.httpsOnly(ctx) }},
		{"a forged X-Forwarded-For is the same bucket", func() verdict {
			return r.sameBucket(ctx, first, "X-Forwarded-For", forged)
		}},
		{"a forged CloudFront-Viewer-Address through the edge is the same bucket", func() verdict {
			return r.sameBucket(ctx, first, "CloudFront-Viewer-Address", forged+":1234")
		}},
		{"the edge puts its own X-Origin-Verify in the place of a viewer's", func() verdict {
			return r.sameBucket(ctx, first, "X-Origin-Verify", strings.Repeat("forged-", 9))
		}},
		{"the side door is shut", func() verdict { return r.shut(ctx) }},
		{"errors are not kept for other viewers, and no page takes their place", func() verdict { return r.errorsNotKept(ctx) }},
		{"a viewer with IPv6 is counted by its network", func() verdict { return r.ipv6(ctx) }},
	} {
		result := p.try().of(p.promise)
		kept = kept && result.Verdict != Fail
		if err := r.say(result); err != nil {
			return false, err
		}
	}
	return kept, ctx.Err()
}

// forged is an address kept for documentation (RFC 5737), so it is nobody's.
const forged = "203.0.113.99"

const demo = "/api/demo/cap"

// reply is an answer of the demo endpoint, or of something in its place.
type reply struct {
	status int
	header http.Header
	body   string
	demo   struct {
		CountedAs string `json:"countedAs"`
		Count     int    `json:"count"`
		Capped    *bool  `json:"capped"`
		Error     string `json:"error"`
	}
	json bool
}

// counted tells whether it is an answer about a bucket.
func (a reply) counted() bool {
	return (a.status == 200 || a.status == 429) && a.demo.Capped != nil && a.demo.CountedAs != ""
}

func (a reply) String() string {
	body := strings.Join(strings.Fields(a.body), " ")
	if len(body) > 200 {
		body = body[:200] + "..."
	}
	return fmt.Sprintf("%d %s", a.status, body)
}

func send(ctx context.Context, c *http.Client, method, url string, header map[string]string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return reply{}, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return reply{}, err
	}
	a := reply{status: resp.StatusCode, header: resp.Header, body: string(body)}
	a.json = json.Unmarshal(body, &a.demo) == nil
	return a, nil
}

func (r *run) count(ctx context.Context, c *http.Client, header map[string]string) (reply, error) {
	return send(ctx, c, http.MethodPost, r.edge.String()+demo, header)
}

func through(first reply) verdict {
	switch {
	case !first.counted():
		return verdict{wrong: "came: " + first.String()}
	case first.header.Get("X-Amz-Cf-Id") == "":
		return verdict{wrong: "the answer has no X-Amz-Cf-Id, so it has not come through CloudFront"}
	}
	return verdict{seen: "counted as " + first.demo.CountedAs}
}

func (r *run) httpsOnly(ctx context.Context) verdict {
	if r.edge.Scheme != "https" {
		return verdict{wrong: "the URL is not https"}
	}
	a, err := send(ctx, r.v4, http.MethodPost, r.plain+demo, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return verdict{wrong: err.Error()}
	case err != nil:
		return verdict{seen: "without TLS nothing answers"}
	case a.status == http.StatusForbidden || a.status/100 == 3 && strings.HasPrefix(a.header.Get("Location"), "https://"):
		return verdict{seen: fmt.Sprintf("without TLS it answers %d", a.status)}
	}
	return verdict{wrong: "without TLS came: " + a.String()}
}

// sameBucket sends a forged header. The answer has to be about the bucket of the call
// before, which has one call more, unless it is full.
func (r *run) sameBucket(ctx context.Context, first reply, name, value string) verdict {
	before, err := r.count(ctx, r.v4, nil)
	if err != nil {
		return verdict{wrong: err.Error()}
	}
	a, err := r.count(ctx, r.v4, map[string]string{name: value})
	switch {
	case err != nil:
		return verdict{wrong: err.Error()}
	case !a.counted() || !before.counted():
		return verdict{wrong: "came: " + a.String()}
	case a.demo.CountedAs == forged || a.demo.CountedAs != first.demo.CountedAs:
		return verdict{wrong: fmt.Sprintf("counted as %s instead of %s", a.demo.CountedAs, first.demo.CountedAs)}
	case a.status == 200 && a.demo.Count <= before.demo.Count:
		return verdict{wrong: fmt.Sprintf("the count was %d and is %d", before.demo.Count, a.demo.Count)}
	case a.status == 429 && a.demo.Count < before.demo.Count:
		return verdict{wrong: fmt.Sprintf("the count was %d and is %d", before.demo.Count, a.demo.Count)}
	}
	return verdict{seen: fmt.Sprintf("counted as %s, %d so far", a.demo.CountedAs, a.demo.Count)}
}

func (r *run) shut(ctx context.Context) verdict {
	if r.sideDoor == "" {
		return verdict{wrong: "its URL is not given: take SideDoorURL from the outputs of the stack"}
	}
	for _, header := range []map[string]string{
		{"CloudFront-Viewer-Address": forged + ":1234"},
		{"CloudFront-Viewer-Address": forged + ":1234", "X-Origin-Verify": strings.Repeat("guessed-", 8)},
	} {
		a, err := send(ctx, r.v4, http.MethodPost, r.sideDoor+demo, header)
		if err != nil {
			return verdict{wrong: err.Error()}
		}
		if a.status != http.StatusUnauthorized || a.demo.Error != "not_via_cloudfront" {
			return verdict{wrong: "came: " + a.String()}
		}
	}
	return verdict{seen: "401 not_via_cloudfront"}
}

// errorsNotKept asks twice for each of two errors that CloudFront would keep by default.
func (r *run) errorsNotKept(ctx context.Context) verdict {
	unique := make([]byte, 8)
	rand.Read(unique) // never fails
	for path, status := range map[string]int{
		"/api/smoke-" + hex.EncodeToString(unique): http.StatusNotFound,
		demo: http.StatusMethodNotAllowed,
	} {
		requests := map[string]bool{}
		for range 2 {
			a, err := send(ctx, r.v4, http.MethodGet, r.edge.String()+path, nil)
			if err != nil {
				return verdict{wrong: err.Error()}
			}
			id := a.header.Get("Apigw-Requestid")
			switch {
			case a.status != status || !a.json || a.demo.Error == "":
				return verdict{wrong: fmt.Sprintf("GET %s: instead of the API's %d came: %s", path, status, a)}
			case a.header.Get("Age") != "" || strings.HasPrefix(a.header.Get("X-Cache"), "Hit"):
				return verdict{wrong: fmt.Sprintf("GET %s: the %d came out of a cache", path, status)}
			case !strings.Contains(a.header.Get("Cache-Control"), "no-store"):
				return verdict{wrong: fmt.Sprintf("GET %s: the %d may be stored by others", path, status)}
			case id != "" && requests[id]:
				return verdict{wrong: fmt.Sprintf("GET %s: the second %d is the first one again", path, status)}
			}
			requests[id] = true
		}
	}
	return verdict{}
}

func (r *run) ipv6(ctx context.Context) verdict {
	a, err := r.count(ctx, r.v6, nil)
	var dial *net.OpError
	var noName *net.DNSError
	switch {
	case err != nil && ctx.Err() == nil && (errors.As(err, &noName) || errors.As(err, &dial) && dial.Op == "dial"):
		return verdict{unseen: "there is no IPv6 between here and the edge"}
	case err != nil:
		return verdict{wrong: err.Error()}
	case !a.counted():
		return verdict{wrong: "came: " + a.String()}
	case !strings.Contains(a.demo.CountedAs, ":") || !strings.Contains(a.demo.CountedAs, "/"):
		return verdict{wrong: "counted as " + a.demo.CountedAs}
	}
	return verdict{seen: "counted as " + a.demo.CountedAs}
}
