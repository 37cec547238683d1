//go:build emulator

package rotation_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/seed3e88d9a2/spendcap/originlock"
)

// sourceServer is an origin whose lock asks its source for every request: itself, or
// behind the edge.
func sourceServer(t *testing.T, w *world, source originlock.Source, direct bool) string {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		values := w.cloud.sent()
		if direct {
			values = []string{r.Header.Get(originlock.Header)}
		}
		accepted, err := source.Secrets(r.Context())
		for _, value := range values {
			if err != nil || !slices.Contains(accepted, value) {
				t.Errorf("a viewer was refused: %v", err)
				http.Error(rw, originlock.Refusal, http.StatusUnauthorized)
				return
			}
		}
		rw.Write([]byte(`{}`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}
