package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"
)

// env is what a command gets from outside, so that tests can give it another.
type env struct {
	stdout, stderr io.Writer
	lookup         func(name string) (string, bool) // environment variables
	now            func() time.Time
}

// Exit codes.
const (
	success    = 0
	failure    = 1
	wrongUsage = 2
)

// run returns the exit code of the command line args, which has no program name.
func run(ctx context.Context, e env, args []string) int {
	err := root(e).Run(ctx, append([]string{"spendcap"}, args...))
	var usage *usageError
	var topic cli.ExitCoder // of `help` for a command that does not exist
	switch {
	case err == nil:
		return success
	case errors.As(err, &usage):
		fmt.Fprintf(e.stderr, "%s: %v\n`%[1]s --help` explains it.\n", usage.command, usage.err)
		return wrongUsage
	case errors.As(err, &topic):
		fmt.Fprintf(e.stderr, "spendcap: %v\n", err)
		return wrongUsage
	case ctx.Err() != nil:
		fmt.Fprintln(e.stderr, "spendcap: interrupted")
	default:
		fmt.Fprintln(e.stderr, err)
	}
	return failure
}

// usageError says that a command line is wrong, before anything was done.
type usageError struct {
	command string // with its parents, such as "spendcap dev"
	err     error
}

func (e *usageError) Error() string { return e.command + ": " + e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misuse returns the error of a command line that is wrong.
func misuse(cmd *cli.Command, format string, args ...any) error {
	return &usageError{cmd.FullName(), fmt.Errorf(format, args...)}
}

// json writes one object on one line.
func (e env) json(v any) error {
	w := json.NewEncoder(e.stdout)
	w.SetEscapeHTML(false)
	return w.Encode(v)
}
