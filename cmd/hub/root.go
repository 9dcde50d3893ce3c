package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub"
	"waymark/hub/store"
)

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	completions.Apply(root, args)
	root.SetArgs(args)
	return cli.Report(stderr, "hub", coded(root.ExecuteContext(ctx)))
}

// completions are those that commands don't set themselves.
var completions = cli.Completions{Arguments: map[string]cobra.CompletionFunc{
	"hub backup": nil, "hub restore": nil, "hub approvals add": nil, // files
}}

// coded gives errors of the packages below their exit codes.
func coded(err error) error {
	switch {
	case errors.Is(err, hub.ErrUsage):
		return &cli.Error{Code: cli.CodeUsage, Err: err}
	case errors.Is(err, store.ErrNotFound), errors.Is(err, errNotReady):
		return &cli.Error{Code: cli.CodeNo, Err: err}
	}
	return err
}

// usage returns the error of a wrong command line, which says where help is.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return cli.Usage(format+"; see '%s --help'", append(args, cmd.CommandPath())...)
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "hub",
		Short: "Store and show the context snapshots of workspace agents",
		Long: `Hub is the control plane of Waymark: agents push snapshots of the context in their
workspaces; the hub stores them and serves them over HTTP.

'hub serve' runs it. agents, context, pins, diff, events, search and login ask a running
hub with a reader's token. What changes a hub (token, enroll, webhook, approvals, agents
label, rename and remove, backup) needs an operator's token, or the database itself, on its
machine: --db or HUB_DB.

'agent run' has its own hub, so a single machine needs no setup.`,
		Example: `  hub serve                        run a hub on this machine
  hub token create --role agent    create a token for an agent
  hub token create --role reader   create a token for a reader
  hub agents                       list the agents
  hub context dev-1                show what one of them has pushed
  hub login                        print a link to the hub's page`,
	}
	root.AddCommand(newServe(), newBackup(), newRestore(), newReady(), newToken(), newEnroll(), newWebhook(), newProfile(), newTLS(), cli.VersionCommand("hub", stdout, 0))
	root.AddCommand(newAgents(), newContext(), newPins(), newDiff(), newAudit(), newSearch(), newEvents(), newLogin(), newApprovals())
	cli.Root(root, stdout, stderr)
	return root
}
