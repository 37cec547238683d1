//go:build emulator

package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/seed3e88d9a2/spendcap/site"
)

// unknownToEmulator tells what has to be left out because the emulator refuses it. The
// template tests and cfn-lint look at the whole.
func unknownToEmulator(resource map[string]any) bool {
	switch resource["Type"] {
	case "AWS::Budgets::Budget", "AWS::SecretsManager::RotationSchedule":
		return true
	case "AWS::CloudWatch::Alarm": // metric math
		return resource["Properties"].(map[string]any)["Metrics"] != nil
	}
	return false
}

// TestDeployedIntoEmulator deploys the stack as an operator does, with the CDK's command
// line, into the emulator at SPENDCAP_TEST_AWS, which runs the built functions. Then it
// calls the demo endpoint through the HTTP API, playing CloudFront.
func TestDeployedIntoEmulator(t *testing.T) {
	endpoint := os.Getenv("SPENDCAP_TEST_AWS")
	if endpoint == "" {
		t.Fatal("SPENDCAP_TEST_AWS is not set: scripts/test-infra starts an emulator and sets it")
	}
	assembly := filepath.Join(t.TempDir(), "cdk.out")
	cdk(t, endpoint, "synth", "--quiet", "--output", assembly, "-c", "spendcap:architecture=amd64")
	template := filepath.Join(assembly, "spendcap.template.json")
	withoutUnknown(t, template)
	cdk(t, endpoint, "bootstrap", "aws://000000000000/us-east-1")
	outputs := filepath.Join(t.TempDir(), "outputs.json")
	cdk(t, endpoint, "deploy", "--app", assembly, "--require-approval", "never", "--outputs-file", outputs)

	var stacks map[string]map[string]string
	content, err := os.ReadFile(outputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &stacks); err != nil {
		t.Fatal(err)
	}
	out := stacks["spendcap"]
	for _, name := range []string{"SiteURL", "SideDoorURL", "TableName", "AlarmTopic", "Curl1ForgedForwardedFor", "Curl2ForgedViewerAddress", "Curl3SideDoor"} {
		if out[name] == "" {
			t.Errorf("the output %s is missing", name)
		}
	}

	conf := aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	d := deployed{t: t, endpoint: endpoint, secret: originSecret(t, conf)}
	door, err := url.Parse(out["SideDoorURL"])
	if err != nil {
		t.Fatal(err)
	}
	d.api, _, _ = strings.Cut(door.Host, ".")

	t.Run("page", func(t *testing.T) { pageIsThere(t, conf, out["SideDoorURL"]) })
	t.Run("side door", func(t *testing.T) {
		for _, secret := range []string{"", "wrong", d.secret[:len(d.secret)-1], d.secret + "x"} {
			if status, answer := d.call(secret, "192.0.2.9:1", nil); status != 401 || answer.Error != "not_via_cloudfront" {
				t.Errorf("%d %+v", status, answer)
			}
		}
		if status, answer := d.call(d.secret, "", map[string]string{"X-Forwarded-For": "192.0.2.9"}); status != 401 || answer.Error != "no_viewer_address" {
			t.Errorf("%d %+v", status, answer)
		}
	})
	t.Run("demo calls", func(t *testing.T) {
		status, answer := d.call(d.secret, "198.51.100.10:443", map[string]string{"X-Forwarded-For": "203.0.113.99"})
		if status != 200 || answer.CountedAs != "198.51.100.10" || answer.Count != 1 || answer.Cap != 10 || answer.Remaining != 9 {
			t.Errorf("%d %+v", status, answer)
		}
		if status, answer = d.call(d.secret, "2001:db8:1:2:3:4:5:6:443", nil); status != 200 || answer.CountedAs != "2001:db8:1:2::/64" {
			t.Errorf("%d %+v", status, answer)
		}
	})
	t.Run("burst", func(t *testing.T) {
		// Two viewers at once, thirty calls each: ten are admitted for each, no more and no
		// fewer, by as many processes as the emulator starts.
		var mu sync.Mutex
		statuses := map[string]map[int]int{}
		var all sync.WaitGroup
		slots := make(chan struct{}, 12)
		for i := range 60 {
			viewer := fmt.Sprintf("198.51.100.%d", 20+i%2)
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				status, _ := d.call(d.secret, viewer+":443", nil)
				mu.Lock()
				defer mu.Unlock()
				if statuses[viewer] == nil {
					statuses[viewer] = map[int]int{}
				}
				statuses[viewer][status]++
			})
		}
		all.Wait()
		for viewer, got := range statuses {
			if got[200] != 10 || got[429] != 20 {
				t.Errorf("%s: %v", viewer, got)
			}
		}
		if len(statuses) != 2 {
			t.Errorf("%v", statuses)
		}
	})
}

