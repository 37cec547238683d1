package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/urfave/cli/v3"

	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/attack"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	controlmemory "github.com/seed3e88d9a2/spendcap/internal/control/memory"
	"github.com/seed3e88d9a2/spendcap/internal/deployment"
	"github.com/seed3e88d9a2/spendcap/internal/edge"
	"github.com/seed3e88d9a2/spendcap/internal/hmackey"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
	claimsmemory "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/originlock"
	ratesmemory "github.com/seed3e88d9a2/spendcap/ratelimit/memory"
	"github.com/seed3e88d9a2/spendcap/site"
)

// dev runs the edge, the side door, the Lambda handler and a store in one process.
func dev(e env) *cli.Command {
	var o devOptions
	return &cli.Command{
		Name:      "dev",
		Category:  tryOut,
		Usage:     "run the whole system on this machine",
		UsageText: "spendcap dev [flags]",
		Description: `
Runs the whole system on this machine, with nothing else installed: the edge (plays
CloudFront), the side door (plays the API Gateway HTTP API), the same handler that
runs on Lambda, an in-process store whose counts end with the process, the demo
model and the demo page. Ctrl-C ends it. It costs nothing, unless the file names a
paid provider.

Examples:
  spendcap dev
  spendcap dev --config examples/config/openai.yaml --edge 127.0.0.1:9080
  spendcap dev --dynamodb-endpoint http://127.0.0.1:8000    # counts outlive the process
  spendcap dev --config examples/config/tiers.yaml --jwks keys.json    # signed-in callers

Environment:
  SPENDCAP_ORIGIN_SECRET  the edge's secret; unset, each run draws its own
  SPENDCAP_HMAC_KEY       the secret of the caller keys; unset, each run draws its own,
                          with --dynamodb-endpoint the first run for all (kept in the table)
                          Both: 32 visible ASCII characters or more, not the same.
                          The second may be a ring of versions, see docs/rotate.md
  OPENAI_API_KEY          the key of the provider openai
  ANTHROPIC_API_KEY       the key of the provider anthropic

JSON, once it listens: {"edge", "sideDoor", "counts", "model", "try": [{"name", "expected", "curl"}]}
`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "edge", Value: "127.0.0.1:8080", Destination: &o.edge, Usage: "`ADDRESS` of the edge"},
			&cli.StringFlag{Name: "origin", Value: "127.0.0.1:8081", Destination: &o.origin, Usage: "`ADDRESS` of the side door"},
			configFlag(&o.file),
			&cli.StringFlag{Name: "dynamodb-endpoint", Destination: &o.endpoint, Usage: "count in the DynamoDB at this `URL`, its table created if missing: for several processes, or to keep counts"},
			&cli.StringFlag{Name: "dynamodb-table", Value: deployment.LocalTable, Destination: &o.table, Usage: "`NAME` of the table there"},
			&cli.StringFlag{Name: "jwks", Destination: &o.jwks, Usage: "take the keys of auth.issuer from this `FILE` or URL, a JSON Web Key Set, and not from the issuer"},
			jsonFlag(&o.json),
		},
		Action: arguments(0, nil, func(ctx context.Context, _ *cli.Command) error { return runDev(ctx, e, o) }),
	}
}

type devOptions struct {
	edge, origin, file, endpoint, table, jwks string
	json                                      bool
}

