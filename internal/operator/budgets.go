package operator

import (
	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/config"
)

// ByAddress are the budgets of the file whose callers are addresses.
func ByAddress(c *config.Config) []caps.Budget {
	var budgets []caps.Budget
	for _, b := range []caps.Budget{c.Caller, c.Address, c.Demo} {
		if b != (caps.Budget{}) {
			budgets = append(budgets, b)
		}
	}
	return budgets
}

// Counted are all budgets of the file that have an item for each caller. That of
// signed-in users has no cap here: it is their tier's.
func Counted(c *config.Config) []caps.Budget {
	budgets := ByAddress(c)
	if c.Auth != nil {
		budgets = append(budgets, caps.Budget{Name: c.User(auth.Tier{}).Name})
	}
	return budgets
}
