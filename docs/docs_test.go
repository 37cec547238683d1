// Package docs holds the documentation to the tree: what it names is there.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testName is a test as the documents name it: its package and function, and perhaps its
// subtest.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example)\\w+)(?:/(\\w+))?`")

// TestNamedTestsExist looks for each test that a document names.
func TestNamedTestsExist(t *testing.T) {
	tests := map[string][]string{} // by package
	literals := map[string][]string{}
	suite := stringsIn(t, "../caps/capstest") // whose tests run in the packages that call it
	named := 0
	for _, path := range documents(t) {
		for _, m := range testName.FindAllStringSubmatch(read(t, path), -1) {
			named++
			pkg, name, sub := m[1], m[2], m[3]
			if tests[pkg] == nil {
				tests[pkg], literals[pkg] = testsIn(t, "../"+pkg), append(stringsIn(t, "../"+pkg), suite...)
			}
			if !slices.Contains(tests[pkg], name) {
				t.Errorf("%s names %s, which is not there: name the test that took its place, or write one", path, m[0])
			} else if sub != "" && !slices.Contains(literals[pkg], sub) {
				t.Errorf("%s names %s, and there is no subtest %s", path, m[0], sub)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d tests are named: the form in which they are has changed", named)
	}
}

// TestEveryAttackIsAnswered holds the threat model to its own form.
func TestEveryAttackIsAnswered(t *testing.T) {
	_, attacks, _ := strings.Cut(read(t, "threat-model.md"), "\n### ")
	sections := strings.Split(attacks, "\n### ")
	if len(sections) < 25 {
		t.Errorf("only %d attacks: the form has changed", len(sections))
	}
	for _, s := range sections {
		title, text, _ := strings.Cut(s, "\n")
		at := -1
		for _, part := range []string{"\n*Wants", "\n*Stops it:* ", "\n*Remains:* ", "\n*Tests:* "} {
			i := strings.Index(text, part)
			if i <= at {
				t.Errorf("%s: %s is missing, or not in its place", title, strings.TrimSpace(part))
			}
			at = i
		}
		if at >= 0 && !testName.MatchString(text[at:]) {
			t.Errorf("%s: no test is named", title)
		}
	}
}

var alarmName = regexp.MustCompile(`\bAlarm[A-Z]\w+`)

// notAlarms are a setting and an output that are called like one.
var notAlarms = []string{"AlarmEmail", "AlarmTopic"}

// TestEveryAlarmIsExplained: the operator's guide has all alarms of the deployment, and no
// document has others.
func TestEveryAlarmIsExplained(t *testing.T) {
	var alarms []string
	for _, s := range stringsIn(t, "../infra") {
		if alarmName.FindString(s) == s && s != "" && !slices.Contains(alarms, s) && !slices.Contains(notAlarms, s) {
			alarms = append(alarms, s)
		}
	}
	if len(alarms) < 8 {
		t.Errorf("only %v are tested", alarms)
	}
	guide := alarmName.FindAllString(read(t, "operate.md"), -1)
	for _, name := range alarms {
		if !slices.Contains(guide, name) {
			t.Errorf("operate.md does not say what to do with %s", name)
		}
	}
	for _, path := range documents(t) {
		for _, name := range alarmName.FindAllString(read(t, path), -1) {
			if !slices.Contains(alarms, name) && !slices.Contains(notAlarms, name) {
				t.Errorf("%s names %s, and there is no such alarm", path, name)
			}
		}
	}
}

// link is a link of Markdown.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks follows the links between the documents and to files of the tree.
func TestLinks(t *testing.T) {
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, m[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: %s has no heading for #%s", path, target, anchor)
			}
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// anchors are the names of the headings, as GitHub makes them.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.ToLower(m[1])))
	}
	return list
}

func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "../README.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// parsed are the files of a folder, with whatever build tags.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	return files
}

func testsIn(t *testing.T, dir string) []string {
	var list []string
	for path, f := range parsed(t, dir) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				list = append(list, f.Name.Name)
			}
		}
	}
	return list
}

func stringsIn(t *testing.T, dir string) []string {
	var list []string
	for _, f := range parsed(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					list = append(list, s)
				}
			}
			return true
		})
	}
	return list
}
