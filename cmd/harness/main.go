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

	"waymark/host/sandbox"
)

func main() {
	compiler := sandbox.MaybeCompile() // first: this may be a process that only compiles
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := app{compiler: compiler, stdout: os.Stdout, stderr: os.Stderr}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
