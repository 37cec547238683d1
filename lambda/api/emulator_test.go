//go:build emulator

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/caps/dynamo"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	controldynamo "github.com/seed3e88d9a2/spendcap/internal/control/dynamo"
)

// The built bootstrap under AWS's Lambda Runtime Interface Emulator, with Secrets
// Manager and DynamoDB of the emulator in SPENDCAP_TEST_DYNAMODB. The runtime emulator
// takes one invocation at a time.
func TestBootstrapUnderTheRuntimeEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_DYNAMODB is not set; scripts/test starts an emulator and sets it")
	}
	dir := t.TempDir()
	build := func(out, pkg string) string {
		file := filepath.Join(dir, out)
		if b, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", file, pkg).CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, b)
		}
		return file
	}
	bootstrap := build("bootstrap", ".")
	rie := build("rie", "github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie")
	if err := os.WriteFile(filepath.Join(dir, "spendcap.yaml"), []byte("demo: {calls: 10}\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	table := fmt.Sprintf("rie-%d", time.Now().UnixNano())
	creds := credentials.NewStaticCredentialsProvider("test", "test", "")
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: creds})
	if err := dynamo.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	secrets := sm.New(sm.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: creds})
	for name, value := range map[string]string{"origin-" + table: originSecret, "hmac-" + table: hmacKey} {
		_, err := secrets.CreateSecret(t.Context(), &sm.CreateSecretInput{Name: aws.String(name), SecretString: aws.String(value)})
		// The emulator loses a reply now and then, and the SDK's retry finds the secret made.
		if exists := (*types.ResourceExistsException)(nil); err != nil && !errors.As(err, &exists) {
			t.Fatal(err)
		}
	}

	addr := freeAddr(t)
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", addr, "--runtime-api-address", freeAddr(t), bootstrap)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(),
		"AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"LAMBDA_TASK_ROOT="+dir, "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_FUNCTION_TIMEOUT=29",
		"SPENDCAP_TABLE="+table, "SPENDCAP_ORIGIN_SECRET_ID=origin-"+table, "SPENDCAP_HMAC_SECRET_ID=hmac-"+table)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() { cmd.Process.Kill(); cmd.Wait() }
	defer stop()

	invoke := func(e events.APIGatewayV2HTTPRequest) (res events.APIGatewayV2HTTPResponse) {
		in, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			r, err := http.Post("http://"+addr+"/2015-03-31/functions/function/invocations", "application/json", bytes.NewReader(in))
			if err != nil {
				if time.Now().Before(deadline) {
					continue // it is still starting
				}
				t.Fatalf("%v\n%s", err, log.String())
			}
			defer r.Body.Close()
			out, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &res); err != nil {
				t.Fatalf("%v: %s\n%s", err, out, log.String())
			}
			return res
		}
	}
	for n := 1; n <= 12; n++ {
		want := 200
		if n > 10 {
			want = 429
		}
		if res := invoke(event()); res.StatusCode != want {
			t.Fatalf("call %d: %d %s, want %d\n%s", n, res.StatusCode, res.Body, want, log.String())
		}
	}
	until := func(status int, part string) {
		var res events.APIGatewayV2HTTPResponse
		for range 200 {
			if res = invoke(event()); res.StatusCode == status && strings.Contains(res.Body, part) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%d %s, want %d with %s\n%s", res.StatusCode, res.Body, status, part, log.String())
	}
	controls, err := controldynamo.New(controldynamo.Config{Client: client, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	operator, err := control.NewOperator(control.OperatorConfig{Store: controls, By: "ann", Budgets: []caps.Budget{{Name: "demo", Cap: caps.Calls(10)}}})
	if err != nil {
		t.Fatal(err)
	}
	made := func(r control.Record, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made(operator.Stop(t.Context(), "Pause."))
	until(429, `"scope":"stopped","retryAfter":60,"message":"Pause."`)
	made(operator.Limit(t.Context(), "demo", false, caps.Calls(11)))
	made(operator.Resume(t.Context()))
	until(200, `"count":11,"cap":11,"remaining":0`)
	keyer, err := caps.NewKeyer([]byte(hmacKey))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := caps.ViewerCaller("198.51.100.10:46532")
	if err != nil {
		t.Fatal(err)
	}
	made(operator.Block(t.Context(), control.AddressBlock(keyer, caller, caps.DayOf(time.Now()))))
	until(429, `"scope":"blocked"`)
	if records, err := operator.History(t.Context()); err != nil || len(records) != 4 || records[0].Action != control.ActionBlock || records[3].Action != control.ActionStop {
		t.Errorf("%+v, %v; want the four changes", records, err)
	}

	side := event()
	side.Headers = map[string]string{"cloudfront-viewer-address": "198.51.100.10:46532"}
	if res := invoke(side); res.StatusCode != 401 {
		t.Errorf("%d %s at the side door, want 401", res.StatusCode, res.Body)
	}
	stop()

	var admitted int
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.Contains(line, "198.51.100") {
			t.Errorf("an address in the log: %s", line)
		}
		var metric struct {
			AWS      json.RawMessage `json:"_aws"`
			Admitted int
		}
		if json.Unmarshal([]byte(line), &metric) == nil && metric.AWS != nil {
			admitted += metric.Admitted
		}
	}
	if admitted != 11 {
		t.Errorf("the metrics count %d admitted calls, want 11\n%s", admitted, log.String())
	}
}

func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
