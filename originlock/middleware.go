package originlock

import (
	"io"
	"net/http"
)

// Refusal is the body that [Lock.Middleware] answers with. The status is 401, because
// CloudFront can be set to put a page of its own in the place of a 403, and of a 401
// it cannot
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/GeneratingCustomErrorResponses.html).
const Refusal = `{"error":"not_via_cloudfront"}`

// Middleware returns a handler that hands on to next what came through the edge and
// answers everything else with 401 and [Refusal], also when the lock cannot tell. A
// request with several lines of [Header] is refused. Next gets the request without
// the header, so that it cannot log the secret or pass it on.
func (l *Lock) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var value string
		if values := r.Header[Header]; len(values) == 1 {
			value = values[0]
		}
		if ok, err := l.Check(r.Context(), value); !ok || err != nil {
			refuse(w)
			return
		}
		inner := *r
		inner.Header = r.Header.Clone()
		inner.Header.Del(Header)
		next.ServeHTTP(w, &inner)
	})
}

func refuse(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	io.WriteString(w, Refusal)
}
