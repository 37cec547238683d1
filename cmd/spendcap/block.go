package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/control"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/operator"
)

// addressHelp is what the commands that take an address say of it.
const addressHelp = `
ADDRESS is an IPv4 or IPv6 address, or a prefix as wide as the file counts, such as
2001:db8::/64. It is turned into a key on this machine. The secret for that comes from
SPENDCAP_HMAC_KEY, or --hmac-secret, or the stack's secret in Secrets Manager
(secretsmanager:GetSecretValue), or a local system's table.
`

// keyHelp is what those that also take a key say of it.
const keyHelp = `
KEY is a caller key of today, 32 hexadecimal digits, as ` + "`spendcap status`" + ` shows them.
`

// block refuses one caller.
func block(e env) *cli.Command {
	var o deployment.Options
	var file, as string
	var howLong time.Duration
	var asJSON bool
	return &cli.Command{
		Name:      "block",
		Category:  operate,
		Usage:     "refuse one caller",
		UsageText: "spendcap block [--for TIME] [flags] KEY|ADDRESS",
		Description: `
Refuses every call of one caller within five seconds, on every instance, without a
deployment. A block of an ADDRESS lasts until ` + "`spendcap unblock`" + `, or for the time that
--for gives. A KEY stands for its caller until midnight UTC only, and so does its block.
Blocking again changes the time. There are at most 1,000 blocks. If an ADDRESS has called
nothing today, it is blocked all the same, and standard error says so: the secret may not
be the deployment's.
` + addressHelp + keyHelp + `
If the file has sealed_addresses, the address is stored beside the block, sealed for
whoever has the private key of ` + "`spendcap seal-key`" + `, until the block ends; of a KEY it is the
address from which the caller calls next (docs/privacy.md). Otherwise it is not stored.

It reads a few items of the table and writes two, or three with sealed_addresses.

Examples:
  spendcap block 198.51.100.10
  spendcap block 2001:db8::/64 --for 24h
  spendcap block 6011c47ed6d35fc773febedea26a8a1b
` + changeHelp + whichHelp + `, dynamodb:GetItem and dynamodb:PutItem, and
dynamodb:UpdateItem with sealed_addresses.
`,
		Flags: append(append([]cli.Flag{
			&cli.DurationFlag{Name: "for", Destination: &howLong, DefaultText: "until unblocked, a key until midnight UTC", Usage: "the `TIME` that the block lasts, such as 90m or 24h"},
			asFlag(&as),
			jsonFlag(&asJSON),
		}, addressFlags(&o, &file)...), deploymentFlags(&o)...),
		Action: arguments(1, []string{"KEY or ADDRESS"}, func(ctx context.Context, cmd *cli.Command) error {
			if howLong < 0 || cmd.IsSet("for") && howLong == 0 {
				return misuse(cmd, "--for %v is not in the future", howLong)
			}
			return find(ctx, e, o, func(d *deployment.Deployment) error {
				c, err := controlsOf(e, d)
				if err != nil {
					return err
				}
				cfg, err := config.LoadFile(file)
				if err != nil {
					return err
				}
				b, caller, err := c.blockOf(ctx, cfg, cmd.Args().First())
				if err != nil {
					return err
				}
				if howLong > 0 {
					b.Until = e.now().Add(howLong)
				}
				op, err := c.operator(ctx, as, nil)
				if err != nil {
					return err
				}
				r, err := op.Block(ctx, b)
				if err == nil {
					err = c.seal(ctx, cfg, r.New.Blocks[0], caller)
				}
				return c.tell(r, err, asJSON, func(r control.Record) string {
					b := r.New.Blocks[0]
					return fmt.Sprintf("Blocked by %s, %s; it takes hold within five seconds.\nkey  %s", r.By, until(b.End(), e.now(), "until `spendcap unblock`"), b.Key)
				})
			})
		}),
	}
}

// blockOf is the block of a caller that is named by a key of today or by an address, and
// the caller if it is known.
func (c *controls) blockOf(ctx context.Context, cfg *config.Config, name string) (control.Block, caps.Caller, error) {
	if !operator.IsKey(name) {
		caller, err := operator.ParseCaller(cfg.Mask, name)
		if err != nil {
			return control.Block{}, caps.Caller{}, err
		}
		keyer, err := c.deployment.Keyer(ctx)
		if err != nil {
			return control.Block{}, caps.Caller{}, err
		}
		return control.AddressBlock(keyer, caller, caps.DayOf(c.now())), caller, c.noteUnseen(ctx, cfg, keyer, caller)
	}
	store, err := c.deployment.Store()
	if err != nil {
		return control.Block{}, caps.Caller{}, err
	}
	item, err := operator.ItemOf(ctx, store, name, caps.DayOf(c.now()), operator.Counted(cfg))
	return control.KeyBlock(item), caps.Caller{}, err
}

// noteUnseen says so if an address has used nothing today. It is all that shows a secret
// that is not the deployment's, with which a block refuses nobody.
func (c *controls) noteUnseen(ctx context.Context, cfg *config.Config, keyer *caps.Keyer, caller caps.Caller) error {
	store, err := c.deployment.Store()
	if err != nil {
		return err
	}
	buckets, err := operator.Buckets(ctx, store, keyer, caller, caps.DayOf(c.now()), operator.ByAddress(cfg))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(buckets, func(b operator.Bucket) bool { return b.Calls > 0 }) {
		fmt.Fprintln(c.stderr, "spendcap block: by the secret of the caller keys that is used here, this address has called nothing today. If it has, the secret is not the deployment's, and the block refuses nobody")
	}
	return nil
}
