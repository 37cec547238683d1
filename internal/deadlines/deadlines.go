// Package deadlines is the one place where the time a request may take is divided.
// Each span lies inside the one around it, so that the inner side gives up first and
// can say why: the paid call, then the Lambda, then API Gateway, then CloudFront.
package deadlines

import (
	"context"
	"time"
)

const (
	// Gateway is the most that an integration of an HTTP API may take; it cannot be
	// raised (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html).
	Gateway = 30 * time.Second

	// Edge is the distribution's origin response timeout, above the gateway's, so that
	// the gateway's answer still arrives.
	Edge = Gateway + 5*time.Second

	// Lambda is the function's timeout.
	Lambda = Gateway - 1*time.Second

	// Settle is kept back from the paid call for settling it and answering.
	Settle = 4 * time.Second

	// Provider is the most that a paid call may take when nothing before it was slow.
	Provider = Lambda - Settle - 1*time.Second
)

// ForProvider returns the context of a paid call: it ends after [Provider], or [Settle]
// before the deadline of ctx if that is sooner.
func ForProvider(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		bounded, cancel := context.WithDeadline(ctx, end.Add(-Settle))
		ctx, stop := context.WithTimeout(bounded, Provider)
		return ctx, func() { stop(); cancel() }
	}
	return context.WithTimeout(ctx, Provider)
}
