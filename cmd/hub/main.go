// Command hub is Waymark's control plane: it takes the context snapshots that
// agents push, keeps the newest of each, and shows them through an HTTP API.
//
// hub serve runs it, hub token makes the tokens that agents and readers need;
// hub help says more. Logs go to stderr, stdout carries only what was asked
// for. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no (not found).
//
// All work is in package hub; here is only the command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the second one kills, should stopping hang.
	context.AfterFunc(ctx, stop)
	return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
