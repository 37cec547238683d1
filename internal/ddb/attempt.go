// Package ddb sends a request to DynamoDB as often as is right, and tells what came of
// it: whether an attempt was applied, certainly was not, or may have been. The stores
// share it.
//
// The SDK's own retries are switched off call by call, whatever the client is configured
// with: it cannot know what a write that may have landed means.
package ddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	// maxAttempts bounds the attempts of one call, whatever time is left.
	maxAttempts = 4

	// FirstBackoff is the longest pause after the first attempt. It doubles with each,
	// and a random half of it is left out, so that processes do not retry in step.
	FirstBackoff = 40 * time.Millisecond
)

// ErrNoOldItem is what an endpoint earns that does not know
// ReturnValuesOnConditionCheckFailure, as some emulators do not: without the old item
// a retry could not find its own write.
var ErrNoOldItem = errors.New("the condition failed and the reply does not have the old item: the endpoint does not support ReturnValuesOnConditionCheckFailure=ALL_OLD")

// Sender makes attempts.
type Sender struct {
	AttemptTimeout time.Duration // of one attempt, so that a lost packet leaves time for another
	Backoff        time.Duration // the longest pause after the first attempt, see [FirstBackoff]
}

// Attempts makes attempts of call until one is answered or the next would be wrong or
// useless. call is told whether an earlier attempt may have landed; if repeat is false,
// there is none after such a one. It returns whether one may have landed, not counting
// the attempt that was answered.
func (s Sender) Attempts(ctx context.Context, repeat bool, call func(ctx context.Context, unsure bool, once func(*dynamodb.Options)) error) (unsure bool, err error) {
	for n := 1; ; n++ {
		v, err := s.attempt(ctx, func(ctx context.Context, once func(*dynamodb.Options)) error {
			return call(ctx, unsure, once)
		})
		if v == answered {
			return unsure, nil
		}
		unsure = unsure || v == unknown
		if v == rejected || n == maxAttempts || unsure && !repeat || !s.pause(ctx, n) {
			return unsure, err
		}
	}
}

func (s Sender) attempt(ctx context.Context, call func(context.Context, func(*dynamodb.Options)) error) (verdict, error) {
	if err := ctx.Err(); err != nil {
		return rejected, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.AttemptTimeout)
	defer cancel()
	p := new(probe)
	err := call(ctx, p.once)
	v := classify(err, p)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return v, err
}

// pause waits before attempt n+1. It reports false if ctx was done first.
func (s Sender) pause(ctx context.Context, n int) bool {
	longest := s.Backoff << (n - 1)
	timer := time.NewTimer(longest - rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
