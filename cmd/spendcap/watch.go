package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed3e88d9a2/spendcap/internal/status"
)

// watch shows what look sees until ctx ends, which is no failure. On a terminal it draws
// over what it drew. If it cannot look the first time, that is a failure; later it says
// so and goes on.
func (e env) watch(ctx context.Context, o statusOptions, look func() (*status.Report, error)) error {
	redraw := isTerminal(e.stdout) && !o.json
	ticks := time.NewTicker(o.interval)
	defer ticks.Stop()
	for shown := false; ; {
		report, err := look()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !shown:
			return err
		case err != nil:
			fmt.Fprintf(e.stderr, "spendcap status: %v; looking again in %v\n", err, o.interval)
		default:
			if redraw {
				fmt.Fprint(e.stdout, "\x1b[H\x1b[2J") // home, and clear the screen
			}
			if err := e.show(report, o.json); err != nil {
				return err
			}
			shown = true
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}
