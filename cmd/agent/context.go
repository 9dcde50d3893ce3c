package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/internal/text"
)

func (a *app) contextCommand() *cobra.Command {
	var s agent.Settings
	var client, root string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "context --client NAME",
		Short: "Show what a coding agent sees when it starts",
		Long: `Context lists the project's files that a coding agent reads at its start, in its order,
and what it would cut or omit and why. It applies the client's file names, directories,
precedence and budgets. The client need not be installed, and isn't started.

The rules of codex and opencode are tested against these programs; those of claude and
copilot follow their documentation, except Claude Code's imports, which are tested.
docs/clients.md has the rules, their versions and sources.

Context reads the current files, whether an agent runs or not: those of the project and,
unless [conventions] user is "off", the instructions and skills that the client reads in
the home directory, or where CODEX_HOME, XDG_CONFIG_HOME and CLAUDE_CONFIG_DIR say. Of
the client's settings it reads only those that switch plugins on and off; others can
change what the client reads. Tokens are estimated as four bytes each.`,
		Example: `  agent context --client codex
  agent context --client opencode --root ~/project/web
  agent context --client codex --json | jq '.items[] | select(.included | not)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if client == "" {
				return cli.Usage("say which client with --client: one of %s", strings.Join(codingagents.IDs(), ", "))
			}
			c, err := clientNamed(client)
			if err != nil {
				return err
			}
			return a.context(cmd.Context(), &s, c, root, asJSON)
		},
	}
	addClient(cmd, &client, "the `name` of the client")
	cmd.Flags().StringVar(&root, "root", ".", "`directory` in which the client is started")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// addClient adds the flag that names a client.
func addClient(cmd *cobra.Command, name *string, usage string) {
	cmd.Flags().StringVar(name, "client", "", usage+": "+strings.Join(codingagents.IDs(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("client", clientNames)
}

// clientNames offers the clients whose rules are known.
func clientNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var offered []cobra.Completion
	for i := range codingagents.Clients {
		offered = append(offered, cobra.CompletionWithDesc(codingagents.Clients[i].ID, codingagents.Clients[i].Name))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// clientNamed is the client of a flag; nil where that names none.
func clientNamed(name string) (*codingagents.Client, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	c := codingagents.Lookup(name)
	if c == nil {
		hint := ""
		if near := text.Nearest(name, codingagents.IDs()); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return nil, cli.Usage("--client %s: the rules of this client aren't known, only those of %s%s", term.Visible(name), strings.Join(codingagents.IDs(), ", "), hint)
	}
	return c, nil
}

func (a *app) context(ctx context.Context, s *agent.Settings, c *codingagents.Client, root string, asJSON bool) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return err
	}
	loaded, err := s.Load(paths)
	if err != nil {
		return err
	}
	defer a.RecordRuns(ctx, paths, log)()
	view, err := host.ClientContext(ctx, a.HostOptions(s, loaded, paths, log), c, root)
	if err != nil {
		return err
	}
	if asJSON {
		return term.JSON(a.stdout, view)
	}
	return a.printView(view)
}

func (a *app) printView(v *codingagents.View) error {
	judged := "its rules follow its documentation"
	if v.Judged {
		judged = "its rules are compared with the program"
	}
	if _, err := fmt.Fprintf(a.stdout, "%s %s in %s (%s)\n", v.Name, v.Version, term.Visible(v.Root), judged); err != nil {
		return err
	}
	if len(v.Items) == 0 {
		_, _ = fmt.Fprintln(a.stdout, "nothing in the files is for it")
	} else {
		table := term.NewTable(a.stdout, "SEEN", "KIND", "FILE", "NAME", "BYTES", "CUT", "TOKENS", "WHY")
		for i := range v.Items {
			it := &v.Items[i]
			seen, cut, why := "yes", "-", it.Detail
			switch {
			case !it.Included:
				seen = "no"
			case it.Reason != "":
				seen = "part"
			}
			if it.CutBytes > 0 {
				cut = fmt.Sprint(it.CutBytes)
			}
			table.Row(seen, string(it.Kind), term.Visible(shortOf(v.Root, it.Path)), term.Visible(dash(it.Name)), fmt.Sprint(it.Bytes), cut, fmt.Sprint(it.Tokens), term.Visible(dash(why)))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	b := &v.Budget
	if b.InstructionBytes > 0 {
		_, _ = fmt.Fprintf(a.stdout, "instructions: %d of %d bytes\n", b.UsedBytes, b.InstructionBytes)
	}
	if b.SkillTokens > 0 {
		_, _ = fmt.Fprintf(a.stdout, "list of skills: some %d of %d tokens, with its own %d; %s shortened, %s left out\n",
			b.UsedTokens, b.SkillTokens, b.Builtin, text.Count(b.Shortened, "description", "descriptions"), text.Count(b.Dropped, "skill", "skills"))
	}
	if n := len(v.NotLookedAt); n > 0 {
		_, _ = fmt.Fprintf(a.stdout, "%s not looked at: %s\n", text.Count(n, "directory", "directories"), term.Visible(strings.Join(v.NotLookedAt, ", ")))
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortOf shortens a path by the directory that it lies in, or near.
func shortOf(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
