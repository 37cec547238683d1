package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// prices tells what one call of each model can cost, and how many of them fit.
func prices(_ context.Context, e env, args []string) error {
	f := newFlags(e, "prices", `Usage: spendcap prices [flags]

Prints for each model of the file what one call can cost at most, and how many such
calls fit into each cap of a day. Real calls mostly cost less: the hold is the worst
case, and what is not used comes back when the call is settled.
`)
	file := f.String("config", "spendcap.yaml", "the operator's `file`")
	if err := parse(e, f, args, 0); err != nil {
		return err
	}
	cfg, err := config.LoadFile(*file)
	if err != nil {
		return err
	}
	if cfg.LLM == nil {
		return errors.New(*file + " has no llm, so there are no paid calls")
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tINPUT TOKENS\tOUTPUT TOKENS\tONE CALL, AT MOST\tPER CALLER AND DAY\tPER DAY, EVERYBODY")
	for _, m := range cfg.LLM.Models {
		worst, err := cfg.LLM.MaxCost(m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t$%s\t%s\t%s\n", m.Name, worst.InputTokens, worst.OutputTokens, worst.USD,
			fit(cfg.Caller.Cap, worst.USD), fit(cfg.Global.Cap, worst.USD))
	}
	return w.Flush()
}

// fit is how many calls of the cost fit into the cap, and what ends them.
func fit(c caps.Cap, worst caps.MicroUSD) string {
	calls, limitsCalls := c.Calls()
	usd, limitsUSD := c.USD()
	byMoney := int64(usd / worst)
	switch {
	case limitsCalls && (!limitsUSD || calls <= byMoney):
		return fmt.Sprintf("%d calls (the cap on calls)", calls)
	case limitsUSD:
		return fmt.Sprintf("%d calls ($%s)", byMoney, usd)
	}
	return "not limited"
}
