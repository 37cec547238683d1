package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/auth"
	"github.com/seed3e88d9a2/spendcap/internal/sealed"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/ratelimit"
)

// Config is what the operator's file says, checked and ready to use.
type Config struct {
	// Caller and Global cap the guarded calls: one caller on one UTC day, and everybody
	// together. Both are the zero Budget if the file has no caps, which it may only if
	// it has no llm either. Where anonymous callers are refused, Caller has a cap of 0.
	Caller, Global caps.Budget

	// Address caps all signed-in callers of one viewer address together; the zero Budget
	// if the file has no caps.address.
	Address caps.Budget

	// Auth says who is signed in, and what each tier may use; nil if the file has no auth,
	// and everybody is counted by address.
	Auth *auth.Config

	// Demo caps POST /api/demo/cap for one caller. It is a budget of its own and has no
	// ceiling. It is the zero Budget, and the endpoint is off, if the file has no demo.
	Demo caps.Budget

	// RateLimits are the limits on bursts, by the path of the API that they are for.
	RateLimits map[string][]ratelimit.Rule

	// LLM is what the public may do with a model; nil if the file has no llm, and there
	// are no paid calls.
	LLM *llm.Config

	// Mask says how wide a caller is.
	Mask caps.Mask

	// SealTo seals the addresses of blocked callers for the operator; nil if the file has no
	// sealed_addresses, and none is kept.
	SealTo *sealed.PublicKey

	// AllowedOrigins are the web origins whose pages may call from another site, in the
	// form in which browsers send them: https://host or https://host:port.
	AllowedOrigins []string
}

// Budgets are what an operator can limit: Caller, Address, Global and Demo, where the
// file has them, and what each tier's users may use.
func (c *Config) Budgets() []caps.Budget {
	var budgets []caps.Budget
	for _, b := range []caps.Budget{c.Caller, c.Address, c.Global, c.Demo} {
		if b != (caps.Budget{}) {
			budgets = append(budgets, b)
		}
	}
	if c.Auth != nil {
		for _, t := range c.Auth.Tiers {
			budgets = append(budgets, c.Tier(t))
		}
	}
	return budgets
}

// Tier is the budget of a tier's users by the name under which an operator limits it:
// the users of all tiers count in one budget, so that a change of the tier keeps what
// is used.
func (c *Config) Tier(t auth.Tier) caps.Budget {
	return caps.Budget{Name: "tier-" + t.Name, Cap: t.Cap}
}

// Names of the budgets. They are part of the items' keys in the store, so another
// name would start the counts of the day afresh.
const (
	callerBudget  = "caller"
	userBudget    = "user" // of all tiers: who changes the tier keeps what is used
	addressBudget = "address"
	globalBudget  = "global"
	demoBudget    = "demo"
)

// User is the budget of a signed-in caller of a tier.
func (c *Config) User(t auth.Tier) caps.Budget { return caps.Budget{Name: userBudget, Cap: t.Cap} }

// LoadFile reads the file at path. What is wrong with its content comes back as an
// [*Error].
func LoadFile(path string) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file: start from the spendcap.yaml that comes with spendcap", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be opened: %w", err)
	}
	defer f.Close()
	c, err := Load(f)
	var problems *Error
	if errors.As(err, &problems) {
		problems.File = path
	}
	return c, err
}

// Load reads the configuration from r, at most [MaxBytes] of it. What is wrong with
// it comes back as an [*Error] that lists every problem.
func Load(r io.Reader) (*Config, error) {
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(r, MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	root, err := document(data.Bytes())
	if err != nil {
		return nil, err
	}
	p := new(problems)
	c := new(Config)
	if top, ok := p.group(root, "", "caps", "demo", "viewer", "cors", "sealed_addresses", "auth", "tiers", "rate_limits", "llm"); ok {
		top.auth(c)
		top.caps(c)
		top.demo(c)
		top.viewer(c)
		top.cors(c)
		top.sealedAddresses(c)
		top.rateLimits(c)
		top.llm(c)
		top.looser(c)
		top.ceiling(c)
		if !top.has("llm") && !top.has("demo") {
			p.add(top.line, "", "neither llm nor demo is given: there is nothing to guard")
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return c, nil
}
