// Package bundle builds the Lambdas into folders that are ready to be zipped: without
// Docker, and with the same bytes whoever builds them from the same source with the
// same Go.
package bundle

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the path of the module that the Lambdas are in. It may also be a dependency
// of the module in the current folder.
const Module = "github.com/seed3e88d9a2/spendcap"

// ConfigName is the name under which the operator's file lies beside the bootstrap.
const ConfigName = "spendcap.yaml"

// The Lambdas.
const (
	API    = "api"    // the guarded API
	Rotate = "rotate" // the rotation of the origin secret
	Page   = "page"   // puts the demo page into its bucket
)

// The architectures, as Go names them.
const (
	ARM64 = "arm64"
	AMD64 = "amd64"
)

// Build makes dir/<name> for each name, with the executable `bootstrap` that the runtime
// provided.al2023 starts. The API also gets the operator's file, whose content is
// config. The Go command of the path builds what the module in the current folder is
// or depends on. An error has what the compiler says.
func Build(ctx context.Context, dir, arch string, config []byte, names ...string) error {
	if arch != ARM64 && arch != AMD64 {
		return fmt.Errorf("the architecture %q is neither %s nor %s", arch, ARM64, AMD64)
	}
	for _, name := range names {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		if err := build(ctx, filepath.Join(target, "bootstrap"), arch, Module+"/lambda/"+name); err != nil {
			return err
		}
		if name != API {
			continue
		}
		if err := os.WriteFile(filepath.Join(target, ConfigName), config, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func build(ctx context.Context, out, arch, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build",
		"-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch,
		// Whatever is set here would change the bytes, or build for newer processors.
		"GOFLAGS=", "GOEXPERIMENT=", "GOARM64=v8.0", "GOAMD64=v1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, strings.TrimSpace(string(text)))
	}
	return os.Chmod(out, 0o755)
}
