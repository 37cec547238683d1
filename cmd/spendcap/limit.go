package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
)

// limit shows and changes the caps in force.
func limit(e env) *cli.Command {
	var o limitOptions
	return &cli.Command{
		Name:      "limit",
		Category:  operate,
		Usage:     "show the caps in force, raise or lower them",
		UsageText: "spendcap limit [BUDGET] [--calls N] [--usd X] [--today | --until-further-notice] [--clear] [flags]",
		Description: `
Without --calls, --usd and --clear it shows the caps in force: the file's, and what has
been set in their place. With them it raises or lowers the cap of a BUDGET of the file
(caller: one caller; tier-NAME: one signed-in user of the tier; address: the signed-in
users of one address; global: everybody together; demo) within five seconds, on every
instance, without a deployment, and prints the old and the new value. A limit for today
ends at midnight UTC; one until further notice lasts through deployments, until it is
cleared. Today's comes first. 0 refuses everything. What is used stays used. A part that
the file does not cap cannot be limited.

--clear takes the limits of the budget back; with --today only today's.

It reads two items of the table and writes two.

Examples:
  spendcap limit
  spendcap limit global --usd 20 --today
  spendcap limit caller --calls 3 --usd 0.01 --until-further-notice
  spendcap limit caller --clear

JSON of what is in force: {"day", "budgets": [{"budget", "file": {"calls", "usd"},
"inForce": {"calls", "usd"}}], "limits": [{"budget", "day", "cap": {"calls", "usd"}, "since",
"by"}]}; a limit until further notice has no day.
` + changeHelp + whichHelp + `, dynamodb:GetItem and dynamodb:PutItem.
`,
		Flags: append([]cli.Flag{
			configFlag(&o.file),
			&cli.Int64Flag{Name: "calls", Destination: &o.calls, HideDefault: true, Usage: "`N` calls a day"},
			&cli.StringFlag{Name: "usd", Destination: &o.usd, Usage: "dollars a day, a decimal `X` such as 0.05"},
			&cli.BoolFlag{Name: "today", Destination: &o.today, Usage: "for the UTC day of today; that is so if nothing is said"},
			&cli.BoolFlag{Name: "until-further-notice", Destination: &o.lasting, Usage: "until it is cleared or changed"},
			&cli.BoolFlag{Name: "clear", Destination: &o.clear, Usage: "take the limits of the budget back"},
			asFlag(&o.as),
			jsonFlag(&o.json),
		}, deploymentFlags(&o.deployment)...),
		Action: arguments(0, []string{"BUDGET"}, func(ctx context.Context, cmd *cli.Command) error {
			cap, err := o.check(cmd)
			if err != nil {
				return err
			}
			return find(ctx, e, o.deployment, func(d *deployment.Deployment) error {
				cfg, err := config.LoadFile(o.file)
				if err != nil {
					return err
				}
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				if cap == (caps.Cap{}) && !o.clear {
					return c.showLimits(ctx, cfg, o.budget, o.json)
				}
				return c.limit(ctx, cfg, o, cap)
			})
		}),
	}
}

type limitOptions struct {
	file, budget, usd, as       string
	calls                       int64
	today, lasting, clear, json bool
	deployment                  deployment.Options
}

// check tells whether the flags belong together, and returns the cap that they give.
func (o *limitOptions) check(cmd *cli.Command) (caps.Cap, error) {
	o.budget = cmd.Args().First()
	var cap caps.Cap
	if cmd.IsSet("calls") {
		cap = cap.AndCalls(o.calls)
	}
	if cmd.IsSet("usd") {
		usd, err := caps.ParseUSD(strings.TrimPrefix(o.usd, "$"))
		if err != nil {
			return cap, misuse(cmd, "--usd: %w", err)
		}
		cap = cap.AndUSD(usd)
	}
	set := cap != (caps.Cap{})
	switch {
	case set && cap.Check() != nil:
		return cap, misuse(cmd, "%w", cap.Check())
	case o.today && o.lasting:
		return cap, misuse(cmd, "--today and --until-further-notice: give one of them")
	case o.clear && (set || o.lasting):
		return cap, misuse(cmd, "--clear takes limits back: leave out --calls, --usd and --until-further-notice")
	case (set || o.clear) && o.budget == "":
		return cap, misuse(cmd, "BUDGET is missing: such as caller or global")
	case !set && !o.clear && (o.today || o.lasting):
		return cap, misuse(cmd, "--calls or --usd is missing")
	}
	return cap, nil
}

