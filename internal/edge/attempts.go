package edge

import "net/http"

// maxAttempts is the default of a distribution's origin connection attempts
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/high_availability_origin_failover.html).
const maxAttempts = 3

// attempts tries the origin as often as CloudFront does: a GET or HEAD that fails or
// times out again, any other request never. This is why everything that counts is POST.
type attempts struct{ next http.RoundTripper }

func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		res, err := a.next.RoundTrip(r)
		if err == nil || n == maxAttempts || r.Method != "GET" && r.Method != "HEAD" || r.Context().Err() != nil {
			return res, err
		}
	}
}

// once keeps net/http's transport from sending a POST again. It does so by itself, when
// a kept connection breaks, for a request without a body that has one of these headers;
// it looks for them under this spelling, and spelling does not matter to the origin.
func once(h http.Header) {
	if sent, ok := h["Idempotency-Key"]; ok {
		delete(h, "Idempotency-Key")
		h["idempotency-key"] = sent
	}
	if sent, ok := h["X-Idempotency-Key"]; ok {
		delete(h, "X-Idempotency-Key")
		h["x-idempotency-key"] = sent
	}
}
