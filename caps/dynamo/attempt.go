package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	// maxAttempts bounds the attempts of one call, whatever time is left.
	maxAttempts = 4

	// firstBackoff is the longest pause after the first attempt. It doubles with each,
	// and a random half of it is left out, so that processes do not retry in step.
	firstBackoff = 40 * time.Millisecond
)

// write is an UpdateItem and how it is sent again.
type write struct {
	first *dynamodb.UpdateItemInput

	// again is sent in its place when an earlier attempt may have landed. nil is for a
	// write that would count twice: it is given up then.
	again *dynamodb.UpdateItemInput

	// check, if there is one, tells whether the item in a reply can be trusted.
	check func(attributes) error
}

// reply is what an endpoint said to a write.
type reply struct {
	applied bool       // false: the condition failed
	item    attributes // after the write, or, if the condition failed, as it is
	unsure  bool       // an attempt before the one that was answered may have landed
}

// update sends w until it is answered, it must not be sent again, or ctx is done. A
// failed condition is an answer.
func (s *Store) update(ctx context.Context, w write) (r reply, err error) {
	r.unsure, err = s.attempts(ctx, w.again != nil, func(ctx context.Context, unsure bool, once func(*dynamodb.Options)) error {
		in := w.first
		if unsure {
			in = w.again
		}
		out, err := s.client.UpdateItem(ctx, in, once)
		if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
			r.applied, r.item = false, failed.Item
			return nil
		}
		if err != nil {
			return err
		}
		r.applied, r.item = true, out.Attributes
		if w.check != nil {
			return w.check(r.item)
		}
		return nil
	})
	return r, s.explain("UpdateItem", r.unsure, err)
}

// attempts makes attempts of call until one is answered or the next would be wrong or
// useless. call is told whether an earlier attempt may have landed; if repeat is false,
// there is none after such a one. It returns whether one may have landed, not counting
// the attempt that was answered.
func (s *Store) attempts(ctx context.Context, repeat bool, call func(ctx context.Context, unsure bool, once func(*dynamodb.Options)) error) (unsure bool, err error) {
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

func (s *Store) attempt(ctx context.Context, call func(context.Context, func(*dynamodb.Options)) error) (verdict, error) {
	if err := ctx.Err(); err != nil {
		return rejected, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.attemptTimeout)
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
func (s *Store) pause(ctx context.Context, n int) bool {
	longest := s.backoff << (n - 1)
	timer := time.NewTimer(longest - rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
