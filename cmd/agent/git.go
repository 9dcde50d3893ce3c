package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
)

func (a *app) gitCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "git",
		Short: "Show what chats see of the workspace's repositories",
		Example: `  agent git diff
  agent git diff --chat 5b2c6a8e-1f0a-4a52-9d7a-3f5c2a1b0c9d --watch`,
	}
	cli.Group(cmd)
	conn.addFlags(cmd)
	cmd.AddCommand(a.gitDiffCommand(&conn))
	return cmd
}

// gitDiff are the flags of git diff.
type gitDiff struct {
	chat        string
	json, watch bool
}

func (a *app) gitDiffCommand(conn *connection) *cobra.Command {
	var f gitDiff
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Print uncommitted changes, as chats see them",
		Long: `Diff prints staged, modified and untracked files in the repository of the workspace's
directory, as 'GET /api/v0/git/watch' does. With --chat it prints those of the
repositories that a chat, and the chats that it started, have worked on.

Files of the secret list are omitted; a line that begins with # gives their number. Diff
executes nothing that a repository configures: no hooks, filters or drivers.

The exit code is 3 if there is no repository, or no agent runs. For a problem with a
repository it prints a message on standard error and exits with 1.`,
		Example: `  agent git diff
  agent git diff --watch
  agent git diff --json | jq -r '.repositories[].branch'
  agent git diff --chat 5b2c6a8e-1f0a-4a52-9d7a-3f5c2a1b0c9d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var caller agentapi.Caller
			if f.chat != "" {
				var err error
				if caller.Chat, err = uuid.Parse(f.chat); err != nil || caller.Chat == uuid.Nil {
					return cli.Usage("--chat %q is not a UUID: give the chat's own id, such as 5b2c6a8e-1f0a-4a52-9d7a-3f5c2a1b0c9d", f.chat)
				}
			}
			c, err := conn.reader()
			if err != nil {
				return err
			}
			if f.watch {
				return a.watchGit(cmd.Context(), c.For(caller), f.json)
			}
			return a.gitDiff(cmd.Context(), c.For(caller), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.chat, "chat", "", "`ID` of the chat whose repositories to show")
	flags.BoolVar(&f.json, "json", false, "print JSON; with --watch one line for each message")
	flags.BoolVar(&f.watch, "watch", false, "continue to print changes")
	return cmd
}

// gitDiff prints the current changes.
func (a *app) gitDiff(ctx context.Context, c client.Client, f *gitDiff) error {
	all := agentapi.GitMessage{Type: agentapi.GitChanges}
	known := make(map[string]agentapi.GitRepository)
	for m, err := range c.WatchGit(ctx, client.GitOptions{}) {
		if err != nil {
			return err
		}
		if m.Type != agentapi.GitChanges {
			continue
		}
		for _, r := range m.Repositories {
			known[r.RepoRoot] = r
		}
		if all.ScannedAt = m.ScannedAt; m.Message != "" {
			all.Message = strings.TrimPrefix(all.Message+"\n"+m.Message, "\n")
		}
		if len(m.Pending) == 0 {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, root := range slices.Sorted(maps.Keys(known)) {
		all.Repositories = append(all.Repositories, known[root])
	}
	if err := a.printGit(&all, f.json); err != nil {
		return err
	}
	switch {
	case all.Message != "":
		return errors.New(term.VisibleLines(all.Message, "  "))
	case len(known) > 0 || f.json:
		return nil
	case f.chat != "":
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("this chat has worked in no repository since the agent was started")}
	}
	return &cli.Error{Code: cli.CodeNo, Err: errors.New("the workspace's directory lies in no git repository")}
}

func (a *app) printGit(m *agentapi.GitMessage, asJSON bool) error {
	if asJSON {
		return term.JSON(a.stdout, m)
	}
	screen := term.ScreenOf(a.stdout)
	for i := range m.Repositories {
		if err := printRepository(a.stdout, screen, &m.Repositories[i]); err != nil {
			return err
		}
	}
	return nil
}

// watchGit prints changes until the user interrupts it.
func (a *app) watchGit(ctx context.Context, c client.Client, asJSON bool) error {
	screen := term.ScreenOf(a.stdout)
	for m, err := range c.WatchGit(ctx, client.GitOptions{}) {
		switch {
		case err != nil && (errors.Is(err, client.ErrNotRunning) || ctx.Err() != nil):
			return err
		case err != nil:
			a.progress(fmt.Sprintf("%s: waiting for the agent", err))
			continue
		case asJSON:
			if err := term.Event(a.stdout, true, time.Time{}, m, ""); err != nil {
				return err
			}
			continue
		}
		for i := range m.Repositories {
			if err := printRepository(a.stdout, screen, &m.Repositories[i]); err != nil {
				return err
			}
		}
		if m.Message != "" {
			a.progress(term.VisibleLines(m.Message, "  "))
		}
	}
	return nil
}

// printRepository prints a repository in a form that programs accept as a patch.
func printRepository(w io.Writer, screen term.Screen, r *agentapi.GitRepository) error {
	out := bufio.NewWriter(w)
	head := "# " + r.RepoRoot
	switch {
	case r.Removed:
		head += ": it is gone"
	case r.Branch != "":
		head += " on " + r.Branch
	default:
		head += " on no branch"
	}
	if r.RemoteOrigin != "" {
		head += ", " + r.RemoteOrigin
	}
	if r.UnifiedDiff == "" && !r.Removed {
		head += ": everything is committed"
	}
	_, _ = out.WriteString(screen.DiffLine(head) + "\n")
	for line := range strings.Lines(r.UnifiedDiff) {
		_, _ = out.WriteString(screen.DiffLine(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return out.Flush() // Flush returns the first error
}
