package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

const (
	originSecret = "0123456789abcdef0123456789abcdef-origin"
	hmacKey      = "0123456789abcdef0123456789abcdef-hmac"
)

// cloud answers for Secrets Manager and DynamoDB, and notes what was asked.
type cloud struct {
	mu      sync.Mutex
	targets []string
	secrets map[string]string
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	c.mu.Lock()
	c.targets = append(c.targets, target)
	c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch target {
	case "secretsmanager.GetSecretValue":
		var in struct{ SecretId, VersionStage string }
		json.Unmarshal(body, &in)
		value, ok := c.secrets[in.SecretId]
		if !ok {
			w.WriteHeader(400)
			io.WriteString(w, `{"__type":"ResourceNotFoundException","message":"no such secret"}`)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"ARN": "arn:" + in.SecretId, "Name": in.SecretId, "VersionId": "1", "SecretString": value, "VersionStages": []string{"AWSCURRENT"}})
	case "DynamoDB_20120810.UpdateItem":
		var in struct{ ExpressionAttributeNames map[string]string }
		json.Unmarshal(body, &in)
		item := map[string]map[string]string{"k": {"S": "x"}, "n": {"N": "1"}, "usd": {"N": "0"}, "held": {"N": "0"}, "expiresAt": {"N": "1"}}
		for _, name := range in.ExpressionAttributeNames {
			item[name] = map[string]string{"N": "1"}
		}
		reply, _ := json.Marshal(map[string]any{"Attributes": item})
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(reply))) // the SDK checks it
		w.Write(reply)
	case "DynamoDB_20120810.GetItem":
		io.WriteString(w, `{"ConsumedCapacity":{"TableName":"spendcap","CapacityUnits":1}}`)
	default:
		w.WriteHeader(400)
	}
}

func (c *cloud) asked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.targets, " ")
}

func newCloud(t testing.TB) *cloud {
	c := &cloud{secrets: map[string]string{"origin": originSecret, "hmac": hmacKey}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "spendcap.yaml"), []byte("demo: {calls: 10}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "",
		"LAMBDA_TASK_ROOT": root, "SPENDCAP_TABLE": "spendcap",
		"SPENDCAP_ORIGIN_SECRET_ID": "origin", "SPENDCAP_HMAC_SECRET_ID": "hmac", "SPENDCAP_PROVIDER_SECRET_ID": "",
	} {
		if tb, ok := t.(interface{ Setenv(string, string) }); ok {
			tb.Setenv(name, value)
		}
	}
	return c
}

func event() events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: "/api/demo/cap", Headers: map[string]string{
		"x-origin-verify": originSecret, "cloudfront-viewer-address": "198.51.100.10:46532",
	}}
	e.RequestContext.HTTP.Method = "POST"
	return e
}

// Three AWS calls stand between a cold start and the first answer, besides the count: two
// secrets, and what the operator has set.
func TestColdStart(t *testing.T) {
	c := newCloud(t)
	h, err := start(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "secretsmanager.GetSecretValue secretsmanager.GetSecretValue"
	if got := c.asked(); got != want {
		t.Errorf("the start asked for %s, want %s", got, want)
	}
	res, err := h.Handle(t.Context(), event())
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s %v", res.StatusCode, res.Body, err)
	}
	if got := c.asked(); got != want+" DynamoDB_20120810.GetItem DynamoDB_20120810.UpdateItem" {
		t.Errorf("the first answer took %s", got)
	}
}

func TestStartRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *cloud)
		want   string
	}{
		"no table":         {func(t *testing.T, _ *cloud) { t.Setenv("SPENDCAP_TABLE", "") }, "SPENDCAP_TABLE"},
		"no origin secret": {func(t *testing.T, _ *cloud) { t.Setenv("SPENDCAP_ORIGIN_SECRET_ID", "") }, "SPENDCAP_ORIGIN_SECRET_ID"},
		"no HMAC secret":   {func(t *testing.T, _ *cloud) { t.Setenv("SPENDCAP_HMAC_SECRET_ID", "") }, "SPENDCAP_HMAC_SECRET_ID"},
		"short origin":     {func(_ *testing.T, c *cloud) { c.secrets["origin"] = "short" }, "origin"},
		"blank HMAC":       {func(_ *testing.T, c *cloud) { c.secrets["hmac"] = strings.Repeat(" ", 40) }, "hmac is blank"},
		"secret not there": {func(_ *testing.T, c *cloud) { delete(c.secrets, "hmac") }, "hmac"},
		"no file":          {func(t *testing.T, _ *cloud) { t.Setenv("LAMBDA_TASK_ROOT", t.TempDir()) }, "spendcap.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t)
			c.change(t, cloud)
			_, err := start(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
			for _, secret := range []string{originSecret, hmacKey} {
				if strings.Contains(fmt.Sprint(err), secret) {
					t.Error("the error holds a secret")
				}
			}
		})
	}
}

// Every file that is shipped starts, with the provider's key where it belongs, which no
// start reads.
func TestEveryFileStarts(t *testing.T) {
	files, err := filepath.Glob("../../examples/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../spendcap.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := newCloud(t)
			t.Setenv("SPENDCAP_PROVIDER_SECRET_ID", "provider")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), "spendcap.yaml"), text, 0o644); err != nil {
				t.Fatal(err)
			}
			h, err := start(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
			if err != nil {
				t.Fatal(err)
			}
			if h.LLM == nil {
				t.Error("there are no paid calls")
			}
			if strings.Count(c.asked(), "GetSecretValue") != 2 {
				t.Errorf("the start asked for %s", c.asked())
			}
		})
	}
}
