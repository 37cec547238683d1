package ratelimit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/refusal"
)

// Error is a refusal. Everything that a person or a program is told derives from it.
type Error struct {
	Decision // not allowed
}

// Error is for logs; it names the rule and nobody.
func (e *Error) Error() string {
	if e.Down {
		return fmt.Sprintf("rate limit %s: the store cannot be asked, and the rule refuses then", e.Rule.Name)
	}
	wait := time.Duration(refusal.Seconds(e.RetryAfter)) * time.Second
	return fmt.Sprintf("rate limit %s: %d requests in %v are used up for another %v", e.Rule.Name, e.Rule.Requests, e.Rule.Window, wait)
}

// Sentence tells a person what to do. The wait is rounded up.
func (e *Error) Sentence() string {
	if e.Down {
		return "This cannot be checked right now. Try again in a moment."
	}
	return "Too many requests. Try again in " + refusal.Wait(e.RetryAfter) + "."
}

// Status is the status of an HTTP answer: 429, or 503 if the store could not be asked.
func (e *Error) Status() int {
	if e.Down {
		return 503
	}
	return 429
}

// Answer is a refusal over HTTP, for any server. The packages
// ratelimit/nethttp and ratelimit/apigateway send it.
type Answer struct {
	Status int
	Header map[string]string
	Body   []byte // JSON
}

// Answer is the refusal over HTTP: [Error.Status], [Decision.Header], and
//
//	{"error":"rate_limited","message":"Too many requests. Try again in 3 minutes.","retryAfter":150}
//
// or, if the store could not be asked,
//
//	{"error":"store_unavailable","message":"This cannot be checked right now. Try again in a moment.","retryAfter":1}
//
// with retryAfter in seconds. It is not to be stored by a cache.
func (e *Error) Answer() Answer {
	a := Answer{Status: e.Status(), Header: e.Header()}
	a.Header["Content-Type"] = "application/json"
	a.Header["Cache-Control"] = "no-store"
	code := "rate_limited"
	if e.Down {
		code = "store_unavailable"
	}
	a.Body, _ = json.Marshal(struct { // texts and a number always have a JSON form
		Error      string `json:"error"`
		Message    string `json:"message"`
		RetryAfter int64  `json:"retryAfter"`
	}{code, e.Sentence(), refusal.Seconds(e.RetryAfter)})
	return a
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
