package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/stop"
)

// app is the program: what its commands share. The tests run it with another
// built-in module.
type app struct {
	agent.Program

	stdout, stderr io.Writer

	log cli.LogFlags
}

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	completions().Apply(root, args)
	root.SetArgs(args)
	return cli.Report(a.stderr, "agent", root.ExecuteContext(ctx))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Find what AI coding agents need to know about a workspace, and push it to a hub",
		Long: `An agent looks into a workspace for what AI coding agents need to know: instruction
files (AGENTS.md, CLAUDE.md, .cursorrules), skills and MCP configurations. It makes a
snapshot of what it finds and pushes it to a hub whenever it changes, where others read
it. What finds things are resolvers, sandboxed WebAssembly modules: some are built in,
others are dropped into a plugin directory.

'agent resolve' shows at once what is found here. 'agent run' goes on with it; the other
commands ask a running agent: the one of the directory in which they are called, or of
the nearest one above it; those that change nothing, else the only one that runs.
--listen names another.`,
		Example: `  agent run                     watch over this directory, with your own hub
  agent resolve                 show what is found here, once
  agent status                  ask the running agent how it is doing
  agent doctor                  look for what keeps it from working well here
  agent why CLAUDE.md           say whether a file is in the context, and why
  agent for src/main.go         say which instructions and rules apply to a file`,
	}
	a.log.Add(root, "log more")
	a.Progress, a.Version = a.progress, cli.CurrentVersion().Version
	a.Attach = func(ctx context.Context, words *[5]uint64, beat func()) { stop.Attach(ctx, (*stop.Words)(words), beat) }
	root.AddCommand(a.runCommand(), a.enrollCommand(), a.resolveCommand(), a.statusCommand(), a.snapshotCommand(), a.resyncCommand(),
		a.whyCommand(), a.forCommand(), a.contextCommand(), a.sourcesCommand(), a.listCommand(), a.rootDirCommand(), a.readyCommand(),
		a.execCommand(), a.psCommand(), a.logsCommand(), a.killCommand(), a.gitCommand(), a.mcpCommand(), a.connectCommand(), a.pluginsCommand(), a.configCommand(), a.doctorCommand(), a.tokenCommand(), a.auditCommand(), a.stopCommand(), cli.VersionCommand("agent", a.stdout, abi.Version))
	cli.Root(root, a.stdout, a.stderr)
	return root
}

// logger makes the program's logger.
func (a *app) logger() (*slog.Logger, error) {
	level := slog.LevelInfo
	if a.log.Verbose {
		level = slog.LevelDebug
	}
	return a.log.Logger(a.stderr, level)
}
