package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// limits bound the attempts of one store call. A healthy table answers within some
// tens of milliseconds.
type limits struct {
	total    time.Duration // for all attempts
	attempt  time.Duration // for one of them
	attempts int
	pause    time.Duration // at most, before the second attempt; doubled before each further one
}

var defaultLimits = limits{
	total:    2 * time.Second,
	attempt:  700 * time.Millisecond,
	attempts: 4,
	pause:    50 * time.Millisecond,
}

// withoutRetries turns the SDK's own retries off: they know nothing of these limits.
func withoutRetries(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// run calls f until it succeeds, fails for good, or a limit is reached. The error is
// then the one of the last attempt.
func (l limits) run(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.total)
	defer cancel()
	pause := l.pause
	for n := 1; ; n++ {
		err := l.once(ctx, f)
		if err == nil || n == l.attempts || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(pause)):
		}
		pause *= 2
	}
}

func (l limits) once(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.attempt)
	defer cancel()
	return f(ctx)
}

// mayPass tells whether another attempt may do better: nothing readable came back,
// the table throttles, or the fault is on the other side. What DynamoDB refuses as
// wrong or forbidden it will refuse again.
func mayPass(err error) bool {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return true
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[refusal.ErrorCode()]; throttled {
		return true
	}
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() >= 500
}
