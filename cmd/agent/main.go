// Command agent finds what AI coding agents need to know about a workspace
// and pushes it to a hub. See `agent --help`.
//
// Exit codes: 0, 1 failed, 2 wrong usage, 3 "no": nothing runs, not found.
package main

import (
	"context"
	"os"

	"waymark/cmd/internal/stop"
	"waymark/host/builtin"
	"waymark/host/sandbox"
	"waymark/internal/reexec"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

// roles are what the program does as a child of itself, or detached from it.
func roles() []reexec.Role {
	return append(supervisor.Roles(), sandbox.CompileRole(), launch.Role())
}

func main() {
	self := reexec.Main(roles()...) // first: this may be a process that only compiles, say
	stop.Main(func(ctx context.Context) int {
		a := app{program: program{builtin: builtin.Module, digest: builtin.Digest, native: builtin.Native, release: builtin.Release, compiler: self, self: self}, stdout: os.Stdout, stderr: os.Stderr}
		return a.run(ctx, os.Args[1:])
	})
}
