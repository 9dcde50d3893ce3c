package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/cmd/internal/term"
	"waymark/host/api/client"
	"waymark/host/sources"
)

func (a *app) sourcesCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	ask := func(f func(context.Context, client.Client, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			c, err := conn.client()
			if err != nil {
				return err
			}
			return answered(f(cmd.Context(), c, args))
		}
	}
	list := func(ctx context.Context, c client.Client, _ []string) error {
		all, err := c.Sources(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return term.JSON(a.stdout, append([]sources.Source{}, all...))
		}
		return printSources(a.stdout, all)
	}
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "List, add and remove directories and files to look into besides the usual ones",
		Long: `Sources are directories and files that the running agent looks into besides its
working directory and those in the home directory, and before them. One that doesn't
exist yet is waited for.

Through this command they may lie in the home and in the working directory. Others are
named with --source when the agent is started. The exit code is 3 when no agent runs,
and when there is no such source.`,
		Example: `  agent sources
  agent sources add ~/notes/AGENTS.md --persist
  agent sources remove ~/notes/AGENTS.md`,
		Args: cobra.NoArgs,
		RunE: ask(list),
	}
	conn.addFlags(cmd)
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")

	var persist bool
	add := &cobra.Command{
		Use:   "add PATH",
		Short: "Add a source",
		Example: `  agent sources add docs/agents
  agent sources add ~/team-skills --persist`,
		Args: cli.Named("PATH"),
		RunE: ask(func(ctx context.Context, c client.Client, args []string) error {
			return a.addSource(ctx, c, args[0], persist, asJSON)
		}),
	}
	add.Flags().BoolVar(&persist, "persist", false, "keep it across restarts of the agent")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List all sources", Args: cobra.NoArgs, RunE: ask(list)},
		&cobra.Command{
			Use: "show PATH", Short: "Show one source and what is found through it", Args: cli.Named("PATH"),
			RunE: ask(func(ctx context.Context, c client.Client, args []string) error {
				return a.showSource(ctx, c, args[0], asJSON)
			}),
		},
		add,
		&cobra.Command{
			Use: "remove PATH", Short: "Remove a source for good", Args: cli.Named("PATH"),
			RunE: ask(func(ctx context.Context, c client.Client, args []string) error {
				return a.removeSource(ctx, c, args[0], asJSON)
			}),
		},
	)
	return cmd
}

// addedSource is the answer of add --json.
type addedSource struct {
	sources.Source
	Added bool `json:"added"`
}

func (a *app) addSource(ctx context.Context, c client.Client, path string, persist, asJSON bool) error {
	path, err := absolutePath(path)
	if err != nil {
		return err
	}
	s, added, err := c.AddSource(ctx, path, persist)
	if err != nil {
		return err
	}
	if asJSON {
		return term.JSON(a.stdout, addedSource{s, added})
	}
	what := "added"
	if !added {
		what = "there already:"
	}
	later := ""
	if !s.Exists {
		later = ", which is looked into as soon as it exists"
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s%s\n", what, term.Visible(s.Path), later)
	return err
}

func (a *app) removeSource(ctx context.Context, c client.Client, path string, asJSON bool) error {
	path, err := absolutePath(path)
	if err != nil {
		return err
	}
	if err := c.RemoveSource(ctx, path); err != nil {
		return err
	}
	if asJSON {
		return term.JSON(a.stdout, struct {
			Removed string `json:"removed"`
		}{path})
	}
	_, err = fmt.Fprintf(a.stdout, "removed %s\n", term.Visible(path))
	return err
}

func (a *app) showSource(ctx context.Context, c client.Client, path string, asJSON bool) error {
	path, err := absolutePath(path)
	if err != nil {
		return err
	}
	s, err := c.Source(ctx, path)
	if err != nil {
		return err
	}
	if asJSON {
		return term.JSON(a.stdout, s)
	}
	now, err := c.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		return err
	}
	t := term.NewTable(a.stdout)
	t.Row("path", term.Visible(s.Path))
	t.Row("origin", string(s.Origin))
	t.Row("persisted", yes(s.Persisted))
	t.Row("state", sourceState(s))
	for i := range now.Resources {
		if r := &now.Resources[i]; r.SourcePath == s.Path {
			t.Row("found", term.Visible(r.ID())+" "+resources.Status(r))
		}
	}
	return t.Flush()
}

func printSources(w io.Writer, all []sources.Source) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no sources: add one with 'agent sources add PATH'")
		return err
	}
	t := term.NewTable(w, "PATH", "ORIGIN", "PERSISTED", "STATE")
	for _, s := range all {
		t.Row(term.Visible(s.Path), string(s.Origin), yes(s.Persisted), sourceState(s))
	}
	return t.Flush()
}

func sourceState(s sources.Source) string {
	switch {
	case s.Error != "":
		return "refused: " + term.Visible(s.Error)
	case !s.Exists:
		return "waiting until it exists"
	}
	return "ok"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
