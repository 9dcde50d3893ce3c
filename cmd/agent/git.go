package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
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
directory, or of those below it, with their submodules, as a chat's git_diff does. With
--chat it prints those of the repositories that a chat, and the chats that it started,
have worked on. With --watch it prints what clients of 'GET /api/v0/git/watch' get.

A file whose text isn't shown, because it is on the secret list, binary or too large, has
a line that begins with #, and says why. Diff executes nothing that a repository configures: no hooks, filters or drivers.

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

// maxShown is how much of all diffs is printed, in bytes: the most that the agent answers.
const maxShown = 3 << 20

// gitDiff prints the current changes.
func (a *app) gitDiff(ctx context.Context, c client.Client, f *gitDiff) error {
	all, err := c.GitDiff(ctx, agentapi.GitQuestion{MaxBytes: maxShown})
	switch {
	case client.CodeOf(err) == http.StatusNotFound && f.chat != "":
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("this chat has worked in no repository since the agent was started")}
	case client.CodeOf(err) == http.StatusNotFound:
		return &cli.Error{Code: cli.CodeNo, Err: errors.New("the workspace's directory lies in no git repository, and has none")}
	case err != nil:
		return err
	case f.json:
		err = cli.JSON(a.stdout, all)
	default:
		screen := cli.ScreenOf(a.stdout)
		for i := range all.Repositories {
			r := &all.Repositories[i]
			as := agentapi.GitRepository{RepoRoot: r.RepoRoot, Branch: r.Branch, RemoteOrigin: r.RemoteOrigin, UnifiedDiff: notesOf(r) + r.Diff}
			if err := printRepository(a.stdout, screen, &as); err != nil {
				return err
			}
		}
	}
	if err == nil && all.Message != "" {
		return errors.New(cli.VisibleLines(all.Message, "  "))
	}
	return err
}

// notesOf lists what a diff doesn't show, in lines that programs which read patches skip.
func notesOf(r *agentapi.GitDiff) string {
	var b strings.Builder
	for i := range r.Files {
		f := &r.Files[i]
		if f.Note == "" {
			continue
		}
		counts := ""
		if f.Added+f.Removed > 0 {
			counts = fmt.Sprintf(" +%d -%d", f.Added, f.Removed)
		}
		fmt.Fprintf(&b, "# %s%s: %s\n", cli.Visible(f.Path), counts, f.Note)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "# %s more\n", cli.Count(r.Omitted, "file"))
	}
	return b.String()
}

// watchGit prints changes until the user interrupts it.
func (a *app) watchGit(ctx context.Context, c client.Client, asJSON bool) error {
	screen := cli.ScreenOf(a.stdout)
	for m, err := range c.WatchGit(ctx, client.GitOptions{}) {
		switch {
		case err != nil && (errors.Is(err, client.ErrNotRunning) || ctx.Err() != nil):
			return err
		case err != nil:
			a.progress(fmt.Sprintf("%s: waiting for the agent", err))
			continue
		case asJSON:
			if err := cli.Event(a.stdout, true, time.Time{}, m, ""); err != nil {
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
			a.progress(cli.VisibleLines(m.Message, "  "))
		}
	}
	return nil
}

// printRepository prints a repository in a form that programs accept as a patch.
func printRepository(w io.Writer, screen cli.Screen, r *agentapi.GitRepository) error {
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
