package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/agent"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/codingagents"
	"waymark/host/config"
	"waymark/internal/text"
)

func (a *app) contextCommand() *cobra.Command {
	var s agent.Settings
	f := compareFlags{format: "text"}
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Show what coding agents see when they start",
		Long: `With one --client, context lists the project's files that this coding agent reads at its
start, in its order, and what it would cut or omit and why. It applies the client's file
names, directories, precedence and budgets. The client need not be installed, and isn't
started. Each answer says whether the rules were compared with the program itself, in
which version, or follow its documentation; docs/clients.md has them.

Without --client, or with several, it compares: a column for each coding agent, what each
starts with, and then what reaches some of them and not others. For such a difference it
proposes the smallest change that helps by their rules, which 'agent context mend' makes.
The coding agents are those that are named, those of [context] clients, or those in PATH.

--check prints the differences alone, and the exit code is 3 if there are any that the
project hasn't accepted with 'agent context accept'.

Context reads the current files, whether an agent runs or not: those of the project and,
unless [conventions] user is "off", the instructions and skills that the client reads in
the home directory, or where CODEX_HOME, XDG_CONFIG_HOME, CLAUDE_CONFIG_DIR, COPILOT_HOME
and QWEN_HOME say. Of the client's settings it reads only those that switch plugins on and
off, or name instruction files; others can change what the client reads. Tokens are estimated
as four bytes each.`,
		Example: `  agent context
  agent context --client claude,codex,gemini --diff
  agent context --check --client claude,codex --format junit
  agent context --client codex
  agent context --client opencode --root ~/project/web
  agent context --client codex --json | jq '.items[] | select(.included | not)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.clients) != 1 || f.check || f.diffs {
				return a.compare(cmd.Context(), &f)
			}
			if f.format != "text" {
				return cli.Usage("--format is for a comparison of several coding agents")
			}
			c, err := clientNamed(f.clients[0])
			if err != nil {
				return err
			}
			return a.context(cmd.Context(), &s, c, f.root, f.json)
		},
	}
	addCompared(cmd, &f)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&f.check, "check", false, "print the differences alone; exit code 3 if there are any")
	cmd.Flags().BoolVar(&f.diffs, "diff", false, "show how contents of one name differ")
	cmd.Flags().StringVar(&f.format, "format", "text", "`form` of a comparison: text, json, junit or sarif")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "junit", "sarif"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.mendCommand(), a.acceptCommand())
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
		return nil, cli.Usage("--client %s: the rules of this client aren't known, only those of %s%s", cli.Visible(name), strings.Join(codingagents.IDs(), ", "), hint)
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
		return cli.JSON(a.stdout, view)
	}
	return a.printView(view)
}

func (a *app) printView(v *codingagents.View) error {
	if _, err := fmt.Fprintf(a.stdout, "%s %s in %s (judged: %s)\n", v.Name, v.Version, cli.Visible(v.Root), v.Judged); err != nil {
		return err
	}
	if len(v.Items) == 0 {
		_, _ = fmt.Fprintln(a.stdout, "nothing in the files is for it")
	} else {
		table := cli.NewTable(a.stdout, "SEEN", "KIND", "FILE", "NAME", "BYTES", "CUT", "TOKENS", "WHY")
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
			table.Row(seen, string(it.Kind), cli.Visible(shortOf(v.Root, it.Path)), cli.Visible(dash(it.Name)), fmt.Sprint(it.Bytes), cut, fmt.Sprint(it.Tokens), cli.Visible(dash(why)))
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
	if n := len(v.OnFile); n > 0 {
		_, _ = fmt.Fprintf(a.stdout, "%s in directories below, for when it works on files there:\n", text.Count(n, "instruction file", "instruction files"))
		for _, path := range v.OnFile[:min(n, maxOnFile)] {
			_, _ = fmt.Fprintf(a.stdout, "  %s\n", cli.Visible(shortOf(v.Root, path)))
		}
		if n > maxOnFile {
			_, _ = fmt.Fprintf(a.stdout, "  and %d more\n", n-maxOnFile)
		}
	}
	if n := len(v.NotLookedAt); n > 0 {
		_, _ = fmt.Fprintf(a.stdout, "%s not looked at: %s\n", text.Count(n, "directory", "directories"), cli.Visible(strings.Join(v.NotLookedAt, ", ")))
	}
	return nil
}

// maxOnFile is how many files are named that aren't read at the start.
const maxOnFile = 20

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
