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
	"strings"
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
}

// New starts one that ends with the test.
func New(tb testing.TB) *AWS {
	a := &AWS{DynamoDB: ddbtest.New(tb)}
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
	if target == "secretsmanager.GetSecretValue" {
		secret(w, body)
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

func secret(w http.ResponseWriter, body []byte) {
	var in struct{ SecretId string }
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if err := json.Unmarshal(body, &in); err != nil || in.SecretId != SecretARN {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"ResourceNotFoundException","Message":"Secrets Manager can't find the specified secret."}`)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"ARN": SecretARN, "SecretString": HMACKey})
}
