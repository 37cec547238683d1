package originlock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

func TestCheckEvent(t *testing.T) {
	l := staticLock(t, oldSecret, newSecret)
	for _, test := range []struct {
		name    string
		headers map[string]string
		want    bool
	}{
		{"the secret", map[string]string{"x-origin-verify": oldSecret}, true},
		{"the other secret", map[string]string{"x-origin-verify": newSecret}, true},
		{"the name as it is sent", map[string]string{"X-Origin-Verify": oldSecret}, true},
		{"the name in capitals", map[string]string{"X-ORIGIN-VERIFY": oldSecret}, true},
		{"no headers", nil, false},
		{"perfect viewer address, no secret", map[string]string{"cloudfront-viewer-address": "198.51.100.10:46532"}, false},
		{"an empty header", map[string]string{"x-origin-verify": ""}, false},
		{"a wrong secret", map[string]string{"x-origin-verify": wrong}, false},
		{"a prefix of the secret", map[string]string{"x-origin-verify": oldSecret[:63]}, false},
		{"the secret plus one character", map[string]string{"x-origin-verify": oldSecret + "0"}, false},
		{"sent twice", map[string]string{"x-origin-verify": oldSecret + "," + oldSecret}, false},
		{"two spellings, both right", map[string]string{"x-origin-verify": oldSecret, "X-Origin-Verify": oldSecret}, false},
		{"two spellings, one right", map[string]string{"x-origin-verify": oldSecret, "X-Origin-Verify": wrong}, false},
		{"two spellings, one empty", map[string]string{"x-origin-verify": "", "X-Origin-Verify": oldSecret}, false},
		{"in another header", map[string]string{"authorization": oldSecret, "x-origin-verify2": oldSecret, "x-origin": oldSecret}, false},
		{"with an underscore", map[string]string{"x_origin_verify": oldSecret}, false},
		{"with a space", map[string]string{"x-origin-verify ": oldSecret}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 20 { // the order of a map varies
				ok, err := l.CheckEvent(t.Context(), events.APIGatewayV2HTTPRequest{Headers: test.headers})
				if ok != test.want || err != nil {
					t.Fatalf("CheckEvent = %v, %v; want %v", ok, err, test.want)
				}
			}
		})
	}
}

// Only headers open the lock, not what else a viewer may write into an event.
func TestCheckEventReadsHeadersOnly(t *testing.T) {
	l := staticLock(t, oldSecret)
	var event events.APIGatewayV2HTTPRequest
	err := json.Unmarshal([]byte(`{
		"version": "2.0", "rawPath": "/api/demo/cap",
		"rawQueryString": "x-origin-verify=`+oldSecret+`",
		"queryStringParameters": {"x-origin-verify": "`+oldSecret+`"},
		"cookies": ["x-origin-verify=`+oldSecret+`"],
		"headers": {"host": "origin.example"},
		"body": "x-origin-verify: `+oldSecret+`"
	}`), &event)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.CheckEvent(t.Context(), event); ok || err != nil {
		t.Errorf("CheckEvent = %v, %v; want false", ok, err)
	}
}

func TestCheckEventOfAnUnmadeLock(t *testing.T) {
	var l originlock.Lock
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{strings.ToLower(originlock.Header): ""}}
	if ok, err := l.CheckEvent(t.Context(), event); ok || err == nil {
		t.Errorf("CheckEvent = %v, %v; want an error", ok, err)
	}
}
