package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/simulate"
)

// simulateDay plays a day against the caps and prices of the file.
func simulateDay(e env) *cli.Command {
	o := simulateOptions{generate: simulate.Options{Shape: simulate.ShapeUniform}}
	return &cli.Command{
		Name:      "simulate",
		Category:  tryOut,
		Usage:     "play a day against the file's caps and prices, before deploying",
		UsageText: "spendcap simulate [flags]",
		Description: `
Plays a day of calls against the caps and prices of the file and tells how much would
have been spent, how many would have been refused and by what, and the first moment the
ceiling was reached. The day is made up from a few numbers, or comes from a CSV of real
requests. The caps that decide are the real ones, with a clock that goes through the
day: a call takes its worst case when it arrives and is settled when it ends. Nothing is
called and nothing is spent. It reads the file, and the CSV if there is one; it writes
the picture if you ask for one.

Made up: each call has between half and one and a half of --input-bytes,
--output-tokens and --latency; a few callers make many of the calls. The same --seed is
the same day.

CSV: commas, and a first line with the columns' names, in any order:
  time           2026-12-01T09:30:00Z, or 09:30:00 in UTC; all of one UTC day
  caller         any text, the same for the same caller; told apart and not kept
  input_tokens   or input_bytes: what the request sent, without the operator's prompt
  output_tokens  what the model answered
  tier, model, cached_tokens, max_tokens, latency_ms    optional

Examples:
  spendcap simulate
  spendcap simulate --callers 500 --calls 4 --peak 18:00 --svg day.svg
  spendcap simulate --config examples/simulate/spendcap.yaml --csv examples/simulate/requests.csv
  spendcap simulate --json | jq -r .firstCeilingRefusal

JSON: {"day", "callers", "attempted", "admitted", "refused": {"callerCalls", "callerUSD",
"ceilingCalls", "ceilingUSD", "tooLarge", "unknownModel", "crowdedOut"}, "spentUSD",
"unsettled", "unsettledHeldUSD", "withoutCapsUSD", "ceiling": {"usd", "calls", "peakUSD",
"peakHeldUSD", "peakPercent"}, "firstCallerRefusal", "firstCeilingRefusal",
"callersRefused": {"caller", "ceiling", "everything"}, "hours": [24 of them], "points":
[every ten minutes]}. Amounts are dollars as decimal strings; a time that never came is
left out.
`,
		Flags: []cli.Flag{
			configFlag(&o.file),
			&cli.IntFlag{Name: "callers", Value: 1000, Destination: &o.generate.Callers, Usage: "`N` callers"},
			&cli.Float64Flag{Name: "calls", Value: 4, Destination: &o.generate.CallsPerCaller, Usage: "`N` calls of each caller on average"},
			&cli.IntFlag{Name: "input-bytes", Value: 2000, Destination: &o.generate.InputBytes, Usage: "`N` bytes sent by a call on average"},
			&cli.IntFlag{Name: "output-tokens", Value: 150, Destination: &o.generate.OutputTokens, Usage: "`N` tokens answered on average"},
			&cli.DurationFlag{Name: "latency", Value: 3 * time.Second, Destination: &o.generate.Latency, Usage: "`TIME` that a call takes on average, such as 3s; of a CSV that does not tell"},
			&cli.StringFlag{Name: "tier", Destination: &o.generate.Tier, DefaultText: "anonymous", Usage: "`NAME` of the tier of signed-in callers; of a CSV that does not tell"},
			&cli.StringFlag{Name: "model", Destination: &o.generate.Model, DefaultText: "the first of the file", Usage: "`NAME` of the model; of a CSV that does not tell"},
			&cli.StringFlag{Name: "peak", Destination: &o.peak, DefaultText: "spread over the day", Usage: "`HH:MM` in UTC around which the calls crowd"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Destination: &o.generate.Seed, Usage: "`N` that makes another day"},
			&cli.StringFlag{Name: "day", Destination: &o.day, DefaultText: "today", Usage: "a UTC `DATE` such as 2026-12-01"},
			&cli.StringFlag{Name: "csv", Destination: &o.csv, TakesFile: true, Usage: "play the requests of this `FILE` instead of a day that is made up"},
			&cli.StringFlag{Name: "svg", Destination: &o.svg, TakesFile: true, Usage: "write the day as a picture to this `FILE` too"},
			jsonFlag(&o.json),
		},
		Action: arguments(0, nil, func(ctx context.Context, cmd *cli.Command) error {
			if o.csv != "" {
				for _, name := range []string{"callers", "calls", "input-bytes", "output-tokens", "peak", "seed"} {
					if cmd.IsSet(name) {
						return misuse(cmd, "--%s is about a day that is made up: leave it out, or --csv", name)
					}
				}
			}
			if o.peak != "" {
				at, err := time.Parse("15:04", o.peak)
				if err != nil {
					return misuse(cmd, "--peak: %q is not a time such as 18:00", o.peak)
				}
				o.generate.Shape = simulate.ShapePeak
				o.generate.Peak = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
			}
			o.generate.Day = caps.DayOf(e.now())
			if o.day != "" {
				var err error
				if o.generate.Day, err = caps.ParseDay(o.day); err != nil {
					return misuse(cmd, "--day: %w", err)
				}
			}
			cfg, err := config.LoadFile(o.file)
			if err != nil {
				return err
			}
			var traffic *simulate.Traffic
			if o.csv != "" {
				traffic, err = o.read()
			} else if traffic, err = simulate.Generate(o.generate); err != nil {
				err = misuse(cmd, "%w", err)
			}
			if err != nil {
				return err
			}
			report, err := simulate.Play(ctx, cfg, traffic)
			if err != nil {
				return err
			}
			if o.svg != "" {
				if err := writeSVG(o.svg, report); err != nil {
					return fmt.Errorf("--svg: %w", err)
				}
			}
			if o.json {
				return e.json(report)
			}
			return report.Text(e.stdout, simulate.TextOptions{Width: e.columns()})
		}),
	}
}

type simulateOptions struct {
	file, csv, svg, peak, day string
	json                      bool
	generate                  simulate.Options
}

func (o simulateOptions) read() (*simulate.Traffic, error) {
	f, err := os.Open(o.csv)
	if err != nil {
		return nil, fmt.Errorf("--csv: %w", err)
	}
	defer f.Close()
	traffic, err := simulate.ReadCSV(f, simulate.CSVDefaults{Day: o.generate.Day, Tier: o.generate.Tier, Model: o.generate.Model, Latency: o.generate.Latency})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	return traffic, nil
}

func writeSVG(name string, report *simulate.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := report.SVG(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
