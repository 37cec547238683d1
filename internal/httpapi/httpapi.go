// Package httpapi plays the API Gateway HTTP API on one machine: it turns requests
// into events of payload format 2.0 and the handler's responses into answers. It is
// the side door of the local system.
//
// What it does as the real one. The rules are from
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
// and http-api-quotas.html beside it; "observed" marks what AWS does not document and
// users of the real one report:
//
//   - Header names are in lower case. Duplicates are joined by a comma without a space,
//     so a header that is sent twice is one wrong value. Cookies are apart.
//   - rawPath is decoded (observed), and ends before a question mark that decoding
//     brings out; rawQueryString is as it came.
//   - The peer is appended to X-Forwarded-For and is sourceIp. Behind the edge it is the
//     edge, not the viewer.
//   - A body passes as text if its type is text/*, application/json, application/xml or
//     application/javascript, in base64 otherwise, forms and bodies without a type
//     among them (observed).
//   - At most 10 MB of body (413). An invocation that fails, or that takes longer than
//     the function's timeout, is 500; one that takes longer than 30 seconds is 503.
//   - The invocation goes on when the client goes away.
//   - Of the routes the most specific one takes the request, and may have a JWT
//     authorizer; see [Route] and [Authorizer]. Verified claims are in the event, and
//     only there: no header that a client sends can put one there.
//   - Of a response, multiValueHeaders are not read (observed), each of cookies becomes a
//     Set-Cookie, and a status that is none is 500.
//
// What it does not:
//
//   - There is one stage, $default, so no path has a stage in front. No throttling, mutual
//     TLS, or authorizers of another kind. The issuer may be one without TLS.
//   - No limit of 10,240 bytes on request line and headers together (net/http's is
//     1 MB), nor Lambda's own of 6 MB on the event, which the real one answers with 413.
//   - A handler that overruns its timeout runs on until it looks at its context; Lambda
//     ends it.
//   - No x-amzn-trace-id in the event and no apigw-requestid in the answer. A body that
//     is declared as text and is not UTF-8 goes in base64; what the real one does with
//     it is not documented.
//   - Some response headers, such as WWW-Authenticate, are renamed to x-amzn-remapped-*
//     by the real one. The handler writes none of them.
package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed3e88d9a2/spendcap/internal/deadlines"
)

// MaxBodyBytes is the most that an HTTP API accepts as a body
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html).
const MaxBodyBytes = 10 << 20

// Handler has the signature of the Lambda function.
type Handler func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// Config is what a gateway is made from.
type Config struct {
	Handler Handler
	Routes  []Route          // nil: one, $default, which is open
	Timeout time.Duration    // the function's; 0 means the deployed one's
	Now     func() time.Time // nil means time.Now
	Logger  *slog.Logger     // nil means slog.Default(); gets what Lambda would log of a failed invocation
}

type gateway struct{ Config }

// New returns the gateway.
func New(c Config) http.Handler {
	if c.Routes == nil {
		c.Routes = []Route{{Key: defaultRoute}}
	}
	if c.Timeout == 0 {
		c.Timeout = deadlines.Lambda
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return gateway{c}
}

func (g gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, proxy, ok := match(g.Routes, r)
	if !ok {
		message(w, http.StatusNotFound, "Not Found")
		return
	}
	var verified *events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription
	if route.Authorizer != nil {
		var no *refusal
		if verified, no = route.Authorizer.authorize(r, g.Now()); no != nil {
			refuse(w, g.Logger, route.Authorizer, no)
			return
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		} else {
			message(w, http.StatusBadRequest, "Bad Request")
		}
		return
	}
	event := newEvent(r, body, requestID(), g.Now())
	event.RouteKey, event.RequestContext.RouteKey = route.Key, route.Key
	if proxy != "" {
		event.PathParameters = map[string]string{"proxy": proxy}
	}
	if verified != nil {
		event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{JWT: verified}
	}

	// Lambda goes on when the client goes away, and so does this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), g.Timeout)
	done := make(chan *events.APIGatewayV2HTTPResponse, 1)
	go func() {
		defer cancel()
		done <- g.invoke(ctx, event)
	}()
	patience := time.NewTimer(deadlines.Gateway)
	defer patience.Stop()
	select {
	case res := <-done:
		answer(w, res)
	case <-ctx.Done():
		// A handler that ends with its context still answers.
		select {
		case res := <-done:
			answer(w, res)
		default:
			g.Logger.Error("the invocation timed out", "requestId", event.RequestContext.RequestID, "timeout", g.Timeout)
			answer(w, nil)
		}
	case <-patience.C:
		message(w, http.StatusServiceUnavailable, "Service Unavailable")
	}
}

// invoke calls the handler once and returns nil if that failed.
func (g gateway) invoke(ctx context.Context, event events.APIGatewayV2HTTPRequest) (res *events.APIGatewayV2HTTPResponse) {
	id := slog.String("requestId", event.RequestContext.RequestID)
	defer func() {
		if p := recover(); p != nil {
			g.Logger.Error("the handler panicked", id, "panic", p, "stack", string(debug.Stack()))
			res = nil
		}
	}()
	out, err := g.Handler(ctx, event)
	if err != nil {
		g.Logger.Error("the handler failed", id, "error", err)
		return nil
	}
	return &out
}

func requestID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}
