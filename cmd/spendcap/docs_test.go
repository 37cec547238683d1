package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// documented is a command line of this program as the documents have it: on a line of
// its own in a block, or between backquotes in a sentence.
var documented = regexp.MustCompile("(?m)^ *(?:spendcap|go run \\./cmd/spendcap) (.+)$|`(?:spendcap|go run \\./cmd/spendcap) ([^`\n]+)`")

// TestDocumentedCommands parses each command line of the documents with the program's own
// commands and flags. Nothing is run.
func TestDocumentedCommands(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
			line := m[1] + m[2]
			args := words(t, line)
			if name := args[0]; strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
				continue // a placeholder, such as COMMAND
			}
			var out bytes.Buffer
			e := env{stdout: &out, stderr: &out, lookup: func(string) (string, bool) { return "", false }}
			program, ran := root(e), ""
			for _, c := range program.Commands {
				c.Action = func(context.Context, *cli.Command) error {
					ran = c.Name
					return nil
				}
			}
			err := program.Run(t.Context(), append([]string{"spendcap"}, args...))
			if asked := args[len(args)-1] == "--help" || args[len(args)-1] == "-h"; err != nil || ran != args[0] && !asked {
				t.Errorf("%s: spendcap %s: %v", path, line, err)
			}
			seen[args[0]] = true
		}
	}
	for _, c := range root(env{}).Commands {
		if !seen[c.Name] && c.Name != "completion" && c.Name != "help" {
			t.Errorf("no document shows spendcap %s", c.Name)
		}
	}
}

// words splits a line as a shell does that knows words, quotes and comments only.
func words(t *testing.T, line string) []string {
	var list []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == '#' && !begun:
			return list
		case r == ' ':
			if begun {
				list = append(list, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		t.Errorf("%s: a quote is not closed", line)
	}
	if begun {
		list = append(list, word.String())
	}
	return list
}
