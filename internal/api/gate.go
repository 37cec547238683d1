package api

import (
	"context"
	"errors"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/metrics"
)

// checkOriginLock refuses what did not come through the edge. 401 is used because
// CloudFront can replace the body of a 403 with an HTML page, and of a 401 it cannot.
func (r *request) checkOriginLock(ctx context.Context) *answer {
	ok, err := r.Lock.CheckEvent(ctx, *r.event)
	if err != nil {
		r.log.ErrorContext(ctx, "the origin lock cannot be checked, so the request is refused", "error", err)
	}
	if ok && err == nil {
		return nil
	}
	r.metrics.Count(metrics.LockRefused)
	return failure(401, "not_via_cloudfront")
}

// viewerHeader is written by CloudFront on every request and cannot be set by a
// viewer. Nothing else is ever read to find the address.
const viewerHeader = "cloudfront-viewer-address"

// identifyCaller finds the viewer's address, and the signed-in user if the route has the
// authorizer. It fails closed: where a token is asked for and no claims came with the
// request, it did not come in on a route that has one.
func (r *request) identifyCaller(ctx context.Context) *answer {
	viewer, err := caps.ParseViewerAddress(r.header(viewerHeader))
	if err == nil {
		r.address, err = r.Mask.Caller(viewer.Addr())
	}
	if err != nil {
		r.metrics.Count(metrics.MissingAddress)
		return failure(401, "no_viewer_address")
	}
	r.caller, r.guard, r.path = r.address, r.Paid, r.event.RawPath
	if r.Auth == nil {
		return nil
	}
	var signedIn bool
	r.path, signedIn = auth.Path(r.path)
	claims, verified := auth.Claims(r.event)
	switch {
	case verified:
		return r.identifyUser(ctx, claims)
	case r.event.RequestContext.HTTP.Method == "OPTIONS": // carries no token and counts nothing
		return nil
	case signedIn || !r.Auth.Anonymous:
		return failure(401, "not_signed_in")
	}
	return nil
}

func (r *request) identifyUser(ctx context.Context, claims map[string]string) *answer {
	user, tier, err := r.Auth.User(claims)
	switch {
	case errors.Is(err, auth.ErrNoTier):
		return failure(401, "no_tier")
	case err != nil:
		r.log.ErrorContext(ctx, "a verified token does not name a user, so the request is refused", "error", err)
		return failure(401, "no_user")
	}
	r.caller, r.tier, r.guard = user, tier, r.Tiers[tier]
	return nil
}

// header returns a request header by its lower-case name; the HTTP API lower-cases
// names and joins duplicates with a comma.
func (r *request) header(name string) string { return r.event.Headers[name] }
