package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

func (a *app) rootDirCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "root DIR",
		Short: "Set the running agent's working directory",
		Long: `Root gives the running agent another working directory, or its first one if it was
started with --root "". Relative paths of the environment are then resolved against it.
The agent keeps its identity and its sources.`,
		Example: `  agent run --root "" &
  agent root ~/project`,
		Args: cli.Named("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := absolutePath(args[0])
			if err != nil {
				return err
			}
			c, err := conn.clientFor(func(i *agent.Instance) bool { return i.Root == "" }) // that has no project yet
			if err != nil {
				return err
			}
			if err := c.SetRoot(cmd.Context(), path); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "the root is %s\n", cli.Visible(path))
			return err
		},
	}
	conn.addFlags(cmd)
	return cmd
}

func (a *app) readyCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "End the wait of --wait-for, and make the first snapshot now",
		Long: `An agent that was started with 'agent run --wait-for FILE' waits until that file exists,
because an incomplete clone of a workspace would give an incomplete snapshot. Ready ends
this wait at once. The exit code is 3 if no agent runs.`,
		Example: `  agent run --wait-for /tmp/cloned &
  git clone … && agent ready`,
		Args: cobra.NoArgs,
		RunE: asking(conn.client, func(ctx context.Context, c client.Client, _ []string) error { return c.Ready(ctx) }),
	}
	conn.addFlags(cmd)
	return cmd
}
