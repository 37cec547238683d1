// Command spendcap is the operator's tool: it runs the whole system on one machine,
// tries the forgeries against it, and tells what a call can cost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// env is what a command gets from outside, so that tests can give it another.
type env struct {
	stdout, stderr io.Writer
	lookup         func(name string) (string, bool) // environment variables
}

// command is one subcommand. run gets what stands behind its name.
type command struct {
	name, summary string
	run           func(ctx context.Context, e env, args []string) error
}

var commands = []command{
	{"dev", "run the whole system on this machine", dev},
	{"demo", "try the three forgeries against a running system", demo},
	{"prices", "tell what a call can cost and how many fit into each cap", prices},
	{"smoke", "try a deployment's promises", smokeTest},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, env{os.Stdout, os.Stderr, os.LookupEnv}, os.Args[1:]))
}

// run returns the exit code: 0 for success, 1 for a failure, 2 for wrong usage.
func run(ctx context.Context, e env, args []string) int {
	if len(args) == 0 {
		usage(e.stderr)
		return 2
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(e.stdout)
		return 0
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		switch err := c.run(ctx, e, args[1:]); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 2
		default:
			fmt.Fprintf(e.stderr, "spendcap %s: %v\n", c.name, err)
			return 1
		}
	}
	fmt.Fprintf(e.stderr, "spendcap: there is no command %q\n\n", args[0])
	usage(e.stderr)
	return 2
}

func usage(w io.Writer) {
	fmt.Fprint(w, "spendcap guards paid calls with daily caps that cannot be passed.\n\nUsage: spendcap COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-7s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n`spendcap COMMAND -h` explains a command and its flags.\n")
}

// errUsage is returned after the flag package has said what is wrong.
var errUsage = errors.New("wrong usage")

// newFlags returns a flag set that prints synopsis, and then its flags, on -h.
func newFlags(e env, name, synopsis string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(e.stderr)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "%s\nFlags:\n", synopsis)
		f.PrintDefaults()
	}
	return f
}

// parse reads the flags and refuses more than max arguments behind them. -h prints to
// standard output, since it was asked for.
func parse(e env, f *flag.FlagSet, args []string, max int) error {
	for _, a := range args {
		if a == "-h" || a == "-help" || a == "--help" {
			f.SetOutput(e.stdout)
		}
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if f.NArg() > max {
		fmt.Fprintf(e.stderr, "spendcap %s: unexpected argument %q\n", f.Name(), f.Arg(max))
		f.Usage()
		return errUsage
	}
	return nil
}
