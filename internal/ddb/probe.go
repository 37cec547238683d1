package ddb

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// probe is told how far an attempt got. What it does not know (a client other than the
// SDK's, a transport other than net/http) counts as sent.
type probe struct {
	installed atomic.Bool // the client is the SDK's
	asked     atomic.Bool // the HTTP client was given the request
	waited    atomic.Bool // it looked for a connection
	connected atomic.Bool // and has got one
}

// Once makes the SDK send a request at most once, outside of [Sender.Attempts].
func Once(o *dynamodb.Options) { new(probe).once(o) }

// once makes the SDK send the request at most once, and installs the probe.
func (p *probe) once(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		p.installed.Store(true)
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("spendcap:probe", p.watch), middleware.After)
	})
}

// watch is the last step before the HTTP client and the first after it. The requests
// by which credentials are got are not taken for the one to DynamoDB.
func (p *probe) watch(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	if r, ok := in.Request.(*smithyhttp.Request); ok {
		r, err := plainBody(r)
		if err != nil {
			return middleware.DeserializeOutput{}, middleware.Metadata{}, err
		}
		in.Request = r
	}
	p.asked.Store(true)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { p.waited.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { p.connected.Store(true) },
	})
	out, meta, err := next.HandleDeserialize(ctx, in)
	if err == nil {
		err = checkReply(out.RawResponse)
	}
	return out, meta, err
}

// unasked tells whether the attempt ended before the HTTP client was asked, for
// example because there are no credentials.
func (p *probe) unasked() bool { return p.installed.Load() && !p.asked.Load() }

// unconnected tells whether the attempt ended before there was a connection.
func (p *probe) unconnected() bool { return p.waited.Load() && !p.connected.Load() }