func runDev(ctx context.Context, e env, o devOptions) error {
	cfg, err := config.LoadFile(o.file)
	if err != nil {
		return err
	}
	secrets, err := config.ReadSecrets(e.lookup)
	if err != nil {
		return err
	}
	source, err := originlock.NewStatic(secrets.Origin)
	if err != nil {
		return err
	}
	lock, err := originlock.New(ctx, originlock.Config{Source: source})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(e.stderr, nil))
	stores := stores{counts: memory.New(nil), claims: claimsmemory.New(), controls: new(controlmemory.Store), rates: ratesmemory.New()}
	counts := "in this process; they end with it"
	if o.endpoint != "" {
		if stores, err = dynamoStores(ctx, o.endpoint, o.table); err != nil {
			return err
		}
		if secrets.HMACKeyDrawn {
			if secrets.HMACKey, err = deployment.ShareLocalKey(ctx, stores.client, stores.table, secrets.HMACKey); err != nil {
				return deployment.ExplainLocal(o.endpoint, err)
			}
		}
		counts = "in table " + o.table + " at " + o.endpoint
	}
	keyer, err := hmackey.NewKeyer(secrets.HMACKey)
	if err != nil {
		return err
	}
	provider, model, err := localProvider(ctx, e, cfg.LLM)
	if err != nil {
		return err
	}
	handler, err := assemble.Handler(assemble.Parts{
		Config: cfg, Store: stores.counts, Claims: stores.claims, Control: stores.controls, Sealed: stores.sealed, Rates: stores.rates, Provider: provider,
		Lock: lock, Keyer: keyer, Logger: log,
	})
	if err != nil {
		return err
	}

	routes, err := localRoutes(cfg.Auth, o.jwks)
	if err != nil {
		return err
	}
	origin, err := listen(o.origin, "origin")
	if err != nil {
		return err
	}
	front, err := listen(o.edge, "edge")
	if err != nil {
		origin.Close()
		return err
	}
	originURL := &url.URL{Scheme: "http", Host: reachable(origin.Addr())}
	plays, err := edge.New(edge.Config{Origin: originURL, Secret: secrets.Origin, Site: site.Handler(site.Settings{SideDoor: originURL.String()})})
	if err != nil {
		return errors.Join(err, origin.Close(), front.Close())
	}
	if err := announce(e, o.json, "http://"+reachable(front.Addr()), originURL.String(), counts, model); err != nil {
		return errors.Join(err, origin.Close(), front.Close())
	}
	return serve(ctx, log,
		server{front, plays},
		server{origin, httpapi.New(httpapi.Config{Handler: handler.Handle, Routes: routes, Logger: log})})
}

// localProvider returns the provider with its API key from the environment, and says
// what it is; nil if there are no paid calls.
func localProvider(ctx context.Context, e env, c *llm.Config) (p llm.Provider, is string, err error) {
	if c == nil {
		return nil, "none: the file has no llm", nil
	}
	var key string
	if name := assemble.KeyVariable(*c); name != "" {
		key, _ = e.lookup(name)
	}
	var cloud aws.Config
	if c.Provider == llm.ProviderBedrock {
		if cloud, err = awsconfig.LoadDefaultConfig(ctx); err != nil {
			return nil, "", fmt.Errorf("AWS configuration: %w", err)
		}
	}
	p, err = assemble.Provider(*c, key, cloud)
	is = c.Provider
	if c.BaseURL != "" {
		is += " at " + c.BaseURL
	}
	return p, is, err
}

// announce says where the system is and what to try, once it listens.
func announce(e env, asJSON bool, edge, origin, counts, model string) error {
	attacks := attack.All(edge, origin)
	if asJSON {
		type try struct {
			Name     string `json:"name"`
			Expected string `json:"expected"`
			Curl     string `json:"curl"`
		}
		tries := make([]try, len(attacks))
		for i, a := range attacks {
			tries[i] = try{a.Name, a.Expected, a.Curl()}
		}
		return e.json(map[string]any{"edge": edge, "sideDoor": origin, "counts": counts, "model": model, "try": tries})
	}
	w := e.stdout
	fmt.Fprintf(w, "edge       %s  (CloudFront; the demo page is here)\nside door  %s  (the HTTP API's own URL)\ncounts     %s\nmodel      %s\n\nTry:\n", edge, origin, counts, model)
	for _, a := range attacks {
		fmt.Fprintf(w, "\n  # %s: %s\n  %s\n", a.Name, a.Expected, a.Curl())
	}
	_, err := fmt.Fprintln(w, "\nCtrl-C ends it.")
	return err
}
