package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"waymark/hub"
	"waymark/hub/client"
	"waymark/hub/store"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitNo     = 3
)

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "hub: %v\n", err)
	return exitCode(err)
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, hub.ErrUsage):
		return exitUsage
	case errors.Is(err, store.ErrNotFound), errors.Is(err, errNotReady), errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrUnreachable):
		return exitNo
	}
	return exitFailed
}

// usageError marks an error as the user's, and says where help is.
type usageError struct {
	err  error
	help string
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v (see %s --help)", e.err, e.help)
}
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == hub.ErrUsage }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hub",
		Short: "Keep and show the context snapshots of workspace agents",
		Long: `hub is the control plane of Waymark: agents push snapshots of what they found
in their workspaces, hub keeps the newest of each and shows them over HTTP.`,
		Example: `  hub serve
  hub token create --role reader
  hub token create --role agent --agent dev-1
  hub agents
  hub context dev-1
  hub login`,
		SilenceErrors: true, // execute prints them
		SilenceUsage:  true, // a page of flags hides the one line that matters
	}
	group(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%w", err) })
	root.AddCommand(newServe(), newBackup(), newRestore(), newReady(), newToken(), newVersion())
	root.AddCommand(newAgents(), newContext(), newPins(), newDiff(), newEvents(), newLogin())
	return root
}

// group makes cmd one that only has subcommands: alone it shows its help, and
// a subcommand it doesn't have is wrong usage.
func group(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usage(cmd, "unknown command %q, did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return usage(cmd, "unknown command %q", args[0])
	}
}

// exactly takes as many arguments as there are names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return usage(cmd, "unexpected argument %q", args[len(names)])
		case len(args) < len(names):
			return usage(cmd, "%s is missing", names[len(args)])
		}
		return nil
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "hub %s %s %s/%s\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// programVersion is what the program was built from.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
