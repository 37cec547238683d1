package httpapi

import (
	"encoding/base64"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// newEvent returns the event of payload format 2.0 for r, whose body has been read. What
// depends on the route is not in it yet.
func newEvent(r *http.Request, body []byte, id string, now time.Time) events.APIGatewayV2HTTPRequest {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = r.RemoteAddr
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = r.Host, "80"
	}
	headers := make(map[string]string, len(r.Header)+5)
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

	path, _, _ := strings.Cut(r.URL.Path, "?")
	event := events.APIGatewayV2HTTPRequest{
		Version:        "2.0",
		RawPath:        path,
		RawQueryString: r.URL.RawQuery,
		Headers:        headers,
	}
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				event.Cookies = append(event.Cookies, cookie)
			}
		}
	}
	if r.URL.RawQuery != "" {
		event.QueryStringParameters = make(map[string]string)
		for name, values := range r.URL.Query() {
			event.QueryStringParameters[name] = strings.Join(values, ",")
		}
	}
	event.RequestContext = events.APIGatewayV2HTTPRequestContext{
		AccountID:    "000000000000",
		Stage:        "$default",
		RequestID:    id,
		APIID:        "local",
		DomainName:   host,
		DomainPrefix: "local",
		Time:         now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
		TimeEpoch:    now.UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method:    r.Method,
			Path:      path,
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
