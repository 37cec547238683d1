// Package site is the demo page, served by the edge for everything outside /api/.
package site

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed *.html
var files embed.FS

// Files are the page's files, for a deployment.
func Files() fs.FS { return files }

// Handler serves the page.
func Handler() http.Handler { return http.FileServerFS(files) }
