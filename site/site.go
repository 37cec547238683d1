// Package site is the demo page, served by the edge for everything outside /api/.
package site

import (
	"embed"
	"net/http"
)

//go:embed *.html
var files embed.FS

// Handler serves the page.
func Handler() http.Handler { return http.FileServerFS(files) }
