// Command supervisor holds the processes that an agent has started, so that they outlive
// it. Agents start it; people needn't.
//
// It is small, because one runs for each workspace with processes: it has no server, no
// sandbox and no command line library.
//
// Exit codes: 0, 1 failed, 2 wrong usage, 3 another supervisor holds the directory.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"waymark/workspace/supervisor"
)

const usage = `supervisor holds the processes that a Waymark agent has started: they outlive
the agent, and their output is kept. Agents start it by themselves.

Usage:
  supervisor supervise DIR   hold the processes of a state directory, until
                             there is none
  supervisor version         print the version

DIR is absolute. The agent has written down there where to listen and what to
keep, and it is where output, journal and log are.

What is held is seen with "agent ps" and ended with "agent kill"; "agent stop"
ends all of it. SIGTERM ends the supervisor with all that it holds.

Example:
  supervisor supervise ~/.local/state/waymark/…/processes
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	for _, role := range supervisor.Roles() {
		if len(args) > 0 && args[0] == role.Name {
			return role.Main(args[1:])
		}
	}
	if len(args) == 1 {
		switch args[0] {
		case "help", "-h", "--help":
			fmt.Fprint(stdout, usage)
			return 0
		case "version", "--version":
			fmt.Fprintf(stdout, "supervisor %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return 0
		}
	}
	fmt.Fprint(stderr, usage)
	return 2
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
