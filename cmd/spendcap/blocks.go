package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// blocks lists the callers that are refused.
func blocks(e env) *cli.Command {
	var o deployment.Options
	var keyFile string
	var asJSON bool
	return &cli.Command{
		Name:      "blocks",
		Category:  operate,
		Usage:     "list the callers that are blocked",
		UsageText: "spendcap blocks [flags]",
		Description: `
Lists the blocks in force by their keys: of an address ("block"), or of an item of a
budget on its day. It reads one item of the table.

With --open and the private key of ` + "`spendcap seal-key`" + ` it also tells the addresses that
were sealed, and reads one more item for each block. They are personal data. It is a
failure if one was sealed for another key; the others are told all the same.

Examples:
  spendcap blocks
  spendcap blocks --open ~/spendcap-seal.key

JSON: {"blocks": [{"key", "keyVersion", "purpose", "day", "until", "since", "by", "address"}]};
day is left out for an address, until if it lasts until it is taken back, and address
without --open or if none was sealed.
` + whichHelp + ` and dynamodb:GetItem.
`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "open", Destination: &keyFile, TakesFile: true, Usage: "the `FILE` of the private key: tell the sealed addresses"},
			jsonFlag(&asJSON),
		}, deploymentFlags(&o)...),
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
				list, opening := c.opened(ctx, s.Blocks, keyFile)
				if list == nil {
					return opening
				}
				if asJSON {
					return errors.Join(e.json(map[string]any{"blocks": list}), opening)
				}
				if len(list) == 0 {
					_, err := fmt.Fprintln(e.stdout, "Nobody is blocked.")
					return err
				}
				w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				head := "KEY\tOF\tSINCE\tBY\tENDS"
				if keyFile != "" {
					head += "\tADDRESS"
				}
				fmt.Fprintln(w, head)
				for _, b := range list {
					of := "an address"
					if b.Day != 0 {
						of = b.Purpose + " of " + b.Day.String()
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", b.Key, of, b.Since.Format(time.RFC3339), b.By, until(b.End(), e.now(), "with `spendcap unblock`"))
					if keyFile != "" {
						address := cmp.Or(b.Address, "not sealed")
						if b.unopened {
							address = "does not open"
						}
						fmt.Fprintf(w, "\t%s", address)
					}
					fmt.Fprintln(w)
				}
				return errors.Join(w.Flush(), opening)
			})
		}),
	}
}
