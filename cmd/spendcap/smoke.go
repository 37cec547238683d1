package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/smoke"
)

// smokeTest tries what only a real deployment can show.
func smokeTest(e env) *cli.Command {
	var origin string
	var asJSON bool
	return &cli.Command{
		Name:      "smoke",
		Category:  operate,
		Usage:     "try a deployment's promises",
		UsageText: "spendcap smoke --origin URL [flags] URL",
		Description: `
Says pass or fail for each promise that only a real deployment can keep: forged
headers through the edge, the side door, IPv6 if it can be reached, no caching of
errors, HTTPS, and the header that the edge sets. URL is the site's, --origin the
side door's, as the stack's outputs have them. It counts a few demo calls and needs
no AWS credentials. The exit code is 0 if every promise is kept.

Example:
  spendcap smoke --origin https://abc123.execute-api.eu-west-1.amazonaws.com https://d111111abcdef8.cloudfront.net

JSON: {"ok": bool, "promises": [{"promise", "verdict": "pass" | "fail" | "not tried", "detail"}]}
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "origin", Destination: &origin, Usage: "`URL` of the side door (the API's own URL)"},
			jsonFlag(&asJSON),
		},
		Action: arguments(0, []string{"URL"}, func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() || origin == "" {
				return misuse(cmd, "the site's URL and --origin are needed")
			}
			promises := []smoke.Promise{}
			ok, err := smoke.Run(ctx, cmd.Args().First(), origin, func(p smoke.Promise) error {
				promises = append(promises, p)
				if asJSON {
					return nil
				}
				_, err := fmt.Fprintln(e.stdout, p)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				if err := e.json(map[string]any{"ok": ok, "promises": promises}); err != nil {
					return err
				}
			}
			if !ok {
				return errors.New("not every promise is kept")
			}
			return nil
		}),
	}
}
