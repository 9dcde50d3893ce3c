package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/api"
	"waymark/hub/client"
)

func newAudit() *cobra.Command {
	var o operator
	var limit int
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show what operators did",
		Long: `Shows what operators did, the newest first: who (the token's name, or its id), what, to
which agent, token or other thing, and when, in UTC. With ID it shows only what was done
to what has this id. Entries are kept for 400 days, and nothing changes them.`,
		Example: "  hub audit\n  hub audit dev-1 --limit 20\n  hub audit --json | jq -r '.[].what'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage(cmd, "--limit %d: want a number from 1", limit)
			}
			q := client.AuditQuery{Subject: cmp.Or(append(args, "")...)}
			return o.with(cmd, func(ctx context.Context, c client.Client) error {
				var list []api.Act
				for {
					q.Limit = min(limit-len(list), agentsPage)
					page, next, err := c.Audit(ctx, q)
					if err != nil {
						return err
					}
					list, q.After = append(list, page...), next
					if next == "" || len(list) >= limit {
						break
					}
				}
				header := []string{"WHEN", "WHO", "WHAT", "TO", "DETAIL"}
				return cli.List(cmd.OutOrStdout(), o.json, list, "operators did nothing yet", header, func(a *api.Act) []string {
					return []string{
						stamp(a.At), cli.Visible(cmp.Or(a.ByName, a.By)), a.What, cli.Dash(cli.Visible(a.Subject)), cli.Dash(cli.Visible(a.Detail)),
					}
				})
			})
		},
	}
	o.addJSON(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "`number` of entries to show")
	return cmd
}
