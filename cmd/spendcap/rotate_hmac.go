package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
)

// rotateHMAC adds a version to the secret of the caller keys.
func rotateHMAC(e env) *cli.Command {
	var o deployment.Options
	var write, asJSON bool
	return &cli.Command{
		Name:      "rotate-hmac",
		Category:  operate,
		Usage:     "change the secret of the caller keys, from a midnight on",
		UsageText: "spendcap rotate-hmac [flags]",
		Description: `
Draws a new secret for the caller keys and adds it to the ones in Secrets Manager, with
the first day that it serves: the first that begins 12 hours or more from now, in UTC.
Until that midnight everybody is counted as before, so nobody's count starts again in
the middle of a day. Nothing has to be restarted: every instance reads the secret again
within 15 minutes, and one that cannot refuses calls rather than count on a day that it
may have the wrong secret for.

Without --yes it writes nothing and tells what it would do. Secrets that have not served
for eight days are dropped, unless a block is still known under them. docs/rotate.md has
what to do when a secret has leaked.

Examples:
  spendcap rotate-hmac
  spendcap rotate-hmac --yes

JSON: {"secret", "today": version, "new": {"version", "from"}, "kept": [version],
"keptForBlocks": [version], "dropped": [version], "written": bool}.
` + whichHelp + `, dynamodb:GetItem,
secretsmanager:GetSecretValue and secretsmanager:PutSecretValue on the secret.
`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "yes", Destination: &write, Usage: "write it"},
			&cli.StringFlag{Name: "hmac-secret", Destination: &o.HMACSecret, DefaultText: "the stack's", Usage: "`NAME` or ARN of the secret in Secrets Manager"},
			jsonFlag(&asJSON),
		}, deploymentFlags(&o)...),
		Action: arguments(0, nil, func(ctx context.Context, _ *cli.Command) error {
			return find(ctx, e, o, func(d *deployment.Deployment) error { return runRotateHMAC(ctx, e, d, write, asJSON) })
		}),
	}
}

func runRotateHMAC(ctx context.Context, e env, d *deployment.Deployment, write, asJSON bool) error {
	secret, err := d.HMACSecret(ctx)
	if err != nil {
		return err
	}
	c, err := controlsOf(e, d)
	if err != nil {
		return err
	}
	set, err := c.state(ctx)
	if err != nil {
		return err
	}
	value, version, err := secret.Read(ctx)
	if err != nil {
		return err
	}
	keyer, err := hmackey.NewKeyer(value)
	if err != nil {
		return err
	}
	now := e.now()
	plan, err := hmackey.Plan(value, now, set.KeyVersions())
	if err != nil {
		return err
	}
	if write {
		if err := secret.Write(ctx, plan.Value, version); err != nil {
			return err
		}
	}
	today := keyer.Version(caps.DayOf(now))
	if asJSON {
		return e.json(rotated(secret.ID, today, plan, write))
	}
	fmt.Fprintf(e.stdout, "secret   %s\ntoday    version %s\nnew      version %s, serves from %s (in %v)\nkept     %s\n",
		secret.ID, today, plan.ID, plan.From.Start().Format(time.RFC3339), plan.From.Start().Sub(now).Round(time.Minute), list(plan.Kept))
	if len(plan.Blocked) > 0 {
		fmt.Fprintf(e.stdout, "         of these for blocks alone: %s\n", list(plan.Blocked))
	}
	fmt.Fprintf(e.stdout, "dropped  %s\n", list(plan.Dropped))
	if write {
		_, err = fmt.Fprintln(e.stdout, "It is written.")
	} else {
		_, err = fmt.Fprintln(e.stdout, "Nothing is written. Do it with --yes.")
	}
	return err
}

func list(versions []string) string {
	if len(versions) == 0 {
		return "none"
	}
	return strings.Join(versions, ", ")
}

// rotated is a rotation as JSON, without its secrets.
func rotated(secret, today string, r hmackey.Rotation, written bool) any {
	type added struct {
		Version string `json:"version"`
		From    string `json:"from"`
	}
	some := func(versions []string) []string { return append([]string{}, versions...) } // never null
	return struct {
		Secret        string   `json:"secret"`
		Today         string   `json:"today"`
		New           added    `json:"new"`
		Kept          []string `json:"kept"`
		KeptForBlocks []string `json:"keptForBlocks"`
		Dropped       []string `json:"dropped"`
		Written       bool     `json:"written"`
	}{secret, today, added{r.ID, r.From.String()}, some(r.Kept), some(r.Blocked), some(r.Dropped), written}
}
