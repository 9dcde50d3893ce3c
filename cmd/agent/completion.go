package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/workspace/client"
)

// completeWithin bounds what a shell waits for when somebody presses tab. Only
// tests change it.
var completeWithin = time.Second

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

// fromAgent offers what a running agent knows, and nothing when it doesn't
// answer: a shell has no place for an error.
func fromAgent(cmd *cobra.Command, text string, ask func(context.Context, client.Client) ([]string, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	none := cobra.ShellCompDirectiveNoFileComp
	var conn connection
	conn.listen, _ = cmd.Flags().GetString("listen")
	conn.tokenFile, _ = cmd.Flags().GetString("listen-token-file")
	c, err := conn.reader()
	if err != nil {
		return nil, none
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background() // cobra's own completion command has none
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	all, err := ask(ctx, c)
	if err != nil {
		return nil, none
	}
	var offered []cobra.Completion
	for _, s := range all {
		// A control character would be the shell's to interpret.
		if strings.HasPrefix(s, text) && term.Visible(s) == s {
			offered = append(offered, s)
		}
	}
	return offered, none
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
