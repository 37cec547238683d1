package assemble_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
	claims "github.com/seed3e88d9a2/spendcap/internal/idempotency/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
	"github.com/seed3e88d9a2/spendcap/llm/openai"
	rates "github.com/seed3e88d9a2/spendcap/ratelimit/dynamo"
)

const providerKey = "sk-provider-0123456789abcdef"

// written is everything that anybody could read later.
type written struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(b)
}

// TestNothingOfACallerIsKept sends requests of every outcome through the whole request
// path, with the stores of a deployment, and looks into all that is sent to the table,
// logged and measured: nobody who gets hold of it learns who called, what was said, or
// one of the secrets.
func TestNothingOfACallerIsKept(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		switch said := body.Messages[0].Content; {
		case strings.Contains(said, "fail"):
			w.WriteHeader(500)
			fmt.Fprintf(w, `{"error":{"message":"%[1]s","code":"%[1]s","type":"%[1]s","param":"%[1]s"}}`, said)
		case strings.Contains(said, "limit"):
			w.WriteHeader(429)
			fmt.Fprintf(w, `{"error":{"message":"%s"}}`, said)
		case strings.Contains(said, "nousage"):
			fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],"usage":"%s"}`, said, said)
		default:
			fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"answer-secret %s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`, said)
		}
	}))
	defer upstream.Close()
	cfg, err := config.Load(strings.NewReader(`
caps: {caller: {calls: 4, usd: 0.01}, global: {usd: 0.05}}
demo: {calls: 2}
rate_limits:
  - {name: burst, requests: 1000, window: 1h, when_down: allow, paths: ["/api/*"]}
llm:
  provider: openai
  base_url: ` + upstream.URL + `
  max_input_bytes: 1000
  models:
    - {name: small, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 300}
`))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := openai.New(openai.Config{BaseURL: upstream.URL, APIKey: providerKey})
	if err != nil {
		t.Fatal(err)
	}
	table := ddbtest.New(t)
	counts, err := dynamo.New(dynamo.Config{Client: table.Client(), Table: "spendcap", Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := claims.New(claims.Config{Client: table.Client(), Table: "spendcap"})
	if err != nil {
		t.Fatal(err)
	}
	lock := testLock(t, noon)
	bursts, err := rates.New(rates.Config{Client: table.Client(), Table: "spendcap"})
	if err != nil {
		t.Fatal(err)
	}
	var log, measured written
	handler, err := assemble.Handler(assemble.Parts{
		Config: cfg, Store: counts, Claims: keys, Rates: bursts, Control: new(controlmemory.Store), Provider: provider, Lock: lock, Keyer: testKeyer(t),
		Metrics: metrics.New(&measured, noon),
		Logger:  slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:     noon,
	})
	if err != nil {
		t.Fatal(err)
	}

	statuses := map[int]int{}
	send := func(method, path, viewer, key, body string) {
		e := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body, Headers: map[string]string{
			"x-origin-verify":           originSecret,
			"cloudfront-viewer-address": viewer,
			"x-forwarded-for":           "192.0.2.77, " + viewer,
			"authorization":             "Bearer caller-token-qzmark",
			"x-api-key":                 "caller-token-qzmark",
			"cookie":                    "session=cookie-qzmark",
			"user-agent":                "agent-qzmark",
			"referer":                   "https://referer-qzmark.example/",
			"origin":                    "https://origin-qzmark.example",
			"content-type":              "application/json",
		}}
		if key != "" {
			e.Headers["idempotency-key"] = key
		}
		e.RawQueryString = "q=query-qzmark"
		e.RequestContext.HTTP.Method = method
		e.RequestContext.HTTP.Path = path
		e.RequestContext.HTTP.SourceIP = "192.0.2.78"
		e.RequestContext.HTTP.UserAgent = "agent-qzmark"
		e.RequestContext.RequestID = "gateway-request"
		res, err := handler.Handle(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		statuses[res.StatusCode]++
	}
	viewers := []string{
		"198.51.100.10:46532", "::ffff:198.51.100.11:443", "2001:db8:aaaa:bbbb:cccc::1:443", "[2001:db8:aaaa:cccc::1]:443",
		"198.51.100.12", "198.51.100.13:99999", "fe80::198%eth0:443", "198.51.100.14:1,203.0.113.9:2",
	}
	const chat, messages = "/api/v1/chat/completions", "/api/v1/messages"
	said := func(word string) string {
		return `{"model":"small","max_tokens":20,"messages":[{"role":"user","content":"prompt-secret ` + word + `"}],"user":"user-qzmark"}`
	}
	for _, script := range []func(int, ddbtest.Seen) ddbtest.Fault{
		nil,
		func(n int, _ ddbtest.Seen) ddbtest.Fault {
			return []ddbtest.Fault{ddbtest.Fine, ddbtest.Lost, ddbtest.Throttled, ddbtest.HTML502, ddbtest.Garbage}[n%5]
		},
		func(int, ddbtest.Seen) ddbtest.Fault { return ddbtest.Denied },
	} {
		table.Script(script)
		if script != nil {
			viewers = viewers[:3] // tried again and again, these take their time
		}
		for i, viewer := range viewers {
			send("POST", "/api/demo/cap", viewer, "", "body-qzmark")
			send("GET", "/api/cap", viewer, "", "")
			send("POST", chat, viewer, fmt.Sprintf("idempotency-qzmark-%d", i), said("hello"))
			send("POST", chat, viewer, fmt.Sprintf("idempotency-qzmark-%d", i), said("hello"))
			send("POST", chat, viewer, fmt.Sprintf("idempotency-qzmark-%d", i), said("another"))
			for _, word := range []string{"fail", "limit", "nousage"} {
				send("POST", chat, viewer, "", said(word))
			}
			send("POST", messages, viewer, "", `{"model":"small","max_tokens":20,"messages":[{"role":"user","content":"prompt-secret"}],"metadata":{"user_id":"user-qzmark"}}`)
			send("POST", chat, viewer, "", `{"model":"model-qzmark","messages":"prompt-secret`)
			send("POST", chat, viewer, "", said(strings.Repeat("large", 300)))
			send("DELETE", "/api/path-qzmark", viewer, "", "")
		}
	}
	for _, status := range []int{200, 401, 404, 413, 422, 429, 502, 503} {
		if statuses[status] == 0 {
			t.Errorf("no request was answered %d: %v", status, statuses)
		}
	}

	var sent strings.Builder
	requests := table.Requests()
	for _, r := range requests {
		sent.WriteString(r.Body)
	}
	for name, text := range map[string]string{"the table": sent.String(), "the log": log.String(), "the metrics": measured.String()} {
		if len(text) < 1000 {
			t.Errorf("%s: there are only %d bytes: %s", name, len(text), text)
		}
		for _, secret := range []string{
			"198.51.100", "203.0.113", "192.0.2", "2001:db8", "20010db8", "fe80::", "ffff:198",
			"qzmark", "prompt-secret", "answer-secret",
			originSecret, hmacKey, providerKey, "sk-provider",
		} {
			for _, form := range forms(secret) {
				if at := strings.Index(strings.ToLower(text), strings.ToLower(form)); at >= 0 {
					t.Errorf("%s has %q, as %q: ...%s...", name, secret, form, text[max(0, at-100):min(len(text), at+100)])
				}
			}
		}
	}
}

// forms are the ways in which a text may have been written. Base64 is aligned to three
// bytes, so only what is the same in every alignment is looked for.
func forms(s string) []string {
	list := []string{s, hex.EncodeToString([]byte(s))}
	for skip := range 3 {
		if whole := (len(s) - skip) / 3 * 3; whole >= 6 {
			list = append(list, base64.StdEncoding.EncodeToString([]byte(s[skip:skip+whole])), base64.URLEncoding.EncodeToString([]byte(s[skip:skip+whole])))
		}
	}
	return list
}
