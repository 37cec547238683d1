package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// resume takes a stop back.
func resume(e env) *cli.Command {
	var o deployment.Options
	var as string
	var asJSON bool
	return &cli.Command{
		Name:      "resume",
		Category:  operate,
		Usage:     "let calls again after `spendcap stop`",
		UsageText: "spendcap resume [flags]",
		Description: `
Takes a stop back: calls are admitted again within five seconds, under the caps in
force. What was used before stays used.

It reads one item of the table and writes two.

Example:
  spendcap resume
` + changeHelp + whichHelp + `, dynamodb:GetItem and dynamodb:PutItem.
`,
		Flags: append([]cli.Flag{asFlag(&as), jsonFlag(&asJSON)}, deploymentFlags(&o)...),
		Action: arguments(0, nil, func(ctx context.Context, _ *cli.Command) error {
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				operator, err := c.operator(ctx, as, nil)
				if err != nil {
					return err
				}
				r, err := operator.Resume(ctx)
				return c.tell(r, err, asJSON, func(r control.Record) string {
					return fmt.Sprintf("Resumed by %s. Calls are admitted again within five seconds.", r.By)
				})
			})
		}),
	}
}
