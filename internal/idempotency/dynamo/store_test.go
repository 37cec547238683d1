package dynamo

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed3e88d9a2/spendcap/internal/idempotency"
	"github.com/seed3e88d9a2/spendcap/internal/idempotency/idemtest"
)

func TestStore(t *testing.T) {
	idemtest.Run(t, func(t *testing.T) idempotency.Store { return serve(t, newTable()) })
}

func TestNewRefuses(t *testing.T) {
	for field, c := range map[string]Config{
		"Client": {Table: "spendcap"},
		"Table":  {Client: dynamodb.New(dynamodb.Options{})},
	} {
		if s, err := New(c); s != nil || err == nil || !strings.HasPrefix(err.Error(), "dynamo.Config."+field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

var now = time.Date(2036, 12, 1, 12, 0, 0, 123_000_000, time.UTC)

func newClaim() idempotency.NewClaim {
	return idempotency.NewClaim{
		Item:        "idem#answer#0123456789abcdef0123456789abcdef",
		ID:          idempotency.ClaimID{1, 2, 3},
		Fingerprint: idempotency.Fingerprint{4, 5, 6},
		Now:         now,
		FreeAt:      now.Add(35 * time.Second),
		ExpiresAt:   now.Add(65 * time.Minute).Truncate(time.Second),
	}
}

const (
	wireClaim       = "AQIDAAAAAAAAAAAAAAAAAA=="
	wireFingerprint = "BAUGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// TestRequests holds what goes over the wire.
func TestRequests(t *testing.T) {
	c := newClaim()
	for name, test := range map[string]struct {
		call func(s *Store) error
		want string
	}{
		"Claim": {
			func(s *Store) error { _, _, err := s.Claim(t.Context(), c); return err },
			`{
				"TableName": "spendcap",
				"Key": {"k": {"S": "idem#answer#0123456789abcdef0123456789abcdef"}},
				"UpdateExpression": "SET claim = :claim, fingerprint = :fingerprint, freeAt = :freeAt, expiresAt = :expiresAt REMOVE answer",
				"ConditionExpression": "attribute_not_exists(freeAt) OR freeAt <= :now",
				"ExpressionAttributeValues": {
					":claim": {"B": "AQIDAAAAAAAAAAAAAAAAAA=="},
					":fingerprint": {"B": "BAUGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
					":freeAt": {"N": "2111745635123"},
					":expiresAt": {"N": "2111749500"},
					":now": {"N": "2111745600123"}
				},
				"ReturnValues": "UPDATED_NEW",
				"ReturnValuesOnConditionCheckFailure": "ALL_OLD"
			}`,
		},
		"Keep": {
			func(s *Store) error {
				_, err := s.Keep(t.Context(), c.Item, c.ID, []byte("sealed"), now.Add(time.Hour))
				return err
			},
			`{
				"TableName": "spendcap",
				"Key": {"k": {"S": "idem#answer#0123456789abcdef0123456789abcdef"}},
				"UpdateExpression": "SET answer = :answer, freeAt = :freeAt",
				"ConditionExpression": "claim = :claim",
				"ExpressionAttributeValues": {
					":claim": {"B": "AQIDAAAAAAAAAAAAAAAAAA=="},
					":answer": {"B": "c2VhbGVk"},
					":freeAt": {"N": "2111749200123"}
				}
			}`,
		},
		"Free": {
			func(s *Store) error { _, err := s.Free(t.Context(), c.Item, c.ID); return err },
			`{
				"TableName": "spendcap",
				"Key": {"k": {"S": "idem#answer#0123456789abcdef0123456789abcdef"}},
				"UpdateExpression": "REMOVE claim, fingerprint, freeAt",
				"ConditionExpression": "claim = :claim AND attribute_not_exists(answer)",
				"ExpressionAttributeValues": {":claim": {"B": "AQIDAAAAAAAAAAAAAAAAAA=="}}
			}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			var target string
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
				target = r.Header.Get("X-Amz-Target")
				reply(w, 200, confirmation(wireClaim))
			}))
			if err := test.call(s); err != nil {
				t.Fatal(err)
			}
			if target != "DynamoDB_20120810.UpdateItem" {
				t.Errorf("the operation is %s", target)
			}
			var sent, want any
			if err := errors.Join(json.Unmarshal(got, &sent), json.Unmarshal([]byte(test.want), &want)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(sent, want) {
				t.Errorf("sent %s, want %s", got, test.want)
			}
		})
	}
}

func TestClaimIsConfirmed(t *testing.T) {
	for what, body := range map[string]string{
		"nothing":          `{}`,
		"no attributes":    `{"Attributes":{}}`,
		"another claim":    confirmation("AQIEAAAAAAAAAAAAAAAAAA=="),
		"claim's a string": `{"Attributes":{"claim":{"S":"` + wireClaim + `"}}}`,
	} {
		attempts := 0
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			attempts++
			reply(w, 200, body)
		}))
		if _, claimed, err := s.Claim(t.Context(), newClaim()); claimed || !errors.Is(err, errUnconfirmed) || attempts != 4 {
			t.Errorf("the reply shows %s: %v, %v after %d attempts", what, claimed, err, attempts)
		}
	}
}

func TestReadsTheItem(t *testing.T) {
	c := newClaim()
	good := func() item {
		return item{
			"k":           {"S": c.Item},
			"claim":       {"B": wireClaim},
			"fingerprint": {"B": wireFingerprint},
			"freeAt":      {"N": "2111745635123"},
			"answer":      {"B": "c2VhbGVk"},
			"expiresAt":   {"N": "2111749500"},
		}
	}
	read := func(t *testing.T, old item) (idempotency.Record, bool, error) {
		sent := 0
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if sent++; sent > 1 {
				t.Error("sent again although the outcome is known")
			}
			reply(w, 400, refusal(old))
		}))
		return s.Claim(t.Context(), c)
	}
	want := idempotency.Record{Claim: c.ID, Fingerprint: c.Fingerprint, FreeAt: c.FreeAt, Answer: []byte("sealed")}
	if r, claimed, err := read(t, good()); claimed || err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("Claim = %v, %v, %v; want %v", r, claimed, err, want)
	}
	for what, change := range map[string]func(item){
		"everything but its key is missing": func(i item) { clear(i); i["k"] = attribute{"S": c.Item} },
		"nothing came back":                 func(i item) { clear(i) },
		"no claim":                          func(i item) { delete(i, "claim") },
		"claim is a string":                 func(i item) { i["claim"] = attribute{"S": wireClaim} },
		"claim is short":                    func(i item) { i["claim"] = attribute{"B": "AQID"} },
		"no fingerprint":                    func(i item) { delete(i, "fingerprint") },
		"fingerprint is a number":           func(i item) { i["fingerprint"] = attribute{"N": "1"} },
		"fingerprint is short":              func(i item) { i["fingerprint"] = attribute{"B": "BAUG"} },
		"no freeAt":                         func(i item) { delete(i, "freeAt") },
		"freeAt is a string":                func(i item) { i["freeAt"] = attribute{"S": "2111745635123"} },
		"freeAt is a fraction":              func(i item) { i["freeAt"] = attribute{"N": "2111745635123.5"} },
		"freeAt is too large":               func(i item) { i["freeAt"] = attribute{"N": "1E+37"} },
		"answer is a string":                func(i item) { i["answer"] = attribute{"S": "sealed"} },
		"answer is empty":                   func(i item) { i["answer"] = attribute{"B": ""} },
	} {
		old := good()
		change(old)
		if r, claimed, err := read(t, old); claimed || err == nil || !reflect.DeepEqual(r, idempotency.Record{}) {
			t.Errorf("%s: %v, %v, %v; want an error", what, r, claimed, err)
		}
	}
}
