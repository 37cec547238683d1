package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/operator"
)

// unblock takes the blocks of one caller back.
func unblock(e env) *cli.Command {
	var o deployment.Options
	var file, as string
	var asJSON bool
	return &cli.Command{
		Name:      "unblock",
		Category:  operate,
		Usage:     "take the block of one caller back",
		UsageText: "spendcap unblock [flags] KEY|ADDRESS",
		Description: `
Takes every block of the caller back: with an ADDRESS those by address and by a key of
today, with a KEY the one that has it, as ` + "`spendcap blocks`" + ` shows it. It takes hold within
five seconds. It is a failure if the caller is not blocked.
` + addressHelp + keyHelp + `
It reads one item of the table twice and writes two, and one more for each block, to
erase the address if one was sealed for it (docs/privacy.md).

Examples:
  spendcap unblock 198.51.100.10
  spendcap unblock 6011c47ed6d35fc773febedea26a8a1b
` + changeHelp + whichHelp + `, dynamodb:GetItem, dynamodb:PutItem and dynamodb:UpdateItem.
`,
		Flags: append(append([]cli.Flag{asFlag(&as), jsonFlag(&asJSON)}, addressFlags(&o, &file)...), deploymentFlags(&o)...),
		Action: arguments(1, []string{"KEY or ADDRESS"}, func(ctx context.Context, cmd *cli.Command) error {
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				keys, err := c.keysOf(ctx, file, cmd.Args().First())
				if err != nil {
					return err
				}
				op, err := c.operator(ctx, as, nil)
				if err != nil {
					return err
				}
				erased, err := c.eraseFirst(ctx, keys)
				if err != nil {
					return err
				}
				r, err := op.Unblock(ctx, keys...)
				if errors.Is(err, control.ErrUnchanged) {
					return errors.New("this caller is not blocked; `spendcap blocks` tells who is")
				}
				if err == nil {
					err = c.erase(ctx, slices.DeleteFunc(slices.Clone(r.Old.Blocks), func(b control.Block) bool { return slices.Contains(erased, b) }))
				}
				return c.tell(r, err, asJSON, func(r control.Record) string {
					return fmt.Sprintf("Unblocked by %s; it takes hold within five seconds.", r.By)
				})
			})
		}),
	}
}

// keysOf are the keys by which a caller may be blocked.
func (c *controls) keysOf(ctx context.Context, file, name string) ([]string, error) {
	if operator.IsKey(name) {
		return []string{name}, nil
	}
	cfg, err := config.LoadFile(file)
	if err != nil {
		return nil, err
	}
	caller, err := operator.ParseCaller(cfg.Mask, name)
	if err != nil {
		return nil, err
	}
	keyer, err := c.deployment.Keyer(ctx)
	if err != nil {
		return nil, err
	}
	return control.KeysOf(keyer, caller, caps.DayOf(c.now()), operator.Names(operator.ByAddress(cfg))...), nil
}
