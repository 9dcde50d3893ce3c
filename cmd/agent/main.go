// Command agent finds what AI coding agents need to know about a workspace and pushes it to
// a hub. See `agent --help`.
//
// Exit codes: 0, 1 failed, 2 wrong usage, 3 "no": nothing is running, or nothing was found.
package main

import (
	"context"
	"os"

	"waymark/agent"
	"waymark/cmd/internal/stop"
	"waymark/host/builtin"
	"waymark/internal/reexec"
)

func main() {
	self := reexec.Main(agent.Roles()...) // first, because this process may only be a compiler, for example
	stop.Main(func(ctx context.Context) int {
		a := app{Program: agent.Program{Builtin: builtin.Module, Digest: builtin.Digest, Native: builtin.Native, Release: builtin.Release, Compiler: self, Self: self}, stdout: os.Stdout, stderr: os.Stderr}
		return a.run(ctx, os.Args[1:])
	})
}
