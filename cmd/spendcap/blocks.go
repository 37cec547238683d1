package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// blocks lists the callers that are refused.
func blocks(e env) *cli.Command {
	var o deployment.Options
	var asJSON bool
	return &cli.Command{
		Name:      "blocks",
		Category:  operate,
		Usage:     "list the callers that are blocked",
		UsageText: "spendcap blocks [flags]",
		Description: `
Lists the blocks in force by their keys: of an address ("block"), or of an item of a
budget on its day. It reads one item of the table.

Example:
  spendcap blocks

JSON: {"blocks": [{"key", "purpose", "day", "until", "since", "by"}]}; day is left out for
an address, until if it lasts until it is taken back.
` + whichHelp + ` and dynamodb:GetItem.
`,
		Flags: append([]cli.Flag{jsonFlag(&asJSON)}, deploymentFlags(&o)...),
		Action: arguments(0, nil, func(ctx context.Context, _ *cli.Command) error {
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				s, err := c.state(ctx)
				if err != nil {
					return err
				}
				if s.Blocks == nil {
					s.Blocks = []control.Block{}
				}
				if asJSON {
					return e.json(map[string]any{"blocks": s.Blocks})
				}
				if len(s.Blocks) == 0 {
					_, err := fmt.Fprintln(e.stdout, "Nobody is blocked.")
					return err
				}
				w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "KEY\tOF\tSINCE\tBY\tENDS")
				for _, b := range s.Blocks {
					of := "an address"
					if b.Day != 0 {
						of = b.Purpose + " of " + b.Day.String()
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.Key, of, b.Since.Format(time.RFC3339), b.By, until(b.End(), e.now(), "with `spendcap unblock`"))
				}
				return w.Flush()
			})
		}),
	}
}
