package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/seed3e88d9a2/spendcap/internal/status"
)

// isTerminal tells whether a person looks at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// style is how to draw for whoever reads standard output: coloured on a terminal, unless
// NO_COLOR is set (https://no-color.org), and as wide as fits.
func (e env) style() status.Style {
	if !isTerminal(e.stdout) {
		return status.Style{}
	}
	none, _ := e.lookup("NO_COLOR")
	s := status.Style{Color: none == ""}
	const beside = 75 // what stands before and behind a bar
	if width, _, err := term.GetSize(int(e.stdout.(*os.File).Fd())); err == nil {
		s.Width = min(max(width-beside, 10), 60)
	}
	return s
}
