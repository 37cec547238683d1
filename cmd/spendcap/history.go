package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// history shows who changed what and when.
func history(e env) *cli.Command {
	var o deployment.Options
	var asJSON bool
	return &cli.Command{
		Name:      "history",
		Category:  operate,
		Usage:     "show who stopped, blocked or limited what, and when",
		UsageText: "spendcap history [flags]",
		Description: `
Shows the newest 100 changes that ` + "`spendcap stop`, `resume`, `block`, `unblock` and `limit`" + `
made, the newest first. They stay in the table. It reads 101 items at most.

Example:
  spendcap history

JSON: {"changes": [{"version", "id", "at", "by", "action", "old", "new"}]}; old and new have
what was touched, under "stop", "limits" or "blocks".
` + whichHelp + `, dynamodb:GetItem and dynamodb:BatchGetItem.
`,
		Flags: append([]cli.Flag{jsonFlag(&asJSON)}, deploymentFlags(&o)...),
		Action: arguments(0, nil, func(ctx context.Context, _ *cli.Command) error {
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				records, err := c.store.History(ctx)
				if err != nil {
					return err
				}
				if records == nil {
					records = []control.Record{}
				}
				if asJSON {
					return e.json(map[string]any{"changes": records})
				}
				if len(records) == 0 {
					_, err := fmt.Fprintln(e.stdout, "Nothing was ever changed.")
					return err
				}
				w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "AT\tBY\tCHANGE\tBEFORE\tAFTER")
				for _, r := range records {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.At.UTC().Format(time.RFC3339), r.By, r.Action, touched(r.Old), touched(r.New))
				}
				return w.Flush()
			})
		}),
	}
}

// touched tells what a change touched.
func touched(s control.State) string {
	var parts []string
	if s.Stop != nil {
		text := "stopped"
		if s.Stop.Message != "" {
			text += fmt.Sprintf(", %q", s.Stop.Message)
		}
		parts = append(parts, text)
	}
	for _, l := range s.Limits {
		parts = append(parts, limitText(l))
	}
	for _, b := range s.Blocks {
		text := b.Key
		if end := b.End(); !end.IsZero() {
			text += " until " + end.UTC().Format(time.RFC3339)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, "; ")
}

func limitText(l control.Limit) string {
	return fmt.Sprintf("%s: %s %s", l.Budget, l.Cap, limitedUntil(l))
}

func limitedUntil(l control.Limit) string {
	if l.Day == 0 {
		return "until further notice"
	}
	return "for " + l.Day.String()
}
