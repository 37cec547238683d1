package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/internal/attack"
)

// demo sends the three forgeries and says for each what was expected and what came.
func demo(e env) *cli.Command {
	var origin string
	var asJSON bool
	return &cli.Command{
		Name:      "demo",
		Category:  tryOut,
		Usage:     "try the three forgeries",
		UsageText: "spendcap demo [flags] [URL]",
		Description: `
Tries the three forgeries against a running system and says for each what was
expected and what came. URL is the edge, by default http://127.0.0.1:8080. Two of
them count a demo call of your own. The exit code is 0 if every forgery failed as it
should.

Examples:
  spendcap demo
  spendcap demo --origin https://abc123.execute-api.eu-west-1.amazonaws.com https://d111111abcdef8.cloudfront.net

JSON: {"ok": bool, "forgeries": [{"name", "curl", "expected", "status", "body", "ok"}]}
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "origin", Value: "http://127.0.0.1:8081", Destination: &origin, Usage: "`URL` of the side door (the origin's own URL)"},
			jsonFlag(&asJSON),
		},
		Action: arguments(0, []string{"URL"}, func(ctx context.Context, cmd *cli.Command) error {
			edge := "http://127.0.0.1:8080"
			if cmd.Args().Present() {
				edge = cmd.Args().First()
			}
			var results []attack.Result
			failed := 0
			for _, a := range attack.All(edge, origin) {
				r, err := a.Send(ctx, http.DefaultClient)
				if err != nil {
					return err
				}
				results = append(results, r)
				if !r.OK {
					failed++
				}
				if !asJSON {
					fmt.Fprintln(e.stdout, r)
				}
			}
			if asJSON {
				if err := e.json(map[string]any{"ok": failed == 0, "forgeries": results}); err != nil {
					return err
				}
			}
			if failed > 0 {
				return fmt.Errorf("%d of the forgeries did not end as expected", failed)
			}
			return nil
		}),
	}
}
