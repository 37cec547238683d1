// Command spendcap is the operator's tool: it runs the whole system on one machine,
// tries the forgeries against it, tells what a call can cost, and shows and steers a
// deployment.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, env{os.Stdout, os.Stderr, os.LookupEnv, time.Now}, os.Args[1:]))
}
