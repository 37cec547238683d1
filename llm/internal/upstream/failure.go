package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"github.com/seed3e88d9a2/spendcap/llm"
)

// Failed is the error of a request that came to no answer: the connection failed, the
// time was up, the upstream said no, or the reply was cut off or made no sense. err is
// looked at and not quoted, since it may hold addresses. billsRefusals says that this
// upstream charges also for requests that it refuses as they are.
func Failed(ctx context.Context, a *Attempt, err error, billsRefusals bool) *llm.UpstreamError {
	if a.status >= 400 {
		return refused(a.status, a.refusal, billsRefusals)
	}
	e := &llm.UpstreamError{Status: http.StatusBadGateway, NothingSpent: a.Unsent(), Upstream: a.status}
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		e.Status = http.StatusGatewayTimeout
		e.Message = "The model took too long."
	case ctx.Err() != nil:
		e.Message = "The call was given up."
	case e.NothingSpent:
		e.Message = "The model cannot be reached."
	case errors.Is(err, errRedirect):
		e.Message = "The model's address answered with a redirect, which is not followed."
	case e.Upstream != 0:
		return Unreadable()
	default:
		e.Message = "The connection to the model was lost."
	}
	return e
}

// Unreadable is the error of a reply that is a success and no answer. The call has been
// made, and what it cost is unknown.
func Unreadable() *llm.UpstreamError {
	return &llm.UpstreamError{Status: http.StatusBadGateway, Upstream: http.StatusOK, Message: "The model's answer could not be read."}
}

// refused is the error of a reply with a status of 400 or more, whose body is nil if it
// could not be read.
func refused(status int, body []byte, billsRefusals bool) *llm.UpstreamError {
	e := &llm.UpstreamError{Status: http.StatusBadGateway, Upstream: status, Code: code(body)}
	switch status {
	case 400, 413, 422:
		e.Status = http.StatusUnprocessableEntity
		e.NothingSpent = body != nil && !billsRefusals && !generated(body)
		e.Message = "The model refused the request."
	case 401, 402, 403, 404, 405:
		// The caller can do nothing about a key, a quota or an address.
		e.NothingSpent = true
		e.Message = "The model is not available at the moment."
	case 429:
		e.Status = http.StatusTooManyRequests
		e.NothingSpent = true
		e.Message = "The model gets too many requests at the moment. Try again later."
	case 408, 504:
		e.Status = http.StatusGatewayTimeout
		e.Message = "The model took too long."
	default:
		e.Message = "The model failed."
	}
	return e
}

// marks are what stands in refusals that come after the model was asked: Azure's and
// Anthropic's filters of what came out, Groq's failed tool calls.
var marks = [][]byte{
	[]byte("content_filter"), []byte("content filter"), []byte("content_policy"), []byte("content management"),
	[]byte("output blocked"), []byte("failed_generation"), []byte("responsibleai"),
}

// generated tells whether a refusal may have come after the model had worked.
func generated(body []byte) bool {
	body = bytes.ToLower(body)
	for _, m := range marks {
		if bytes.Contains(body, m) {
			return true
		}
	}
	return false
}

// code reads what the upstream calls the error: {"error":{"code":...,"type":...}}, as
// OpenAI and Anthropic have it.
func code(body []byte) string {
	var reply struct {
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Code any    `json:"code"`
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &reply) != nil || json.Unmarshal(reply.Error, &inner) != nil {
		return ""
	}
	if s, ok := inner.Code.(string); ok && s != "" {
		return Plain(s)
	}
	return Plain(inner.Type)
}

// Plain lets through what looks like the name of an error and nothing else.
func Plain(code string) string {
	if len(code) > 64 {
		return ""
	}
	for i := range len(code) {
		if c := code[i]; !(c == '_' || c == '.' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return ""
		}
	}
	return code
}
