package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

// completions says what a shell offers for arguments and flags. Commands that
// aren't named here take no arguments; files are what shells offer by
// themselves.
func completions() *cli.Completions {
	arguments := map[string]cobra.CompletionFunc{
		"agent run":            cli.Directories,
		"agent resolve":        cli.Directories,
		"agent root":           cli.Directories,
		"agent why":            nil,                     // files
		"agent for":            cli.InOrder(false, nil), // one file
		"agent config check":   cli.Files("toml"),
		"agent sources add":    cli.InOrder(false, nil),
		"agent sources show":   cli.InOrder(false, knownSources),
		"agent sources remove": cli.InOrder(false, knownSources),
		"agent exec":           nil, // files
		"agent logs":           cli.InOrder(false, knownProcesses(false)),
		"agent kill":           cli.InOrder(true, knownProcesses(true)),
	}
	flags := map[string]cobra.CompletionFunc{
		"log-format": cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
		"listen":     cobra.FixedCompletions([]string{"unix:", "tcp:127.0.0.1:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"url":        cobra.FixedCompletions([]string{"unix:", "tcp:", "https://"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"root":       cli.Directories,
		"plugins":    cli.Directories,
		"config":     cli.Files("toml"),
		"payload":    resourceNames,
		"timeout":    cobra.NoFileCompletions,

		"scope":         cobra.FixedCompletions(scopeNames(), cobra.ShellCompDirectiveNoFileComp),
		"grant-secrets": cobra.FixedCompletions(secretNames(), cobra.ShellCompDirectiveNoFileComp),
		"expires":       cobra.FixedCompletions([]string{"30m", "8h", "720h"}, cobra.ShellCompDirectiveNoFileComp),
		"last":          cobra.NoFileCompletions,
		"plan":          nil, // files
		"workdir":       cli.Directories,
		"env":           cobra.NoFileCompletions,
		"chat":          cobra.NoFileCompletions,
		"tail":          cobra.NoFileCompletions,
		"profile":       cobra.FixedCompletions([]string{"secrets", "plan"}, cobra.ShellCompDirectiveNoFileComp),
		"signal":        cobra.FixedCompletions([]string{"terminate", "kill", "interrupt", "hangup"}, cobra.ShellCompDirectiveNoFileComp),
	}
	return &cli.Completions{Arguments: arguments, Flags: flags}
}

// fromAgent offers what a running agent knows.
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

// resourceNames offers what resourceNamed takes: paths from here, where they are
// short, and ids.
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
