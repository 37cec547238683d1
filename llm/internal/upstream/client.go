// Package upstream is what the providers that ask over HTTP have in common: a client
// that makes one attempt, and what a failure means for the money.
package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// MaxReply bounds the bytes of a reply. A model that writes a million tokens stays
// below it.
const MaxReply = 32 << 20

// NewClient returns a client that follows no redirect, so that a key goes nowhere but
// to the upstream, that never sends a request twice, and that reads at most [MaxReply]
// bytes of a reply. It has no deadline of its own: the context of a request has. nil
// stands for a transport of its own.
func NewClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second}
		t.MaxIdleConnsPerHost = 64 // the default of 2 makes a busy server connect anew all the time
		t.IdleConnTimeout = 60 * time.Second
		transport = t
	}
	return &http.Client{Transport: once{transport}}
}

type once struct{ next http.RoundTripper }

// errRedirect is an answer 3xx: whether the request was worked on is unknown.
var errRedirect = errors.New("the upstream answered with a redirect")

func (t once) RoundTrip(r *http.Request) (*http.Response, error) {
	// net/http sends a POST with such a header again when a connection is lost
	// (http.Transport), whatever the server has done with the first.
	if r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != "" {
		r = r.Clone(r.Context())
		r.Header.Del("Idempotency-Key")
		r.Header.Del("X-Idempotency-Key")
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a, _ := r.Context().Value(attemptKey{}).(*Attempt)
	if a != nil {
		a.status = res.StatusCode
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		res.Body.Close()
		return nil, fmt.Errorf("%w: %d", errRedirect, res.StatusCode)
	}
	if a != nil && res.StatusCode >= 400 {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		a.refusal = append(make([]byte, 0, len(body)+1), body...)
		res.Body = io.NopCloser(bytes.NewReader(body))
		res.ContentLength = int64(len(body))
	}
	res.Body = &limited{res.Body, MaxReply}
	if a != nil && a.keep && res.StatusCode < 400 {
		a.reply, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(bytes.NewReader(a.reply))
	}
	return res, nil
}

// limited is a body that fails when it is too long, instead of ending.
type limited struct {
	io.ReadCloser
	left int64
}

var errTooLong = fmt.Errorf("the reply is longer than %d bytes", MaxReply)

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

// Attempt watches one request.
type Attempt struct {
	connected atomic.Bool
	status    int    // of the reply, 0 if there was none
	refusal   []byte // the body of a reply of 400 or more, nil if it could not be read
	keep      bool
	reply     []byte // the body of any other reply, if it is to be kept
}

// Keep has the text of a successful reply kept for [Attempt.Reply].
func (a *Attempt) Keep() { a.keep = true }

// Reply is the text of a successful reply.
func (a *Attempt) Reply() []byte { return a.reply }

// maxRefusal bounds what is looked at of a refusal.
const maxRefusal = 64 << 10

type attemptKey struct{}

// Watch returns a context for one request, and what is known of it afterwards.
func Watch(ctx context.Context) (context.Context, *Attempt) {
	a := new(Attempt)
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) },
	}), a
}

// Unsent tells that the request certainly never left: there was no connection that it
// could have left on, be it for want of an address, a listener or a certificate.
func (a *Attempt) Unsent() bool { return !a.connected.Load() }
