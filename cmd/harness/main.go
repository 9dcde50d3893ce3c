// Command harness is for authors of resolvers: it creates, builds, runs, tests and measures
// one, with the agent's engine. See `harness --help`.
//
// Exit codes: 0, 1 failed, 2 wrong usage, 3 "no": the module wouldn't be admitted.
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
	// First: this process may be one that only compiles, or runs one module.
	program := reexec.Main(sandbox.CompileRole(), extism.Role())
	stop.Main(func(ctx context.Context) int {
		a := app{compiler: program, extism: extism.NewChild(program), stdout: os.Stdout, stderr: os.Stderr}
		return a.run(ctx, os.Args[1:])
	})
}
