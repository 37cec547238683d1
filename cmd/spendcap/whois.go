package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/operator"
)

// whois tells which keys an address has today, and what they have used.
func whois(e env) *cli.Command {
	var o deployment.Options
	var file, day string
	var asJSON bool
	return &cli.Command{
		Name:      "whois",
		Category:  operate,
		Usage:     "tell which keys an address has, and what it has used",
		UsageText: "spendcap whois [flags] ADDRESS",
		Description: `
Tells which caller keys an address has on a day, one for each budget, what they have
used, and whether the caller is blocked.
` + addressHelp + `
It reads one item of the table for each budget, and what is set.

Examples:
  spendcap whois 198.51.100.10
  spendcap whois 2001:db8::/64 --day 2026-11-29

JSON: {"countedAs", "day", "budgets": [{"budget", "key", "cap": {"calls", "usd"}, "calls",
"used", "held", "openHolds", "usedUp"}], "block": {"key", "purpose", "day", "until",
"since", "by"} or null}. Amounts are dollars as decimal strings.
` + whichHelp + ` and dynamodb:GetItem.
`,
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "day", Destination: &day, DefaultText: "today", Usage: "a UTC `DATE` such as 2026-11-29"},
			jsonFlag(&asJSON),
		}, addressFlags(&o, &file)...), deploymentFlags(&o)...),
		Action: arguments(1, []string{"ADDRESS"}, func(ctx context.Context, cmd *cli.Command) error {
			on := caps.DayOf(e.now())
			if day != "" {
				var err error
				if on, err = caps.ParseDay(day); err != nil {
					return misuse(cmd, "--day: %w", err)
				}
			}
			if operator.IsKey(cmd.Args().First()) {
				return misuse(cmd, "an ADDRESS is wanted: what a key stands for cannot be told from it, and `spendcap status` has what it used")
			}
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				cfg, err := config.LoadFile(file)
				if err != nil {
					return err
				}
				caller, err := operator.ParseCaller(cfg.Mask, cmd.Args().First())
				if err != nil {
					return err
				}
				found, err := lookUp(ctx, e, d, cfg, caller, on)
				if err != nil {
					return err
				}
				if asJSON {
					return e.json(found)
				}
				return found.print(e)
			})
		}),
	}
}

// found is what is known of a caller.
type found struct {
	CountedAs string            `json:"countedAs"`
	Day       caps.Day          `json:"day"`
	Budgets   []operator.Bucket `json:"budgets"`
	Block     *control.Block    `json:"block"`
}

func lookUp(ctx context.Context, e env, d *deployment.Deployment, cfg *config.Config, caller caps.Caller, day caps.Day) (*found, error) {
	keyer, err := d.Keyer(ctx)
	if err != nil {
		return nil, err
	}
	c, err := controlsOf(e, d)
	if err != nil {
		return nil, err
	}
	s, err := c.state(ctx)
	if err != nil {
		return nil, err
	}
	store, err := d.Store()
	if err != nil {
		return nil, err
	}
	budgets := operator.ByAddress(cfg)
	f := &found{CountedAs: caller.String(), Day: day}
	f.Block = operator.BlockOf(s, e.now(), control.KeysOf(keyer, caller, caps.DayOf(e.now()), operator.Names(budgets)...)...)
	f.Budgets, err = operator.Buckets(ctx, store, keyer, caller, day, operator.InForce(s, day, budgets))
	return f, err
}

func (f *found) print(e env) error {
	fmt.Fprintf(e.stdout, "counted as %s on %s\n\n", f.CountedAs, f.Day)
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BUDGET\tKEY\tCALLS\tUSED\tHELD\tCAP")
	for _, b := range f.Budgets {
		limit := b.Cap.String()
		if b.UsedUp {
			limit += ": used up"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t$%s\t$%s\t%s\n", b.Budget, b.Key, b.Calls, b.Used, b.Held, limit)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if b := f.Block; b != nil {
		_, err := fmt.Fprintf(e.stdout, "\nblocked by %s, %s\n", b.By, until(b.End(), e.now(), "until `spendcap unblock`"))
		return err
	}
	return nil
}
