// Command lambdas builds the Lambdas as a deployment does, to look at them or to give
// them to another tool: lambdas [-arch arm64] [-config spendcap.yaml] DIR.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/seed3e88d9a2/spendcap/internal/bundle"
	"github.com/seed3e88d9a2/spendcap/internal/config"
)

func main() {
	arch := flag.String("arch", bundle.ARM64, "arm64 or amd64")
	file := flag.String("config", bundle.ConfigName, "the operator's file")
	flag.Parse()
	if err := run(*arch, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arch, file string, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one folder for the result, such as dist")
	}
	if _, err := config.LoadFile(file); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return bundle.Build(context.Background(), args[0], arch, content, bundle.API, bundle.Rotate, bundle.Page)
}
