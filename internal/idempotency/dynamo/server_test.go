package dynamo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// newClient returns the real SDK client for a server on this machine.
func newClient(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// serve starts a server and returns a store that asks it, with limits that suit tests.
func serve(t testing.TB, h http.Handler) *Store {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s, err := New(Config{Client: newClient(server.URL), Table: "spendcap"})
	if err != nil {
		t.Fatal(err)
	}
	s.limits.pause = time.Millisecond
	return s
}

// attribute is an attribute value as DynamoDB's JSON has it.
type attribute map[string]string

type item map[string]attribute

// table plays a DynamoDB that knows the updates of this store and no others. Whether
// the real one reads the expressions as it does is for the emulator to say.
type table struct {
	mu    sync.Mutex
	items map[string]item
}

func newTable() *table { return &table{items: make(map[string]item)} }

type updateRequest struct {
	TableName                           string
	Key                                 item
	UpdateExpression                    string
	ConditionExpression                 string
	ExpressionAttributeValues           item
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

// apply makes the update and tells whether its condition was met; if not, it returns
// what is there.
func (tb *table) apply(r updateRequest) (old item, met bool, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	v := r.ExpressionAttributeValues
	old = tb.items[r.Key["k"]["S"]]
	next := item{"k": r.Key["k"]}
	for name, value := range old {
		next[name] = value
	}
	claimed := old["claim"] != nil && old["claim"]["B"] == v[":claim"]["B"]
	switch r.UpdateExpression + " IF " + r.ConditionExpression {
	case claimUpdate + " IF " + claimCondition:
		met = old["freeAt"] == nil || integer(old["freeAt"]) <= integer(v[":now"])
		delete(next, "answer")
		for _, name := range []string{"claim", "fingerprint", "freeAt", "expiresAt"} {
			next[name] = v[":"+name]
		}
	case keepUpdate + " IF " + keepCondition:
		met = claimed
		next["answer"], next["freeAt"] = v[":answer"], v[":freeAt"]
	case freeUpdate + " IF " + freeCondition:
		met = claimed && old["answer"] == nil
		delete(next, "claim")
		delete(next, "fingerprint")
		delete(next, "freeAt")
	default:
		return nil, false, fmt.Errorf("unknown update %q if %q", r.UpdateExpression, r.ConditionExpression)
	}
	if met {
		tb.items[r.Key["k"]["S"]] = next
	}
	return old, met, nil
}

func integer(a attribute) int64 {
	n, err := strconv.ParseInt(a["N"], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (tb *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := tb.answer(r)
	reply(w, status, body)
}

func (tb *table) answer(r *http.Request) (int, string) {
	if target := r.Header.Get("X-Amz-Target"); target != "DynamoDB_20120810.UpdateItem" {
		return 400, failure("UnknownOperationException")
	}
	var u updateRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &u) != nil {
		return 400, failure("SerializationException")
	}
	old, met, err := tb.apply(u)
	switch {
	case err != nil || u.TableName != "spendcap":
		return 400, failure("ValidationException")
	case met && u.ReturnValues == "UPDATED_NEW":
		return 200, confirmation(u.ExpressionAttributeValues[":claim"]["B"])
	case met:
		return 200, "{}"
	case u.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && old != nil:
		return 400, refusal(old)
	default:
		return 400, failure("ConditionalCheckFailedException")
	}
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func failure(code string) string {
	return `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"told to"}`
}

// confirmation is the reply to a claim, as far as the store reads it.
func confirmation(claim string) string { return `{"Attributes":{"claim":{"B":"` + claim + `"}}}` }

// refusal is the failure of a condition, with what is there.
func refusal(old item) string {
	b, err := json.Marshal(map[string]any{
		"__type":  "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
		"message": "The conditional request failed",
		"Item":    old,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}
