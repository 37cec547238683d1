package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/operator"
	"github.com/seed3e88d9a2/spendcap/internal/status"
)

// showStatus tells what a day has used.
func showStatus(e env) *cli.Command {
	var o statusOptions
	return &cli.Command{
		Name:      "status",
		Category:  operate,
		Usage:     "show what today has used, and who used most",
		UsageText: "spendcap status [flags]",
		Description: `
Shows the spend and the calls of a day against the ceiling, what is held apart from
what is used; for each budget how many callers were seen and how many are capped; the
ten callers that used most, by their keys; and the open holds: calls that are running,
or whose cost was never known, which stay counted for the day. A call runs for less
than a minute, so a hold that is there longer was never settled. A caller is capped if
a call at the worst case of the file's cheapest model does not fit any more; shorter
calls may. For today also what is set by ` + "`spendcap stop`, `limit` and `block`" + `; the caps
are those in force. For an earlier day the caps are the file's. Signed-in users are one
budget, user; who of them is capped is not told, for the table does not know their tier.

It reads and writes nothing else. It reads the whole table, for the table's key is all
there is to find callers by: items of other days, answers kept for Idempotency-Keys and
the rest too. A read is a page of up to 1 MB, about 8,000 callers, and 128 read units.
It stops after --max-reads of them (100: 100 MB, 12,800 units, 0.0016 dollars at 0.125
per million), says so, and the numbers of the callers are then too low, while those of
the ceiling stay right: they are one read of their own. It keeps to --read-units per
second, so that the live system does not notice, and waits where it is throttled.
100,000 callers are about 13 reads: 4 seconds and 0.0002 dollars. --watch does all that
each time: with 100,000 callers, every 30 seconds, 0.03 dollars an hour.

Examples:
  spendcap status
  spendcap status --watch --interval 10s
  spendcap status --day 2026-11-29 --profile prod --region eu-west-1
  spendcap status --json | jq -r .everybody.spend.used
  spendcap status --dynamodb-endpoint http://127.0.0.1:8000

JSON: {"day", "asOf", "resetAt", "table", "stop": {"message", "since", "by"} or null,
"limits": [{"budget", "day", "cap", "since", "by"}], "blocked": callers,
"everybody": {"budget", "calls": {"used", "cap", "remaining"},
  "spend": {"used", "held", "cap", "remaining", "currency"}} or null without a ceiling,
"budgets": [{"budget", "cap": {"calls", "usd"}, "seen", "capped", "calls", "used",
  "held", "openHolds", "top": [{"key", "calls", "used", "held", "openHolds", "capped"}]}],
"complete": false if --max-reads ended it, "broken": items that cannot be read,
"reads": {"pages", "items", "units"}}. Amounts are dollars as decimal strings, used is what
is settled, and what is not limited is null or left out. With --watch one object a line.
` + whichHelp + `, dynamodb:GetItem and dynamodb:Scan.
`,
		Flags: append([]cli.Flag{
			configFlag(&o.file),
			&cli.StringFlag{Name: "day", Destination: &o.day, DefaultText: "today", Usage: "a UTC `DATE` such as 2026-11-29; items are kept for three days after theirs"},
			&cli.BoolFlag{Name: "watch", Destination: &o.watch, Usage: "show it again and again, until Ctrl-C"},
			&cli.DurationFlag{Name: "interval", Value: 30 * time.Second, Destination: &o.interval, Usage: "the `TIME` between two looks with --watch, 1s or more"},
			&cli.IntFlag{Name: "max-reads", Value: status.DefaultMaxReads, Destination: &o.maxReads, Usage: "read the table at most `N` times"},
			&cli.IntFlag{Name: "read-units", Value: status.DefaultUnitsPerSecond, Destination: &o.unitsPerSecond, Usage: "use at most `N` read units per second"},
			&cli.BoolFlag{Name: "progress", Destination: &o.progress, Usage: "tell the progress on standard error, also if that is no terminal"},
			jsonFlag(&o.json),
		}, deploymentFlags(&o.deployment)...),
		Action: arguments(0, nil, func(ctx context.Context, cmd *cli.Command) error {
			if o.interval < time.Second {
				return misuse(cmd, "--interval %v is less than a second", o.interval)
			}
			if o.maxReads < 1 || o.unitsPerSecond < 1 {
				return misuse(cmd, "--max-reads and --read-units have to be 1 or more")
			}
			if o.day != "" {
				if _, err := caps.ParseDay(o.day); err != nil {
					return misuse(cmd, "--day: %w", err)
				}
			}
			return find(ctx, e, o.deployment, func(d *deployment.Deployment) error { return runStatus(ctx, e, o, d) })
		}),
	}
}

type statusOptions struct {
	file, day                string
	watch, progress, json    bool
	interval                 time.Duration
	maxReads, unitsPerSecond int
	deployment               deployment.Options
}

func runStatus(ctx context.Context, e env, o statusOptions, d *deployment.Deployment) error {
	cfg, err := config.LoadFile(o.file)
	if err != nil {
		return err
	}
	least, err := leastCost(cfg)
	if err != nil {
		return err
	}
	store, err := d.Store()
	if err != nil {
		return err
	}
	set, err := controlsOf(e, d)
	if err != nil {
		return err
	}
	look := func() (*status.Report, error) {
		day := caps.DayOf(e.now())
		if o.day != "" {
			day, _ = caps.ParseDay(o.day) // checked
		}
		c := status.Config{
			Client: d.DynamoDB, Table: d.Table, Store: store, Day: day, Least: least,
			Global: cfg.Global, Callers: operator.Counted(cfg), MaxReads: o.maxReads, UnitsPerSecond: o.unitsPerSecond, Now: e.now,
		}
		if day == caps.DayOf(e.now()) {
			if c.Control, err = set.state(ctx); err != nil {
				return nil, err
			}
		}
		if o.progress || isTerminal(e.stderr) {
			c.Progress = e.progress
		}
		report, err := status.Read(ctx, c)
		if isTerminal(e.stderr) {
			fmt.Fprint(e.stderr, clearLine)
		}
		return report, err
	}
	if o.watch {
		return e.watch(ctx, o, look)
	}
	report, err := look()
	if err != nil {
		return err
	}
	return e.show(report, o.json)
}

// leastCost is the worst case of the cheapest model.
func leastCost(cfg *config.Config) (caps.MicroUSD, error) {
	least := caps.MicroUSD(1)
	if cfg.LLM == nil {
		return least, nil
	}
	for i, m := range cfg.LLM.Models {
		worst, err := cfg.LLM.MaxCost(m)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.Name, err)
		}
		if i == 0 || worst.USD < least {
			least = worst.USD
		}
	}
	return least, nil
}

func (e env) show(r *status.Report, asJSON bool) error {
	if asJSON {
		return e.json(r.JSON())
	}
	return r.Text(e.stdout, e.style())
}

// clearLine goes to the beginning of the terminal's line and empties it.
const clearLine = "\r\x1b[K"

// progress tells how far the reads have come, on a terminal always on the same line.
func (e env) progress(r status.Reads) {
	text := fmt.Sprintf("reading the table: %d MB, %d items", r.Pages, r.Items)
	if isTerminal(e.stderr) {
		fmt.Fprint(e.stderr, clearLine+text)
		return
	}
	fmt.Fprintln(e.stderr, text)
}