type deployed struct {
	t                     *testing.T
	endpoint, api, secret string
}

type demoAnswer struct {
	Error, CountedAs      string
	Capped                bool
	Count, Cap, Remaining int
}

// call plays CloudFront at the HTTP API.
func (d deployed) call(secret, viewer string, header map[string]string) (int, demoAnswer) {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.endpoint+"/api/demo/cap", nil)
	if err != nil {
		d.t.Error(err)
		return 0, demoAnswer{}
	}
	base, _ := url.Parse(d.endpoint)
	req.Host = d.api + ".execute-api.localhost:" + base.Port()
	if secret != "" {
		req.Header.Set("X-Origin-Verify", secret)
	}
	if viewer != "" {
		req.Header.Set("CloudFront-Viewer-Address", viewer)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Error(err)
		return 0, demoAnswer{}
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var a demoAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		d.t.Errorf("%d %s", resp.StatusCode, body)
	}
	return resp.StatusCode, a
}

func cdk(t *testing.T, endpoint string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join("node_modules", ".bin", "cdk"), append(args, "--no-notices")...)
	cmd.Dir = ".."
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(),
		"AWS_ENDPOINT_URL="+endpoint, "AWS_ENDPOINT_URL_S3="+endpoint,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1", "CI=true", "GOFLAGS=")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("cdk %s: %v\n%s", strings.Join(args, " "), err, output.String())
	}
	t.Logf("cdk %s took %v", args[0], time.Since(began).Round(time.Second))
}

func withoutUnknown(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var template map[string]any
	if err := json.Unmarshal(content, &template); err != nil {
		t.Fatal(err)
	}
	resources := template["Resources"].(map[string]any)
	for id, r := range resources {
		if unknownToEmulator(r.(map[string]any)) {
			delete(resources, id)
			t.Logf("left out: %s", id)
		}
	}
	content, err = json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// originSecret is what CloudFront would send.
func originSecret(t *testing.T, conf aws.Config) string {
	t.Helper()
	client := secretsmanager.NewFromConfig(conf)
	list, err := client.ListSecrets(t.Context(), &secretsmanager.ListSecretsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.SecretList {
		if strings.Contains(aws.ToString(s.Description), "X-Origin-Verify") {
			out, err := client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: s.ARN})
			if err != nil {
				t.Fatal(err)
			}
			return aws.ToString(out.SecretString)
		}
	}
	t.Fatal("the stack has made no origin secret")
	return ""
}

func pageIsThere(t *testing.T, conf aws.Config, sideDoor string) {
	client := s3.NewFromConfig(conf, func(o *s3.Options) { o.UsePathStyle = true })
	list, err := client.ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list.Buckets {
		key := "index.html"
		if _, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: b.Name, Key: &key}); err != nil {
			continue
		}
		for _, f := range site.Files(site.Settings{SideDoor: sideDoor}) {
			object, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: b.Name, Key: &f.Name})
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
				continue
			}
			content, _ := io.ReadAll(object.Body)
			object.Body.Close()
			if aws.ToString(object.ContentType) != f.ContentType || aws.ToString(object.CacheControl) != site.CacheControl || !bytes.Equal(content, f.Content) {
				t.Errorf("%s: %s, %s: %s", f.Name, aws.ToString(object.ContentType), aws.ToString(object.CacheControl), content)
			}
		}
		return
	}
	t.Error("no bucket has the page")
}
