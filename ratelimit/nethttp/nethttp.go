// Package nethttp puts a [ratelimit.Limiter] in front of a net/http handler.
package nethttp

import (
	"errors"
	"net/http"

	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Keys says who is counted for a request, and under which rules. An error is for a
// request of which that cannot be said; it is refused.
type Keys func(*http.Request) ([]ratelimit.Attempt, error)

// Limit returns a handler that lets through what the limiter allows, with the fields
// RateLimit-Policy and RateLimit in the header, and refuses the rest with [Refuse].
func Limit(l *ratelimit.Limiter, keys Keys, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempts, err := keys(r)
		if err != nil {
			refuse(w, http.StatusUnauthorized, "unknown_caller")
			return
		}
		d, err := l.Check(r.Context(), attempts...)
		if err == nil {
			err = d.Err()
		}
		if err != nil {
			Refuse(w, err)
			return
		}
		for name, value := range d.Header() {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// Refuse answers with what err says: an [*ratelimit.Error] with its own answer, anything
// else with 500 and {"error":"internal_error"}.
func Refuse(w http.ResponseWriter, err error) {
	limit, ok := errors.AsType[*ratelimit.Error](err)
	if !ok {
		refuse(w, http.StatusInternalServerError, "internal_error")
		return
	}
	a := limit.Answer()
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may be gone
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"error":"` + code + `"}`))
}
