// Command hub is Waymark's control plane: it receives the context snapshots that agents
// push, stores the newest of each, and shows them through an HTTP API.
//
// hub serve runs it, hub token makes the tokens for agents and readers; hub help says more.
// Logs go to stderr, and only results to stdout. Exit codes: 0 done, 1 failed, 2 wrong
// usage, 3 no (not found).
//
// Package hub does the work; this package is only the command line.
package main

import (
	"context"
	"os"

	"waymark/cmd/internal/stop"
)

func main() {
	stop.Main(func(ctx context.Context) int { return execute(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}
