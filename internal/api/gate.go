package api

import (
	"context"

	"github.com/seed3e88d9a2/spendcap/caps"
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
// viewer. Nothing else is ever read to find the caller.
const viewerHeader = "cloudfront-viewer-address"

func (r *request) identifyCaller(context.Context) *answer {
	viewer, err := caps.ParseViewerAddress(r.header(viewerHeader))
	if err == nil {
		r.caller, err = r.Mask.Caller(viewer.Addr())
	}
	if err != nil {
		r.metrics.Count(metrics.MissingAddress)
		return failure(401, "no_viewer_address")
	}
	return nil
}

// header returns a request header by its lower-case name; the HTTP API lower-cases
// names and joins duplicates with a comma.
func (r *request) header(name string) string { return r.event.Headers[name] }
