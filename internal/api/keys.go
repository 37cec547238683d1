package api

import "context"

// checkKeys refuses while it is not certain which version of the HMAC secret serves the
// day: what would be counted could be counted under another key elsewhere.
func (r *request) checkKeys(ctx context.Context) *answer {
	if r.KeysInForce == nil {
		return nil
	}
	if err := r.KeysInForce(ctx); err != nil {
		r.log.ErrorContext(ctx, "the key of the callers is not certain, so the request is refused", "error", err)
		return failure(503, "store_unavailable")
	}
	return nil
}
