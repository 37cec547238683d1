package bundle_test

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
)

func sum(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// TestSameBytesFromAnotherFolder builds from this tree and from a copy of it elsewhere.
func TestSameBytesFromAnotherFolder(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	config := []byte("demo: {calls: 10}\n")
	if err := bundle.Build(t.Context(), here, bundle.ARM64, config, bundle.API, bundle.Rotate, bundle.Page); err != nil {
		t.Fatal(err)
	}

	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(there, "a folder of another name")
	copyTree(t, root, tree)
	t.Chdir(tree)
	t.Setenv("GOFLAGS", "-race") // and from a shell with other habits
	out := filepath.Join(there, "out")
	if err := bundle.Build(t.Context(), out, bundle.ARM64, config, bundle.API, bundle.Rotate, bundle.Page); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{bundle.API, bundle.Rotate, bundle.Page} {
		path := filepath.Join(here, name, "bootstrap")
		if sum(t, path) != sum(t, filepath.Join(out, name, "bootstrap")) {
			t.Errorf("%s: other bytes from another folder", name)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != elf.EM_AARCH64 || f.Section(".symtab") != nil || f.Section(".interp") != nil {
			t.Errorf("%s: not a stripped static arm64 executable", name)
		}
		f.Close()
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text := info.String(); strings.Contains(text, "vcs.") || !strings.Contains(text, "-tags=lambda.norpc") || strings.Contains(text, root) {
			t.Errorf("%s: %s", name, text)
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v %v", name, stat.Mode(), err)
		}
		if _, err := os.Stat(filepath.Join(here, name, bundle.ConfigName)); (err == nil) != (name == bundle.API) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// copyTree copies what git would give a fresh clone of, as it is now.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.go", "go.mod", "go.sum", "site/www", "*.json", "*.yaml")
	cmd.Dir = from
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.Trim(string(list), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestErrors(t *testing.T) {
	if err := bundle.Build(t.Context(), t.TempDir(), "386", nil, bundle.API); err == nil || !strings.Contains(err.Error(), `"386" is neither arm64 nor amd64`) {
		t.Error(err)
	}
	if err := bundle.Build(t.Context(), t.TempDir(), bundle.ARM64, nil, "nothing"); err == nil || !strings.Contains(err.Error(), "lambda/nothing") {
		t.Error(err)
	}
}
