package infra_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/seed3e88d9a2/spendcap/infra"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	if dir, err := lambdas(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

const demoOnly = "demo: {calls: 10}\n"

// lambdas is a folder that looks like the built functions. Package bundle tests building.
var lambdas = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "spendcap-infra-test-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"api", "rotate", "page"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name, "bootstrap"), []byte(name), 0o755); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// stackOf makes a stack with the given operator's file, which is written for it.
func stackOf(t *testing.T, file string, change func(*infra.Props)) (awscdk.App, awscdk.Stack, error) {
	t.Helper()
	dir, err := lambdas()
	if err != nil {
		t.Fatal(err)
	}
	p := &infra.Props{Lambdas: dir, ConfigFile: filepath.Join(t.TempDir(), "spendcap.yaml")}
	if err := os.WriteFile(p.ConfigFile, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	app := awscdk.NewApp(&awscdk.AppProps{
		Outdir:  jsii.String(t.TempDir()),
		Context: &map[string]any{"@aws-cdk/aws-iam:minimizePolicies": true, "@aws-cdk/core:enablePartitionLiterals": true},
	})
	stack, _, err := infra.NewStack(app, "spendcap", p)
	return app, stack, err
}

// template is a template as JSON values.
type template map[string]any

func synth(t *testing.T, file string, change func(*infra.Props)) template {
	t.Helper()
	_, stack, err := stackOf(t, file, change)
	if err != nil {
		t.Fatal(err)
	}
	return template(*assertions.Template_FromStack(stack, nil).ToJSON()).clone()
}

var (
	plainOnce sync.Once
	plain     template
)

// plainTemplate is what the file that ships with spendcap deploys.
func plainTemplate(t *testing.T) template {
	t.Helper()
	plainOnce.Do(func() {
		content, err := os.ReadFile("../spendcap.yaml")
		if err != nil {
			t.Fatal(err)
		}
		plain = synth(t, string(content), nil)
	})
	if plain == nil {
		t.Fatal("the template could not be made")
	}
	return plain
}

func (t template) clone() template {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	var c template
	if err := json.Unmarshal(b, &c); err != nil {
		panic(err)
	}
	return c
}

func (t template) resources() map[string]any { return t["Resources"].(map[string]any) }

// all are the resources of a type, by their logical ids.
func (t template) all(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for id, r := range t.resources() {
		if r := r.(map[string]any); r["Type"] == kind {
			found[id] = r
		}
	}
	return found
}

// one is the only resource of the type whose logical id has the name in it.
func (t template) one(kind, name string) (id string, r map[string]any, err error) {
	for i, candidate := range t.all(kind) {
		if !strings.Contains(i, name) {
			continue
		}
		if id != "" {
			return "", nil, fmt.Errorf("more than one %s with the name %q", kind, name)
		}
		id, r = i, candidate
	}
	if id == "" {
		return "", nil, fmt.Errorf("no %s with the name %q", kind, name)
	}
	return id, r, nil
}

// get follows a path of keys and indexes, separated by slashes.
func get(v any, path string) (any, bool) {
	for key := range strings.SplitSeq(path, "/") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[key]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// remove takes away what a path leads to.
func remove(v any, path string) bool {
	at := strings.LastIndexByte(path, '/')
	parent, ok := v, true
	if at >= 0 {
		parent, ok = get(v, path[:at])
	}
	key := path[at+1:]
	switch x := parent.(type) {
	case map[string]any:
		_, ok = x[key]
		delete(x, key)
		return ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i >= len(x) {
			return false
		}
		x[i] = nil
		return true
	}
	return ok && false
}

func same(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	if err != nil {
		return false
	}
	var u, v any
	return json.Unmarshal(x, &u) == nil && json.Unmarshal(y, &v) == nil && reflect.DeepEqual(u, v)
}
