package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/running"
	"waymark/internal/reexec"
)

// app is the program: what its commands share. The tests run it with another
// built-in module.
type app struct {
	// builtin returns the built-in resolver module.
	builtin func() ([]byte, error)
	// native returns its native code, compiled ahead of time; it may be nil.
	native func() io.Reader
	// release gives back what reading these has taken; it may be nil.
	release func()
	// compiler compiles other modules; nil means that this process does.
	compiler *reexec.Program
	// patience stands in for the limits of time that are right for people, and
	// too short for tests on a machine that stands still for some seconds. 0
	// leaves them as they are.
	patience time.Duration

	stdout, stderr io.Writer

	// record is where it is noted which modules run; nil until note. Calls stands
	// in for it where a test looks on.
	record *running.Record
	calls  func(*running.Record) host.Running

	logFormat string
	verbose   bool
}

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(a.stderr, "agent:", err)
	var bad *config.Error
	if errors.As(err, &bad) {
		_, _ = fmt.Fprint(a.stderr, bad.Excerpt())
	}
	return cli.Code(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent",
		Short: "Find what AI coding agents need to know about a workspace, and push it to a hub",
		Long: `Waymark's agent looks into a workspace for instruction files, skills and MCP
configurations, by means of sandboxed resolvers, and keeps a control plane
informed about them.`,
		Example: `  agent run                     watch over the current directory, with a hub of its own
  agent resolve                 show what is found here, once
  agent status                  ask the running agent how it is doing
  agent why CLAUDE.md           say whether a file is in the context, and if not, why`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.PersistentFlags().StringVar(&a.logFormat, "log-format", "text", "how to write logs to standard error: text or json")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	root.AddCommand(a.runCommand(), a.resolveCommand(), a.statusCommand(), a.snapshotCommand(), a.resyncCommand(),
		a.whyCommand(), a.sourcesCommand(), a.rootDirCommand(), a.readyCommand(), a.pluginsCommand(), a.configCommand(), cli.VersionCommand("agent", a.stdout))
	root.InitDefaultCompletionCmd() // so that what follows knows it
	a.completions(root)
	cli.Wrong(root)
	return root
}

// logger makes the program's logger.
func (a *app) logger() (*slog.Logger, error) {
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	return cli.Logger(a.stderr, a.logFormat, level)
}
