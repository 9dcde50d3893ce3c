package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/agent"
	"waymark/agent/server"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/host/config"
)

func (a *app) forCommand() *cobra.Command {
	var conn connection
	var s agent.Options
	var client string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "for PATH",
		Short: "Show which instructions, rules and skills apply to a file",
		Long: `For lists what applies to a file, with the reason: first what lies in the file's own
directory and in those above it, up to the root of the workspace, and then what applies
to all files. It also lists what doesn't apply, and why: its globs don't match, or the
model or a person decides. The file need not exist. For a directory it lists what
applies to the files in it.

In the directories below the root it looks only at the places that agents read there,
too (docs/conventions.md), and at most 64 names below the root. Tokens are estimated as
one for four bytes.

With --client it lists what one coding agent, started in the workspace's root, reads for
the file, by its own rules and precedence. The nearest comes first; within a directory
the order is the client's. WHEN says from when on: from its start, once it works on a
file of that directory ("file"), or only if it is started there. What it omits comes
last, with the reason. docs/clients.md has the rules.

For asks the running agent. If none runs for the file, or with --root, --source,
--plugins or --config, it looks itself, as 'agent run' with the same flags would. The
workspace is then --root, else the nearest directory above the file with a .git, else
the current directory.

The exit code is 3 if the file lies outside the workspace.`,
		Example: `  agent for src/api/main.go
  agent for --root ~/project ~/project/web/new.tsx
  agent for --client opencode src/api/main.go
  agent for --json src/main.go | jq -r '.items[] | select(.applies) | .path'`,
		Args: cli.Named("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := conn.ownWorkspace(cmd)
			if err != nil {
				return err
			}
			paths, err := config.FindPaths(config.Environment{})
			if err != nil {
				return err
			}
			path, err := onePath(args[0], paths)
			if err != nil {
				return err
			}
			c, err := clientNamed(client)
			if err != nil {
				return err
			}
			answer, err := a.forFile(cmd.Context(), &conn, &s, own, paths, c, path)
			switch {
			case errors.Is(err, applicability.ErrOutside):
				return &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%w; --root names another workspace", err)}
			case err != nil:
				return err
			case asJSON:
				return cli.JSON(a.stdout, answer)
			}
			return a.printApplies(answer)
		},
	}
	conn.addFlags(cmd)
	addSettings(cmd, &s.Settings)
	addClient(cmd, &client, "only what the client of this `name` reads")
	cmd.Flags().StringVar(&s.Root, "root", "", "`directory` of the workspace")
	cmd.Flags().StringArrayVar(&s.Sources, "source", nil, "another `path` to look into, a directory or a file; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// onePath makes an argument an absolute path. It keeps a trailing slash, which means a
// directory.
func onePath(arg string, paths *config.Paths) (path string, err error) {
	asked, err := whichPaths([]string{arg}, paths)
	if err != nil {
		return "", err
	}
	path = asked[0]
	if strings.HasSuffix(arg, "/") && path != "/" {
		path += "/"
	}
	if err := applicability.CheckPath(path); err != nil {
		return "", cli.Usage("%w", err)
	}
	return path, nil
}

// forFile asks the running agent, or resolves by itself. A nil of means no particular
// client.
func (a *app) forFile(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths, of *codingagents.Client, path string) (answer *applicability.Answer, err error) {
	if !own {
		c, err := conn.reader()
		switch {
		case err != nil:
		case of != nil:
			answer, err = c.ClientApplies(ctx, of.ID, path)
		default:
			answer, err = c.Applies(ctx, path)
		}
		var refused *server.Error
		switch {
		case !conn.unnamed():
			return answer, err
		case errors.Is(err, client.ErrNotRunning):
			a.progress("no agent is running: looking as 'agent run' would")
		case errors.As(err, &refused) && refused.Code == http.StatusNotFound:
			a.progress("the running agent doesn't have it: looking as 'agent run' would")
		default:
			return answer, err
		}
	}
	if s.Root == "" {
		s.Root = workspaceOf(path)
	}
	err = a.lookOnce(ctx, s, paths, func(h *host.Host) (err error) {
		if of != nil {
			answer, err = h.ForClient(ctx, of, path)
		} else {
			answer, err = h.For(ctx, path)
		}
		return err
	})
	return answer, err
}

// workspaceOf returns the nearest git repository at or above a path, or the current
// directory.
func workspaceOf(path string) string {
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil { //nolint:gosec // G703: the user names the path
			return dir
		}
		if dir == filepath.Dir(dir) {
			return "."
		}
	}
}

// printApplies prints an answer for a person.
func (a *app) printApplies(answer *applicability.Answer) error {
	for _, w := range answer.Warnings {
		a.progress(w)
	}
	if len(answer.Items) == 0 {
		_, err := fmt.Fprintf(a.stdout, "nothing found in %s that could apply\n", cli.Visible(answer.Root))
		return err
	}
	return printAppliesTable(a.stdout, answer)
}

func printAppliesTable(w io.Writer, answer *applicability.Answer) error {
	columns := []string{"APPLIES", "PATH", "KIND", "NAME", "TOKENS", "REASON"}
	if answer.Client != "" {
		columns = slices.Insert(columns, 1, "WHEN")
	}
	t := cli.NewTable(w, columns...)
	texts, tokens := 0, int64(0)
	for i := range answer.Items {
		item := &answer.Items[i]
		does := "no"
		if item.Applies {
			does = "yes"
			if item.Kind == abi.KindInstructionFile {
				texts, tokens = texts+1, tokens+item.Tokens
			}
		}
		row := []string{does, cli.Visible(item.Path), string(item.Kind), cli.Dash(cli.Visible(item.Name)), fmt.Sprint(item.Tokens), cli.Visible(item.Reason)}
		if answer.Client != "" {
			row = slices.Insert(row, 1, cli.Dash(item.When))
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	who := ""
	if c := codingagents.Lookup(answer.Client); c != nil {
		who = " for " + c.Name + " (judged: " + answer.Judged + ")"
	}
	_, err := fmt.Fprintf(w, "\n%s from %s%s, about %s tokens\n", cli.Count(texts, "instruction file"), cli.Visible(answer.Root), cli.Visible(who), cli.Number(tokens))
	return err
}
