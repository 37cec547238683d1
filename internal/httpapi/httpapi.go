// Package httpapi plays the API Gateway HTTP API on one machine: it turns requests
// into events of payload format 2.0 and the handler's responses into answers. It is
// the side door of the local system.
//
// What it does as the real one (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html):
// header names in lower case, duplicates joined by a comma, cookies apart, the peer
// appended to X-Forwarded-For, bodies that are not text in base64, at most 10 MB of
// body (413), at most 30 seconds (503), 500 if the handler fails, and an invocation
// that goes on when the client goes away.
//
// What it does not: there is one route, $default, on the stage $default, so no path
// has a stage in front; no throttling (429 from the real one has no body of ours), no
// authorizers, no mutual TLS, no compression, and no 10,240-byte limit on the request
// line and headers together (net/http's own is 1 MB). The real one also renames some
// response headers to x-amzn-remapped-*, none of which the handler writes.
package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	Timeout time.Duration    // of one invocation; 0 means the deployed function's
	Now     func() time.Time // nil means time.Now
}

type gateway struct{ Config }

// New returns the gateway.
func New(c Config) http.Handler {
	if c.Timeout == 0 {
		c.Timeout = deadlines.Lambda
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return gateway{c}
}

func (g gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		} else {
			message(w, http.StatusBadRequest, "Bad Request")
		}
		return
	}
	event := newEvent(r, body, g.Now())

	// Lambda goes on when the client goes away, and so does this.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), g.Timeout)
	type result struct {
		events.APIGatewayV2HTTPResponse
		failed bool
	}
	done := make(chan result, 1)
	go func() {
		defer cancel()
		res := result{failed: true}
		defer func() {
			if p := recover(); p != nil {
				res.failed = true
			}
			done <- res
		}()
		answer, err := g.Handler(ctx, event)
		res = result{answer, err != nil}
	}()
	select {
	case res := <-done:
		if res.failed {
			message(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
		write(w, res.APIGatewayV2HTTPResponse)
	case <-ctx.Done():
		// A handler that ends with its context wins over the time-out.
		select {
		case res := <-done:
			if !res.failed {
				write(w, res.APIGatewayV2HTTPResponse)
				return
			}
		default:
		}
		message(w, http.StatusServiceUnavailable, "Service Unavailable")
	}
}

func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, `{"message":"`+text+`"}`)
}

func newEvent(r *http.Request, body []byte, now time.Time) events.APIGatewayV2HTTPRequest {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = r.RemoteAddr
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = r.Host, "80"
	}
	headers := make(map[string]string, len(r.Header)+4)
	for name, values := range r.Header {
		if name != "Cookie" {
			headers[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	headers["host"] = r.Host
	headers["content-length"] = strconv.Itoa(len(body))
	headers["x-forwarded-for"] = peer
	if sent := r.Header.Values("X-Forwarded-For"); len(sent) > 0 {
		headers["x-forwarded-for"] = strings.Join(sent, ", ") + ", " + peer
	}
	headers["x-forwarded-proto"] = "http"
	headers["x-forwarded-port"] = port

	event := events.APIGatewayV2HTTPRequest{
		Version:        "2.0",
		RouteKey:       "$default",
		RawPath:        r.URL.Path,
		RawQueryString: r.URL.RawQuery,
		Headers:        headers,
	}
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			event.Cookies = append(event.Cookies, strings.TrimSpace(cookie))
		}
	}
	if r.URL.RawQuery != "" {
		event.QueryStringParameters = make(map[string]string)
		for name, values := range r.URL.Query() {
			event.QueryStringParameters[name] = strings.Join(values, ",")
		}
	}
	event.RequestContext = events.APIGatewayV2HTTPRequestContext{
		RouteKey:     "$default",
		AccountID:    "000000000000",
		Stage:        "$default",
		RequestID:    requestID(),
		APIID:        "local",
		DomainName:   host,
		DomainPrefix: "local",
		Time:         now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
		TimeEpoch:    now.UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method:    r.Method,
			Path:      r.URL.Path,
			Protocol:  r.Proto,
			SourceIP:  peer,
			UserAgent: r.UserAgent(),
		},
	}
	if len(body) > 0 {
		if isText(r.Header.Get("Content-Type")) && utf8.Valid(body) {
			event.Body = string(body)
		} else {
			event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
		}
	}
	return event
}

func requestID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// isText tells whether the real one passes a body of this type on as it is.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(media, "text/")
}

func write(w http.ResponseWriter, res events.APIGatewayV2HTTPResponse) {
	for name, value := range res.Headers {
		w.Header().Set(name, value)
	}
	for name, values := range res.MultiValueHeaders {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range res.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	body := []byte(res.Body)
	if res.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(res.Body); err != nil {
			message(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
	}
	if res.StatusCode == 0 {
		res.StatusCode = http.StatusOK
	}
	w.WriteHeader(res.StatusCode)
	w.Write(body)
}
