package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed3e88d9a2/spendcap/internal/smoke"
)

// smokeTest tries what only a real deployment can show.
func smokeTest(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "smoke", `Usage: spendcap smoke -origin URL URL

Says pass or fail for each promise that only a real deployment can keep: forged
headers through the edge, the side door, IPv6 if it can be reached, no caching of
errors, HTTPS, and the header that the edge sets. URL is the site's, -origin the
side door's, as the stack's outputs have them. It counts a few demo calls.
The exit code is 0 if every promise is kept.
`)
	origin := f.String("origin", "", "`URL` of the side door (the API's own URL)")
	if err := parse(e, f, args, 1); err != nil {
		return err
	}
	if f.NArg() != 1 || *origin == "" {
		fmt.Fprintln(e.stderr, "spendcap smoke: the site's URL and -origin are needed")
		f.Usage()
		return errUsage
	}
	ok, err := smoke.Run(ctx, f.Arg(0), *origin, e.stdout)
	if err == nil && !ok {
		err = errors.New("not every promise is kept")
	}
	return err
}
