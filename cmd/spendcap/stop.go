package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// stop refuses all calls of everybody.
func stop(e env) *cli.Command {
	var o deployment.Options
	var message, as string
	var asJSON bool
	return &cli.Command{
		Name:      "stop",
		Category:  operate,
		Usage:     "refuse all calls of everybody, until `spendcap resume`",
		UsageText: "spendcap stop [--message TEXT] [flags]",
		Description: `
No paid call and no demo call is admitted anywhere within five seconds, on every warm
instance, without a deployment. Calls that are running finish and are settled. It lasts
over midnight and through deployments, until ` + "`spendcap resume`" + `. Callers get a 429 with the
message. Stopping again with another message changes the message.

It reads one item of the table and writes two.

Examples:
  spendcap stop
  spendcap stop --message "Back on Monday. Questions: hello@example.com"
` + changeHelp + whichHelp + `, dynamodb:GetItem and dynamodb:PutItem.
`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "message", Destination: &message, Usage: "`TEXT` that callers are told, one line of at most 500 bytes; without it a sentence of spendcap's"},
			asFlag(&as),
			jsonFlag(&asJSON),
		}, deploymentFlags(&o)...),
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
				r, err := operator.Stop(ctx, message)
				return c.tell(r, err, asJSON, func(r control.Record) string {
					text := fmt.Sprintf("Stopped by %s. No call is admitted anywhere within five seconds; running calls finish and are settled.\n", r.By)
					if message != "" {
						text += fmt.Sprintf("Callers are told: %s\n", message)
					}
					return text + "`spendcap resume` lets calls again."
				})
			})
		}),
	}
}
