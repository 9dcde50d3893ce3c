package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/client"
)

func newSearch() *cobra.Command {
	var r reader
	var limit int
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Find the agents that have a skill, a hash, a failing plugin",
		Long: `Searches the current context of agents: the names and sources of resources, and the
names of failing plugins. A SHA-256 finds resources with that content. Exits with 3 if
nothing is found.`,
		Example: "  hub search deploy --json\n  hub search 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Args:    cli.Named("TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return usage(cmd, "--limit %d: want a number from 1", limit)
			}
			return r.with(cmd, func(ctx context.Context, c client.Client) error {
				found, err := c.Search(ctx, args[0], limit)
				if err != nil {
					return err
				}
				if r.json {
					err = cli.JSON(cmd.OutOrStdout(), found)
				} else if len(found.Hits) > 0 {
					table := cli.NewTable(cmd.OutOrStdout(), "AGENT", "KIND", "NAME", "STATUS", "SOURCE", "HASH")
					for _, h := range found.Hits {
						table.Row(h.AgentID, cli.Visible(h.Kind), cli.Dash(cli.Visible(h.Name)), cli.Visible(h.Status), cli.Visible(h.Source), cli.Dash(cli.Visible(h.Hash[:min(12, len(h.Hash))])))
					}
					err = table.Flush()
				}
				switch {
				case err != nil:
					return err
				case len(found.Hits) == 0:
					return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("no agent has %q", args[0])}
				case found.More:
					_, err = fmt.Fprintf(cmd.ErrOrStderr(), "there is more; --limit says how much is shown\n")
				}
				return err
			})
		},
	}
	r.addJSON(cmd)
	cmd.Flags().IntVar(&limit, "limit", 0, "`number` of results to show, at most 1000 (default 100)")
	return cmd
}
