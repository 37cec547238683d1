package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
)

// Groups of commands in the help, which has them in alphabetical order.
const (
	operate = "Operate a deployment"
	tryOut  = "Try and plan"
)

// root is the command line. It is made anew for each run: it keeps what it has parsed.
func root(e env) *cli.Command {
	root := &cli.Command{
		Name:                            "spendcap",
		Usage:                           "guards paid calls with daily caps that cannot be passed",
		Writer:                          e.stdout,
		ErrWriter:                       e.stderr,
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: completion,
		CustomRootCommandHelpTemplate:   rootHelp,
		Commands: []*cli.Command{
			dev(e), demo(e), prices(e), simulateDay(e),
			showStatus(e), whois(e), block(e), unblock(e), blocks(e), limit(e), stop(e), resume(e), history(e), rotateHMAC(e), sealKey(e), smokeTest(e),
		},
		// Errors come back to run, which prints them.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if name := cmd.Args().First(); name != "" {
				return misuse(cmd, "there is no command %q%s", name, suggestion(cmd, name))
			}
			return misuse(cmd, "which command?\nUsage: spendcap COMMAND [flags] [arguments]")
		},
		OnUsageError: onUsageError,
	}
	for _, c := range root.Commands {
		c.CustomHelpTemplate = commandHelp
		c.HideHelpCommand = true // it would take `help` for itself where an argument is meant
		c.OnUsageError = onUsageError
		c.Action = named(c.Action)
	}
	return root
}

// suggestion is what the unknown name may have meant, if anything begins like it.
func suggestion(cmd *cli.Command, name string) string {
	if s := cli.SuggestCommand(cmd.Commands, name); strings.HasPrefix(s, name[:1]) {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}

func onUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return &usageError{cmd.FullName(), err}
}

// named tells which command an error comes from.
func named(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		err := action(ctx, cmd)
		if usage := (*usageError)(nil); err == nil || errors.As(err, &usage) {
			return err
		}
		return fmt.Errorf("%s: %w", cmd.FullName(), err)
	}
}

// arguments checks the number of arguments before an action. names are theirs, the
// needed ones first.
func arguments(needed int, names []string, action cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		switch n := cmd.Args().Len(); {
		case n < needed:
			return misuse(cmd, "%s is missing", names[n])
		case n > len(names):
			return misuse(cmd, "unexpected argument %q", cmd.Args().Get(len(names)))
		}
		return action(ctx, cmd)
	}
}

const rootHelp = `spendcap {{.Usage}}.

Usage: spendcap COMMAND [flags] [arguments]
{{range .VisibleCategories}}{{if .Name}}
{{.Name}}:{{range .VisibleCommands}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{end}}
` + "`spendcap COMMAND --help`" + ` explains a command and its flags. A flag may have one hyphen
or two, and stand before the arguments or behind them. With --json a command prints
one object on one line; what goes wrong is text on standard error. The exit code is 0
for success, 1 for a failure, 2 for wrong usage. Ctrl-C ends every command.
`

const commandHelp = `Usage: {{.UsageText}}

{{trim .Description}}

Flags:{{if .VisibleFlagCategories}}{{template "visibleFlagCategoryTemplate" .}}{{else}}{{template "visibleFlagTemplate" .}}{{end}}
`

// completion puts the library's command into our help.
func completion(c *cli.Command) {
	c.Hidden = false
	c.Category = tryOut
	c.Usage = "print a script that completes commands and flags: bash, zsh, fish or pwsh"
	c.HideHelpCommand = true
	for _, shell := range c.Commands {
		shell.Action = named(arguments(0, nil, shell.Action))
		shell.OnUsageError = onUsageError
	}
}

// configFlag is the operator's file.
func configFlag(file *string) cli.Flag {
	return &cli.StringFlag{Name: "config", Value: "spendcap.yaml", Destination: file, TakesFile: true, Usage: "the operator's `FILE`"}
}

func jsonFlag(on *bool) cli.Flag {
	return &cli.BoolFlag{Name: "json", Destination: on, Usage: "print one JSON object instead of text"}
}
