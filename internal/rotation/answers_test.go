package rotation_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/rotation"
)

// TestWhatCountsAsPassed goes by the API's answers and by those of what is around it.
func TestWhatCountsAsPassed(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		passed bool
	}{
		{200, `{}`, true},
		{429, `{"capped":true}`, true},
		{503, `{"error":"store_unavailable"}`, true},
		{404, `{"error":"not_found"}`, true},
		{401, `{"error":"not_via_cloudfront"}`, false},
		{401, `{"error":"no_viewer_address"}`, false},
		{401, `<html>`, false},
		{429, `{"message":"Too Many Requests"}`, false}, // the HTTP API's own
		{403, `<Error><Code>AccessDenied</Code></Error>`, false},
		{301, ``, false},
		{502, `<html>CloudFront</html>`, false},
		{503, `{"message":"Service Unavailable"}`, false},
	} {
		w := newWorld(t)
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if c.status == 301 {
				rw.Header().Set("Location", "/")
			}
			rw.WriteHeader(c.status)
			rw.Write([]byte(c.body))
		}))
		w.config.SideDoorURL = s.URL
		w.rebuild()
		ok(t, w.step(rotation.StepCreate, token(1)))
		if err := w.step(rotation.StepSet, token(1)); (err == nil) != c.passed {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
		s.Close()
	}
}
