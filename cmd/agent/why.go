package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/abi"
	"waymark/agent"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/host/why"
)

func (a *app) whyCommand() *cobra.Command {
	var conn connection
	var s agent.Options
	var client string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "why PATH…",
		Short: "Show whether files are in the context, and if not, why",
		Long: `A file is in the context if 'agent snapshot' lists it as ok. Why gives the reason for
each path, in a word (docs/operate.md lists all) and in a sentence that says what to do.

Why asks the running agent. If none runs, or with --root, --source, --plugins or
--config, it looks itself, as 'agent run' with the same flags would.

With --client it also says what one coding agent, started in the workspace, does with
each path: whether it reads the path at its start ("yes", or "part" if it cuts some),
later, only if started elsewhere, or why not. The exit code remains that of Waymark's
own answer.

With --all instead of paths it lists files that lie where agents look but aren't used:
all agents that read them are switched off, no active resolver lists them, they aren't
context for a chat, or only their names keep them from being rules, subagents or
commands. The exit code is then 0.

The exit code is 0 if all paths are found, otherwise 3. An argument that isn't a path,
such as an empty one, makes it 2; the others are answered all the same.`,
		Example: `  agent why AGENTS.md .claude/skills/foo
  agent why --root ~/project ~/project/docs/agents.md
  agent why --client codex AGENTS.md CLAUDE.md
  agent why --all
  agent why --json CLAUDE.md | jq -r '.[].reason'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return cobra.NoArgs(cmd, args)
			}
			return cli.Named("PATH", "PATH…")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := conn.ownWorkspace(cmd)
			if err != nil {
				return err
			}
			paths, err := config.FindPaths(config.Environment{})
			if err != nil {
				return err
			}
			c, err := clientNamed(client)
			switch {
			case err != nil:
				return err
			case all && c != nil:
				return cli.Usage("--all and --client don't go together: say which paths")
			case all:
				return a.whyAll(cmd.Context(), &conn, &s, own, paths, asJSON)
			}
			asked, wrong := whichPaths(args, paths)
			if len(asked) == 0 {
				return wrong
			}
			answers, err := a.why(cmd.Context(), &conn, &s, own, paths, c, asked)
			if err != nil {
				return err
			}
			err = a.printAnswers(answers, asJSON)
			if wrong != nil && (err == nil || cli.Code(err) == cli.CodeNo) { // an argument that couldn't be looked up is worse than a no
				return wrong
			}
			return err
		},
	}
	conn.addFlags(cmd)
	addSettings(cmd, &s.Settings)
	addClient(cmd, &client, "also what the client of this `name` makes of them")
	cmd.Flags().StringVar(&s.Root, "root", ".", "working `directory` to look into")
	cmd.Flags().StringArrayVar(&s.Sources, "source", nil, "another `path` to look into, a directory or a file; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list files of agents that aren't used, instead of paths")
	return cmd
}

// pathMax is longer than any path that a kernel accepts, in bytes.
const pathMax = 4096

// whichPaths makes arguments absolute paths, and reports those that aren't paths: a wrong
// one doesn't prevent answers for the others.
func whichPaths(args []string, paths *config.Paths) (asked []string, wrong error) {
	var problems []string
	for i, arg := range args {
		path, err := paths.Expand(arg)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		switch {
		case arg == "":
			err = errors.New("an empty path names nothing")
		case len(path) > pathMax:
			err = fmt.Errorf("%d bytes are longer than any path can be", len(path))
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("argument %d: %v", i+1, err))
			continue
		}
		asked = append(asked, path)
	}
	if len(problems) > 0 {
		wrong = cli.Usage("%s", strings.Join(problems, "; "))
	}
	return asked, wrong
}

// why asks the running agent, or resolves by itself. A nil of means no particular client.
func (a *app) why(ctx context.Context, conn *connection, s *agent.Options, own bool, paths *config.Paths, of *codingagents.Client, asked []string) ([]why.Answer, error) {
	if own {
		return a.whyHere(ctx, s, paths, of, asked)
	}
	var answers []why.Answer
	c, err := conn.reader()
	if err == nil {
		if of != nil {
			answers, err = c.ClientWhy(ctx, of.ID, asked...)
		} else {
			answers, err = c.Why(ctx, asked...)
		}
		if err == nil {
			tellServers(ctx, c, answers)
		}
	}
	if errors.Is(err, client.ErrNotRunning) && conn.unnamed() {
		a.progress("no agent is running: looking as 'agent run' would")
		return a.whyHere(ctx, s, paths, of, asked)
	}
	return answers, err
}

// tellServers adds the state of their servers to answers about MCP configurations. If the
// agent can't give it, the answers stay as they are.
func tellServers(ctx context.Context, c client.Client, answers []why.Answer) {
	var all *agentapi.MCPServers
	for i := range answers {
		source, is := strings.CutPrefix(answers[i].ResourceID, string(abi.KindMCPConfig)+":")
		if !is {
			continue
		}
		if all == nil {
			var err error
			if all, err = c.MCPServers(ctx, "", 0); err != nil {
				return
			}
		}
		var servers []string
		for j := range all.Servers {
			if s := &all.Servers[j]; s.Source == source {
				servers = append(servers, fmt.Sprintf("%s: %s", s.Name, resources.Outcome(s.Outcome)))
			}
		}
		if len(servers) > 0 {
			answers[i].Detail = strings.TrimPrefix(answers[i].Detail+"; ", "; ") + strings.Join(servers, ", ") + ", see 'agent mcp list'"
		}
	}
}

func (a *app) printAnswers(answers []why.Answer, asJSON bool) error {
	var err error
	if asJSON {
		err = cli.JSON(a.stdout, append([]why.Answer{}, answers...))
	} else {
		err = printAnswerTable(a.stdout, answers, here())
		for i := 0; i < len(answers) && err == nil; i++ {
			if table := answers[i].Convention; table != "" {
				_, err = fmt.Fprintf(a.stdout, "\nTo have %s found, paste this into ~/.config/waymark/plugin.toml, or run 'agent config convention add':\n\n%s", cli.Shorten(answers[i].Path, here()), table)
			}
		}
	}
	missing := 0
	for _, answer := range answers {
		if !answer.Found {
			missing++
		}
	}
	if err == nil && missing > 0 {
		err = &cli.Error{Code: cli.CodeNo, Err: fmt.Errorf("%d of %s not in the context", missing, countIs(len(answers), "path"))}
	}
	return err
}

func printAnswerTable(w io.Writer, answers []why.Answer, base string) error {
	columns := []string{"PATH", "REASON", "DETAIL"}
	of := len(answers) > 0 && answers[0].Client != nil
	if of {
		columns = []string{"PATH", "REASON", strings.ToUpper(answers[0].Client.Client), "DETAIL"}
	}
	t := cli.NewTable(w, columns...)
	for i := range answers {
		a := &answers[i]
		detail := a.Detail
		if detail == "" && a.ResourceID != "" {
			detail = a.ResourceID
		}
		if of && a.Client != nil {
			t.Row(cli.Shorten(a.Path, base), string(a.Reason), verdictWord(a.Client), cli.Dash(cli.Visible(detail)))
			if !a.Client.Included || a.Client.Reason != "" { // otherwise the word says it
				t.Row("", "", "", cli.Visible(a.Client.Detail))
			}
			continue
		}
		t.Row(cli.Shorten(a.Path, base), string(a.Reason), cli.Dash(cli.Visible(detail)))
	}
	return t.Flush()
}

// verdictWord is one word for what a client does with a file.
func verdictWord(d *codingagents.Verdict) string {
	switch {
	case d.Included && d.Reason == "":
		return "yes"
	case d.Included:
		return "part"
	case d.When != "":
		return string(d.When)
	}
	return string(d.Reason)
}

// countIs formats a count with its verb.
func countIs(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

// whyHere answers without an agent, by resolving once what `agent run` with the same flags
// would.
func (a *app) whyHere(ctx context.Context, s *agent.Options, paths *config.Paths, of *codingagents.Client, asked []string) ([]why.Answer, error) {
	answers := make([]why.Answer, len(asked))
	err := a.lookOnce(ctx, s, paths, func(h *host.Host) (err error) {
		for i, path := range asked {
			if answers[i], err = h.Why(ctx, path); err != nil {
				return err
			}
		}
		if of == nil {
			return nil
		}
		verdicts, err := h.WhyClient(ctx, of, asked...)
		for i := range verdicts {
			answers[i].Client = &verdicts[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}
