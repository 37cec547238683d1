// Package awstest is an AWS with one deployment, on a port of loopback, for tests of
// the operator's tool: point AWS_ENDPOINT_URL at it.
package awstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/ddb/ddbtest"
)

// What there is.
const (
	Stack     = "spendcap"
	Region    = "eu-west-1"
	Table     = "spendcap-Table-1A2B3C"
	SecretARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:HmacSecret-AbCdEf"
	HMACKey   = "0123456789abcdef0123456789abcdef-hmac"
	Operator  = "arn:aws:sts::123456789012:assumed-role/operator/alice"
)

// AWS is the endpoint.
type AWS struct {
	URL      string
	DynamoDB *ddbtest.Server // with the table

	mu     sync.Mutex
	tokens []string // the versions of the secret, the current one last
	values []string
}

// New starts one that ends with the test.
func New(tb testing.TB) *AWS {
	a := &AWS{DynamoDB: ddbtest.New(tb), tokens: []string{"first"}, values: []string{HMACKey}}
	a.DynamoDB.Table = Table
	server := httptest.NewServer(a)
	tb.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Env is the environment of a process that works on it.
func (a *AWS) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + a.URL, "AWS_REGION=" + Region, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
	}
}

// ServeHTTP answers a request of an SDK.
func (a *AWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	if strings.HasPrefix(target, "DynamoDB_") {
		a.DynamoDB.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if action, ok := strings.CutPrefix(target, "secretsmanager."); ok {
		a.secret(w, action, body)
		return
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err == nil && form.Get("Action") == "DescribeStacks":
		stack(w, form.Get("StackName"))
	case err == nil && form.Get("Action") == "GetCallerIdentity":
		fmt.Fprintf(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>", Operator)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

func stack(w http.ResponseWriter, name string) {
	if name != Stack {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>", name)
		return
	}
	io.WriteString(w, "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>"+Stack+"</StackName><Outputs>")
	for name, value := range map[string]string{"TableName": Table, "HmacSecret": SecretARN} {
		fmt.Fprintf(w, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", name, value)
	}
	io.WriteString(w, "</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>")
}

// TakeBack makes the version of the secret before the current one current again, as
// moving the label AWSCURRENT does. The other one stays.
func (a *AWS) TakeBack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := len(a.tokens) - 1
	a.tokens = append([]string{a.tokens[last]}, a.tokens[:last]...)
	a.values = append([]string{a.values[last]}, a.values[:last]...)
}

// secret gives the value of the secret, and stores another one once for each token.
func (a *AWS) secret(w http.ResponseWriter, action string, body []byte) {
	var in struct{ SecretId, ClientRequestToken, SecretString string }
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	fail := func(kind, message string) {
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]string{"__type": kind, "Message": message})
	}
	if err := json.Unmarshal(body, &in); err != nil || in.SecretId != SecretARN {
		fail("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if action == "PutSecretValue" {
		if i := slices.Index(a.tokens, in.ClientRequestToken); i < 0 {
			a.tokens, a.values = append(a.tokens, in.ClientRequestToken), append(a.values, in.SecretString)
		} else if a.values[i] != in.SecretString {
			fail("ResourceExistsException", "the token was used for another value")
			return
		}
	}
	last := len(a.tokens) - 1
	json.NewEncoder(w).Encode(map[string]any{"ARN": SecretARN, "SecretString": a.values[last], "VersionId": a.tokens[last]})
}
