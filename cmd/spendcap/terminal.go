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
	if width := e.columns(); width > 0 {
		s.Width = min(max(width-beside, 10), 60)
	}
	return s
}

// columns is the width of the terminal that standard output is; 0 if it is none.
func (e env) columns() int {
	if !isTerminal(e.stdout) {
		return 0
	}
	width, _, err := term.GetSize(int(e.stdout.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}
