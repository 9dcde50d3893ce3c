package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host/api/client"
	"waymark/snapshot"
)

func (a *app) snapshotCommand() *cobra.Command {
	var conn connection
	var asJSON, watch bool
	var payload string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Show what the running agent has found, and how it changes",
		Long: `Snapshot prints the newest snapshot of the running agent. With --watch it goes on
with every change as it comes, one a line, until it is interrupted; a restart of the
agent is waited for. With --json, these lines are JSON objects.

The exit code is 3 when no agent runs, and when there is no such payload.`,
		Example: `  agent snapshot
  agent snapshot --watch
  agent snapshot --watch --json | jq -r 'select(.event == "changed").resource.id'
  agent snapshot --payload skill:/home/me/project/.agents/skills/foo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if payload != "" && (watch || asJSON) {
				return cli.Usage("--payload prints a text as it is: leave --watch and --json out")
			}
			c, err := conn.client()
			if err != nil {
				return err
			}
			switch {
			case payload != "":
				return answered(a.payload(cmd.Context(), c, payload))
			case watch:
				return answered(a.watch(cmd.Context(), c, asJSON))
			}
			return answered(a.snapshot(cmd.Context(), c, asJSON))
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "go on with what changes")
	cmd.Flags().StringVar(&payload, "payload", "", "print the text of the resource with this id instead")
	return cmd
}

func (a *app) snapshot(ctx context.Context, c client.Client, asJSON bool) error {
	s, err := c.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		return err
	}
	if asJSON {
		return term.JSON(a.stdout, s)
	}
	return a.printNewest(s, here())
}

// printNewest prints a snapshot of the agent as a table.
func (a *app) printNewest(s *snapshot.Snapshot, base string) error {
	if s.Version == 0 {
		_, err := fmt.Fprintln(a.stdout, "no snapshot yet: the agent is starting, or waits until it is told to be ready")
		return err
	}
	if err := printSnapshot(a.stdout, s, base); err != nil || s.SnapshotError == "" {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "problem: %s\n", term.Visible(s.SnapshotError))
	return err
}

func (a *app) payload(ctx context.Context, c client.Client, id string) error {
	body, err := c.Resource(ctx, id)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(body)
	return err
}
