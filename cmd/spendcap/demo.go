package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed3e88d9a2/spendcap/internal/attack"
)

// demo sends the three forgeries and says for each what was expected and what came.
func demo(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "demo", `Usage: spendcap demo [-origin URL] [URL]

Tries the three forgeries against a running system and says for each what was
expected and what came. URL is the edge, by default http://127.0.0.1:8080.
The exit code is 0 if every forgery failed as it should.
`)
	origin := f.String("origin", "http://127.0.0.1:8081", "URL of the side door (the origin's own URL)")
	if err := parse(e, f, args, 1); err != nil {
		return err
	}
	edge := "http://127.0.0.1:8080"
	if f.NArg() == 1 {
		edge = f.Arg(0)
	}
	failed := 0
	for _, a := range attack.All(edge, *origin) {
		ok, err := a.Send(ctx, http.DefaultClient, e.stdout)
		if err != nil {
			return err
		}
		if !ok {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of the forgeries did not end as expected", failed)
	}
	return nil
}
