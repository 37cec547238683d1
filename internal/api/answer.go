package api

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"
)

// answer is what a request comes to. Every answer is JSON, unless content says
// otherwise, and is never to be stored by a cache.
type answer struct {
	status  int
	headers map[string]string
	body    []byte
	content string // media type; empty means application/json
}

func jsonAnswer(status int, body any) *answer {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies are structs of ours, which always have a JSON form
	}
	return &answer{status: status, body: b}
}

// failure is an answer of the form {"error":"<code>"}.
func failure(status int, code string) *answer {
	return jsonAnswer(status, struct {
		Error string `json:"error"`
	}{code})
}

func (a *answer) set(name, value string) {
	if a.headers == nil {
		a.headers = make(map[string]string, 12)
	}
	a.headers[name] = value
}

func (a *answer) response() events.APIGatewayV2HTTPResponse {
	a.set("Cache-Control", "no-store")
	a.set("X-Content-Type-Options", "nosniff")
	if len(a.body) > 0 {
		if a.content == "" {
			a.content = "application/json"
		}
		a.set("Content-Type", a.content)
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: a.headers, Body: string(a.body)}
}
