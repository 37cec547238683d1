package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing that is wrong with the file.
type Problem struct {
	Line  int    // 1 is the first; 0 if it is about the file as a whole
	Field string // such as caps.caller.usd or llm.models[0].name; empty for the file as a whole
	What  string // what is wrong, and what to write instead
}

// Error lists everything that is wrong with the file, ordered by line. Its text has
// one line for each, in the form that editors jump to:
//
//	spendcap.yaml:2: caps.caller.usd: "0,05" is not a plain decimal number ...
type Error struct {
	File     string // as it was given to [LoadFile]; empty from [Load]
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.text(e.File)
	}
	return strings.Join(lines, "\n")
}

func (p Problem) text(file string) string {
	var b strings.Builder
	switch {
	case file != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", file, p.Line)
	case file != "":
		b.WriteString(file + ": ")
	case p.Line > 0:
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.What)
	return b.String()
}

// mostProblems bounds a report. A file with more is not a configuration.
const mostProblems = 50

// problems collects while the file is read.
type problems struct {
	list  []Problem
	more  int
	lines map[string]int // of every field that was found
}

func (p *problems) add(line int, field, format string, args ...any) {
	if len(p.list) == mostProblems {
		p.more++
		return
	}
	p.list = append(p.list, Problem{Line: line, Field: field, What: fmt.Sprintf(format, args...)})
}

func (p *problems) at(n *yaml.Node, field, format string, args ...any) {
	p.add(n.Line, field, format, args...)
}

// found notes where a field is.
func (p *problems) found(field string, line int) {
	if p.lines == nil {
		p.lines = make(map[string]int)
	}
	p.lines[field] = line
}

// lineOf returns the line of a field, or of the nearest group or list it belongs to.
func (p *problems) lineOf(field string) int {
	for {
		if line, ok := p.lines[field]; ok {
			return line
		}
		i := strings.LastIndexAny(field, ".[")
		if i < 0 {
			return 0
		}
		field = field[:i]
	}
}

// reported tells whether something is wrong with the field, or with what contains it.
func (p *problems) reported(field string) bool {
	return slices.ContainsFunc(p.list, func(q Problem) bool {
		rest, ok := strings.CutPrefix(field, q.Field)
		return ok && q.Field != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// inside tells whether something is wrong with the field, what contains it, or what it
// contains.
func (p *problems) inside(field string) bool {
	return p.reported(field) || slices.ContainsFunc(p.list, func(q Problem) bool {
		return strings.HasPrefix(q.Field, field+".") || strings.HasPrefix(q.Field, field+"[")
	})
}

// err returns what has been collected, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int { return a.Line - b.Line })
	if p.more > 0 {
		list = append(list, Problem{What: fmt.Sprintf("and %d more", p.more)})
	}
	return &Error{Problems: list}
}

// quote shows a piece of the file in a message, shortened.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%.*q...", most, s)
	}
	return fmt.Sprintf("%q", s)
}
