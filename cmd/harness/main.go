// Command harness is for people who write resolvers: it makes a new one, builds
// it, runs it, tests it and measures it, with the engine that the agent has. See
// `harness --help`.
//
// Exit codes: 0, 1 failed, 2 wrong usage, 3 "no": the module wouldn't be
// admitted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"waymark/cmd/harness/internal/stock"
	"waymark/host/sandbox"
)

func main() {
	// First: this may be a process that only compiles, or runs one module.
	compiler, child := sandbox.MaybeCompile(), stock.MaybeRun()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := app{compiler: compiler, stock: child, stdout: os.Stdout, stderr: os.Stderr}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