// limit changes the cap in force, and prints the old and the new one.
func (c *controls) limit(ctx context.Context, cfg *config.Config, o limitOptions, cap caps.Cap) error {
	op, err := c.operator(ctx, o.as, cfg.Budgets())
	if err != nil {
		return err
	}
	before, err := c.state(ctx)
	if err != nil {
		return err
	}
	budget, err := budgetOf(cfg, o.budget)
	if o.clear && err != nil && isLimited(before, o.budget) {
		r, err := op.Unlimit(ctx, o.budget, o.today)
		return c.tell(r, err, o.json, func(r control.Record) string {
			return fmt.Sprintf("The limit of %s, which the file does not have, is taken back by %s.", o.budget, r.By)
		})
	}
	if err != nil {
		return err
	}
	var r control.Record
	if o.clear {
		r, err = op.Unlimit(ctx, o.budget, o.today)
	} else {
		r, err = op.Limit(ctx, o.budget, !o.lasting, cap)
	}
	var after control.State
	if err == nil {
		if after, err = c.state(ctx); err != nil {
			return fmt.Errorf("the limit was changed, and what is in force now cannot be read: %w", err)
		}
	}
	if err == nil {
		if err := c.warn(cfg, budget, after); err != nil {
			return err
		}
	}
	return c.tell(r, err, o.json, func(r control.Record) string {
		today := caps.DayOf(c.now())
		until := "until further notice"
		switch {
		case o.clear:
			until = "as the file and the remaining limits say"
		case !o.lasting:
			until = "today, until " + today.End().Format("2006-01-02T15:04:05Z")
		}
		text := fmt.Sprintf("The cap of %s was %s and is %s, %s; it takes hold within five seconds. Set by %s.", o.budget, before.Cap(budget, today), after.Cap(budget, today), until, r.By)
		if o.lasting && len(after.Limits) > 1 && after.Cap(budget, today) != after.Cap(budget, today+1) {
			text += fmt.Sprintf("\nA limit for today comes before it: from tomorrow on it is %s.", after.Cap(budget, today+1))
		}
		return text
	})
}

// isLimited tells whether something was set for a budget, which the file may have had
// then.
func isLimited(s control.State, budget string) bool {
	return slices.ContainsFunc(s.Limits, func(l control.Limit) bool { return l.Budget == budget })
}

// warn says so if the cap closes the budget: with the file's prices no call fits.
func (c *controls) warn(cfg *config.Config, budget caps.Budget, s control.State) error {
	least, err := leastCost(cfg)
	if err != nil {
		return err
	}
	if cap := s.Cap(budget, caps.DayOf(c.now())); !cap.Holds(least) {
		fmt.Fprintf(c.stderr, "spendcap limit: no call at the worst case of the cheapest model, $%s, fits into %s\n", least, cap)
	}
	return nil
}

func budgetOf(cfg *config.Config, name string) (caps.Budget, error) {
	var names []string
	for _, b := range cfg.Budgets() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return caps.Budget{}, errors.New("the file has no budget " + name + "; it has " + strings.Join(names, ", "))
}

// inForce is the cap of a budget today.
type inForce struct {
	Budget  string   `json:"budget"`
	File    caps.Cap `json:"file"`
	InForce caps.Cap `json:"inForce"`
}

func (c *controls) showLimits(ctx context.Context, cfg *config.Config, name string, asJSON bool) error {
	budgets := cfg.Budgets()
	if name != "" {
		b, err := budgetOf(cfg, name)
		if err != nil {
			return err
		}
		budgets = []caps.Budget{b}
	}
	s, err := c.state(ctx)
	if err != nil {
		return err
	}
	today := caps.DayOf(c.now())
	list, limits := []inForce{}, []control.Limit{}
	for _, b := range budgets {
		list = append(list, inForce{b.Name, b.Cap, s.Cap(b, today)})
	}
	for _, l := range s.Limits { // also of budgets that the file has no more
		if name == "" || l.Budget == name {
			limits = append(limits, l)
		}
	}
	if asJSON {
		return c.json(map[string]any{"day": today, "budgets": list, "limits": limits})
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BUDGET\tIN FORCE\tFILE")
	for _, b := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", b.Budget, b.InForce, b.File)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(limits) > 0 {
		fmt.Fprintln(c.stdout)
	}
	for _, l := range limits {
		fmt.Fprintf(c.stdout, "%s, since %s by %s\n", limitText(l), l.Since.UTC().Format(time.RFC3339), l.By)
	}
	return nil
}
