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

	"waymark/cmd/harness/internal/extism"
	"waymark/cmd/internal/stop"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
)

func main() {
	// First: this may be a process that only compiles, or runs one module.
	program := reexec.Main(sandbox.CompileRole(), extism.Role())
	stop.Main(func(ctx context.Context) int {
		a := app{compiler: program, extism: extism.NewChild(program), stdout: os.Stdout, stderr: os.Stderr}
		return a.run(ctx, os.Args[1:])
	})
}
