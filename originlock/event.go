package originlock

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// CheckEvent is [Lock.Check] for an event of an HTTP API, payload format 2.0. The HTTP
// API writes names of headers in lower case and joins headers of one name with a
// comma
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html),
// so a header that was sent twice is a wrong value. Other spellings of the name are
// understood, since not all that makes such events is the HTTP API; two of them
// in one event are refused.
func (l *Lock) CheckEvent(ctx context.Context, event events.APIGatewayV2HTTPRequest) (bool, error) {
	return l.Check(ctx, eventValue(event.Headers))
}

// eventValue returns the header's value, or nothing if there is not exactly one.
func eventValue(headers map[string]string) string {
	value, found := "", false
	for name, v := range headers {
		if !strings.EqualFold(name, Header) {
			continue
		}
		if found {
			return ""
		}
		value, found = v, true
	}
	return value
}
