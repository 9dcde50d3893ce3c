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

	"waymark/cmd/internal/stop"
)

func main() {
	stop.Main(func(ctx context.Context) int { return execute(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}
