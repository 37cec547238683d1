package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// prices tells what one call of each model can cost, and how many of them fit.
func prices(e env) *cli.Command {
	var file string
	var asJSON bool
	return &cli.Command{
		Name:      "prices",
		Category:  tryOut,
		Usage:     "tell what a call can cost and how many fit into each cap",
		UsageText: "spendcap prices [flags]",
		Description: `
Prints for each model of the file what one call can cost at most, and how many such
calls fit into each cap of a day. Real calls mostly cost less: the hold is the worst
case, and what is not used comes back when the call is settled. It reads the file and
nothing else.

Examples:
  spendcap prices
  spendcap prices --config examples/config/openai.yaml

JSON: {"models": [{"name", "inputTokens", "outputTokens", "worstCase",
"perCaller": {"calls", "endsBy"}, "everybody": {"calls", "endsBy"}}]}; worstCase is
in dollars, and endsBy is "calls" or "usd", the cap that ends them.
`,
		Flags: []cli.Flag{configFlag(&file), jsonFlag(&asJSON)},
		Action: arguments(0, nil, func(context.Context, *cli.Command) error {
			models, err := priced(file)
			if err != nil {
				return err
			}
			if asJSON {
				return e.json(map[string]any{"models": models})
			}
			w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "MODEL\tINPUT TOKENS\tOUTPUT TOKENS\tONE CALL, AT MOST\tPER CALLER AND DAY\tPER DAY, EVERYBODY")
			for _, m := range models {
				fmt.Fprintf(w, "%s\t%d\t%d\t$%s\t%s\t%s\n", m.Name, m.InputTokens, m.OutputTokens, m.WorstCase, m.PerCaller, m.Everybody)
			}
			return w.Flush()
		}),
	}
}

// price is what the calls of a model can cost.
type price struct {
	Name         string        `json:"name"`
	InputTokens  int64         `json:"inputTokens"`
	OutputTokens int64         `json:"outputTokens"`
	WorstCase    caps.MicroUSD `json:"worstCase"`
	PerCaller    fitting       `json:"perCaller"`
	Everybody    fitting       `json:"everybody"`
}

// fitting is how many calls fit into a cap, and which part of it ends them.
type fitting struct {
	Calls  int64  `json:"calls"`
	EndsBy string `json:"endsBy"`
	usd    caps.MicroUSD
}

func (f fitting) String() string {
	if f.EndsBy == "calls" {
		return fmt.Sprintf("%d calls (the cap on calls)", f.Calls)
	}
	return fmt.Sprintf("%d calls ($%s)", f.Calls, f.usd)
}

func priced(file string) ([]price, error) {
	cfg, err := config.LoadFile(file)
	if err != nil {
		return nil, err
	}
	if cfg.LLM == nil {
		return nil, errors.New(file + " has no llm, so there are no paid calls")
	}
	var models []price
	for _, m := range cfg.LLM.Models {
		worst, err := cfg.LLM.MaxCost(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		models = append(models, price{
			Name: m.Name, InputTokens: worst.InputTokens, OutputTokens: worst.OutputTokens, WorstCase: worst.USD,
			PerCaller: fit(cfg.Caller.Cap, worst.USD), Everybody: fit(cfg.Global.Cap, worst.USD),
		})
	}
	return models, nil
}

// fit is how many calls of the cost fit into the cap. The file's caps limit something.
func fit(c caps.Cap, worst caps.MicroUSD) fitting {
	calls, limitsCalls := c.Calls()
	usd, limitsUSD := c.USD()
	byMoney := int64(usd / worst)
	if limitsCalls && (!limitsUSD || calls <= byMoney) {
		return fitting{Calls: calls, EndsBy: "calls"}
	}
	return fitting{Calls: byMoney, EndsBy: "usd", usd: usd}
}
