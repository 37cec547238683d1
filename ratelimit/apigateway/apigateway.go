// Package apigateway turns a refusal of the package ratelimit into the answer of a Lambda
// function behind an API Gateway HTTP API.
package apigateway

import (
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Response is what err says: an [*ratelimit.Error] as its own answer, anything else as
// 500 and {"error":"internal_error"}.
func Response(err error) events.APIGatewayV2HTTPResponse {
	limit, ok := errors.AsType[*ratelimit.Error](err)
	if !ok {
		return events.APIGatewayV2HTTPResponse{
			StatusCode: 500,
			Headers:    map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
			Body:       `{"error":"internal_error"}`,
		}
	}
	a := limit.Answer()
	return events.APIGatewayV2HTTPResponse{StatusCode: a.Status, Headers: a.Header, Body: string(a.Body)}
}
