package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

// fromAgent completes with what a running agent knows.
func fromAgent(cmd *cobra.Command, text string, ask func(context.Context, client.Client) ([]string, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	var conn connection
	conn.listen, _ = cmd.Flags().GetString("listen")
	conn.tokenFile, _ = cmd.Flags().GetString("listen-token-file")
	return cli.Offer(cmd, text, func(ctx context.Context) ([]string, error) {
		c, err := conn.reader()
		if err != nil {
			return nil, err
		}
		return ask(ctx, c)
	})
}

func knownSources(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		all, err := c.Sources(ctx)
		for _, s := range all {
			list = append(list, s.Path)
		}
		return list, err
	})
}

// resourceNames completes what resourceNamed takes: ids, and relative paths of sources
// below the current directory.
func resourceNames(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromAgent(cmd, text, func(ctx context.Context, c client.Client) (list []string, err error) {
		s, err := c.Snapshot(ctx, client.SnapshotOptions{})
		if err != nil {
			return nil, err
		}
		for i := range s.Resources {
			if path, err := filepath.Rel(here(), s.Resources[i].Source); err == nil && filepath.IsLocal(path) && !slices.Contains(list, path) {
				list = append(list, path)
			}
			list = append(list, s.Resources[i].ID())
		}
		return list, nil
	})
}
