package api

import "strings"

// exposed are the headers that a script on an allowed origin may read.
const exposed = "Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Should-Retry, " +
	heldHeader + ", " + costHeader

// preflight answers an OPTIONS request; nothing is counted. Which headers may be sent
// is no secret and guards nothing, so what is asked for is granted; whether the
// browser goes on is decided by the origin, in addCORS.
func (r *request) preflight(methods route) *answer {
	a := &answer{status: 204}
	a.set("Allow", methods.allow())
	a.set("Access-Control-Allow-Methods", methods.allow())
	headers := r.header("access-control-request-headers")
	if headers == "" || !isHeaderList(headers) {
		headers = "authorization, content-type, idempotency-key, x-api-key, anthropic-version"
	}
	a.set("Access-Control-Allow-Headers", headers)
	a.set("Access-Control-Max-Age", "600")
	return a
}

// addCORS lets a script on an allowed origin read the answer, also a refusal.
func (r *request) addCORS(a *answer) {
	if len(r.origins) == 0 {
		return
	}
	a.set("Vary", "Origin")
	if origin := r.header("origin"); r.origins[origin] {
		a.set("Access-Control-Allow-Origin", origin)
		a.set("Access-Control-Expose-Headers", exposed)
	}
}

// isHeaderList tells whether s is a list of field names (RFC 9110 tokens).
func isHeaderList(s string) bool {
	if len(s) > 1024 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("-_, ", c) >= 0:
		default:
			return false
		}
	}
	return true
}
