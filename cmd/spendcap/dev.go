package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"golang.org/x/sync/errgroup"

	"github.com/seed3e88d9a2/spendcap/caps/memory"
	"github.com/seed3e88d9a2/spendcap/internal/assemble"
	"github.com/seed3e88d9a2/spendcap/internal/attack"
	"github.com/seed3e88d9a2/spendcap/internal/config"
	"github.com/seed3e88d9a2/spendcap/internal/edge"
	"github.com/seed3e88d9a2/spendcap/internal/httpapi"
	claimsmemory "github.com/seed3e88d9a2/spendcap/internal/idempotency/memory"
	"github.com/seed3e88d9a2/spendcap/llm"
	"github.com/seed3e88d9a2/spendcap/originlock"
	"github.com/seed3e88d9a2/spendcap/site"
)

// dev runs the edge, the side door, the Lambda handler and a store in one process.
func dev(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "dev", `Usage: spendcap dev [flags]

Runs the whole system on this machine, with nothing else installed: the edge (plays
CloudFront), the side door (plays the API Gateway HTTP API), the same handler that
runs on Lambda, an in-process store whose counts end with the process, the demo
model and the demo page. Ctrl-C ends it.

Environment:
  SPENDCAP_ORIGIN_SECRET  the edge's secret; unset, each run draws its own
  SPENDCAP_HMAC_KEY       the secret of the caller keys; unset, each run draws its own,
                          with -dynamodb-endpoint the first run for all (kept in the table)
                          Both: 32 visible ASCII characters or more, not the same.
  OPENAI_API_KEY          the key of the provider openai
  ANTHROPIC_API_KEY       the key of the provider anthropic
`)
	edgeAddr := f.String("edge", "127.0.0.1:8080", "`address` of the edge")
	originAddr := f.String("origin", "127.0.0.1:8081", "`address` of the side door")
	file := f.String("config", "spendcap.yaml", "the operator's `file`")
	endpoint := f.String("dynamodb-endpoint", "", "count in the DynamoDB at this `URL`, its table created if missing: for several processes, or to keep counts")
	table := f.String("dynamodb-table", "spendcap", "`name` of the table there")
	if err := parse(e, f, args, 0); err != nil {
		return err
	}

	cfg, err := config.LoadFile(*file)
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
	stores := stores{counts: memory.New(nil), claims: claimsmemory.New()}
	counts := "in this process; they end with it"
	if *endpoint != "" {
		if stores, err = dynamoStores(ctx, *endpoint, *table); err != nil {
			return err
		}
		if secrets.HMACKeyDrawn {
			if secrets.HMACKey, err = stores.sharedKey(ctx, secrets.HMACKey); err != nil {
				return fmt.Errorf("-dynamodb-endpoint %s: %w", *endpoint, err)
			}
		}
		counts = "in table " + *table + " at " + *endpoint
	}
	provider, model, err := localProvider(ctx, e, cfg.LLM)
	if err != nil {
		return err
	}
	handler, err := assemble.Handler(assemble.Parts{
		Config: cfg, Store: stores.counts, Claims: stores.claims, Provider: provider,
		Lock: lock, HMACKey: []byte(secrets.HMACKey), Logger: log,
	})
	if err != nil {
		return err
	}

	origin, err := listen(*originAddr, "origin")
	if err != nil {
		return err
	}
	front, err := listen(*edgeAddr, "edge")
	if err != nil {
		origin.Close()
		return err
	}
	originURL := &url.URL{Scheme: "http", Host: reachable(origin.Addr())}
	plays, err := edge.New(edge.Config{Origin: originURL, Secret: secrets.Origin, Site: site.Handler()})
	if err != nil {
		return errors.Join(err, origin.Close(), front.Close())
	}
	banner(e.stdout, "http://"+reachable(front.Addr()), originURL.String(), counts, model)
	return serve(ctx, log,
		server{front, plays},
		server{origin, httpapi.New(httpapi.Config{Handler: handler.Handle})})
}

// reachable is how a listener is reached from this machine: one on every address, on
// loopback.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

func listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is taken by another program; choose another address with -%s HOST:PORT", addr, flag)
	case err != nil:
		return nil, fmt.Errorf("-%s: %w", flag, err)
	}
	return l, nil
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

func banner(w io.Writer, edge, origin, counts, model string) {
	fmt.Fprintf(w, "edge       %s  (CloudFront; the demo page is here)\nside door  %s  (the HTTP API's own URL)\ncounts     %s\nmodel      %s\n\nTry:\n", edge, origin, counts, model)
	for _, a := range attack.All(edge, origin) {
		fmt.Fprintf(w, "\n  # %s: %s\n  %s\n", a.Name, a.Expected, a.Curl())
	}
	fmt.Fprintln(w, "\nCtrl-C ends it.")
}

type server struct {
	listener net.Listener
	handler  http.Handler
}

// serve runs the servers until one fails or ctx ends, then lets running requests
// finish for a few seconds. Edges come first: they stop before what they ask.
func serve(ctx context.Context, log *slog.Logger, servers ...server) error {
	group, ctx := errgroup.WithContext(ctx)
	var running []*http.Server
	for _, s := range servers {
		h := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
		running = append(running, h)
		group.Go(func() error {
			if err := h.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		for _, h := range running {
			if h.Shutdown(grace) != nil {
				h.Close()
			}
		}
		return nil
	})
	return group.Wait()
}
