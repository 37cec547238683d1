package site

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

type handler struct {
	headers []Header
	files   map[string]File // by path
}

// Handler serves the page as the deployment does.
func Handler(s Settings) http.Handler {
	h := handler{Headers(s), make(map[string]File)}
	for _, f := range Files(s) {
		h.files["/"+f.Name] = f
	}
	h.files["/"] = h.files["/index.html"]
	return h
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, header := range h.headers {
		w.Header().Set(header.Name, header.Value)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		// As CloudFront answers where a behaviour allows GET and HEAD alone.
		http.Error(w, "this method is not supported here; the API is below /api/", http.StatusForbidden)
		return
	}
	f, ok := h.files[r.URL.Path]
	if !ok {
		http.Error(w, "there is no such file; the page is /, the API is below /api/", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", CacheControl)
	w.Header().Set("Content-Type", f.ContentType)
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(f.Content))[:32]))
	http.ServeContent(w, r, f.Name, time.Time{}, bytes.NewReader(f.Content))
}
