// Package site is the demo page, served by the edge for everything outside /api/: its
// files with their content types, and the headers of every answer. The local edge and
// the deployment take both from here.
package site

import (
	"embed"
	"encoding/json"
	"io/fs"
	"path"
)

//go:embed www
var www embed.FS

// CacheControl is the caching of every file: an edge and a browser may keep it, and ask
// each time whether it is still the same. A new page is then never mixed with parts of
// the old one, and a visit costs a few answers without a body.
const CacheControl = "no-cache"

// Settings are what the page is told about the system that it is part of.
type Settings struct {
	// SideDoor is the URL of the origin itself, such as https://abc.example, without a
	// path. It is no secret: the origin lock is what keeps it shut. Empty: the page
	// leaves a placeholder in its command.
	SideDoor string `json:"sideDoor,omitempty"`
}

// File is one file of the page.
type File struct {
	Name        string // such as index.html
	ContentType string
	Content     []byte
}

// types are fixed, for what package mime says depends on the machine.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
}

// Files returns the page's files in the order of their names, and before them
// config.json, by which the page learns its settings. Their names do not depend on the
// settings.
func Files(s Settings) []File {
	config, _ := json.Marshal(s) // a string always has a JSON form
	files := []File{{Name: "config.json", Content: config}}
	names, _ := fs.Glob(www, "www/*") // the pattern is a good one
	for _, name := range names {
		content, _ := www.ReadFile(name) // embedded files can be read
		files = append(files, File{Name: path.Base(name), Content: content})
	}
	for i := range files {
		files[i].ContentType = types[path.Ext(files[i].Name)]
	}
	return files
}
