package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/hub/api"
	"waymark/hub/client"
	"waymark/hub/store"
)

// diffFlags are the flags of hub diff.
type diffFlags struct {
	reader
	from, to int64
	exitCode bool
}

func newDiff() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff AGENT|PIN",
		Short: "Show what has changed since a pin, or between two revisions",
		Long: `Shows the changes, resource by resource, with a unified diff of text: for a pin, from
its contents to the agent's current snapshot; for an agent, from one revision to
another. By default --from is the revision before the newest, and --to the newest; 'hub
events' and the page show revisions. With --exit-code it exits with 3 if there is a
difference.`,
		Example: `  hub diff 0f8e4f5c-7a39-4b53-a5c5-9d1d3c6f2f10
  hub diff dev-1
  hub diff dev-1 --from 12 --to 17 --json`,
		Args: cli.Named("AGENT or PIN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.from < 0 || f.to < 0 {
				return usage(cmd, "revisions begin with 1")
			}
			return f.with(cmd, func(ctx context.Context, c client.Client) error {
				diff, err := f.diff(ctx, c, args[0])
				if err != nil {
					return err
				}
				if f.json {
					err = cli.JSON(cmd.OutOrStdout(), diff)
				} else {
					err = printDiff(cmd.OutOrStdout(), diff)
				}
				if err == nil && f.exitCode && len(diff.Changes) > 0 {
					return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%s between revisions %d and %d", cli.Count(len(diff.Changes), "change"), diff.From, diff.To)}
				}
				return err
			})
		},
		ValidArgsFunction: f.offer(agentIDs, pinIDs),
	}
	f.addJSON(cmd)
	cmd.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 3 if there is a difference")
	cmd.Flags().Int64Var(&f.from, "from", 0, "`revision` of an agent to compare from")
	cmd.Flags().Int64Var(&f.to, "to", 0, "`revision` of an agent to compare to")
	return cmd
}

// diff determines what to compare. Revisions belong to agents; without revisions a pin
// takes precedence over an agent with the same id.
func (f *diffFlags) diff(ctx context.Context, c client.Client, id string) (*api.Diff, error) {
	if f.from == 0 && f.to == 0 {
		diff, err := c.PinDiff(ctx, id)
		if !errors.Is(err, client.ErrNotFound) {
			return diff, err
		}
	}
	agent, err := agentOf(ctx, c, id)
	if errors.Is(err, client.ErrNotFound) && f.from == 0 {
		return nil, fmt.Errorf("%w: there is neither a pin nor an agent %s", store.ErrNotFound, cli.Visible(id))
	}
	if err != nil {
		return nil, err
	}
	id = agent
	from := f.from
	if from == 0 {
		history, err := c.History(ctx, id, 0)
		if err != nil {
			return nil, err
		}
		for i := range history { // newest first
			if from = history[i].Revision; i > 0 && (f.to == 0 || from < f.to) {
				break
			}
		}
		if from == 0 {
			return nil, fmt.Errorf("%w: agent %s has not pushed yet", store.ErrNotFound, cli.Visible(id))
		}
	}
	return c.Diff(ctx, id, from, f.to)
}

func printDiff(w io.Writer, d *api.Diff) error {
	if len(d.Changes) == 0 {
		_, err := fmt.Fprintf(w, "nothing is different between revisions %d and %d of agent %s\n", d.From, d.To, d.AgentID)
		return err
	}
	fmt.Fprintf(w, "agent %s, from revision %d to %d: %s\n", d.AgentID, d.From, d.To, cli.Count(len(d.Changes), "change"))
	for i := range d.Changes {
		c := &d.Changes[i]
		fmt.Fprintf(w, "\n%s %s\n", c.Change, cli.Visible(c.ID))
		if c.Before != nil && c.After != nil && c.Before.Status != c.After.Status {
			fmt.Fprintf(w, "  status: %s, was %s\n", resources.Status(c.After), resources.Status(c.Before))
		}
		if c.After != nil && c.After.Error != "" {
			fmt.Fprintf(w, "  %s\n", cli.Visible(c.After.Error))
		}
		if c.DiffNote != "" {
			fmt.Fprintf(w, "  %s\n", cli.Visible(c.DiffNote))
		}
		if c.Diff != "" {
			fmt.Fprintf(w, "%s\n", cli.VisibleLines(strings.TrimSuffix(c.Diff, "\n"), ""))
		}
	}
	return nil
}
