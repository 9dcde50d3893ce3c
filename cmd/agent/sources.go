package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host/sources"
	"waymark/host/why"
)

func (a *app) sourcesCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	list := func(ctx context.Context, c client.Client, _ []string) error {
		all, err := sourcesNow(ctx, c)
		if err != nil {
			return err
		}
		header := []string{"PATH", "ORIGIN", "PERSISTED", "STATE"}
		return cli.List(a.stdout, asJSON, append([]sources.Source{}, all...), "no sources: add one with 'agent sources add PATH'", header, func(s *sources.Source) []string {
			return []string{cli.Visible(s.Path), string(s.Origin), yes(s.Persisted), sourceState(*s)}
		})
	}
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "List, add and remove additional directories and files to look into",
		Long: `Sources are directories and files that the running agent looks into in addition to its
working directory and those in the home directory, and with precedence over them. A
source need not exist yet. If nothing can be found in a source, 'add' says why.

This command accepts sources in the home directory and in the working directory. For
other places use --source when you start the agent. The exit code is 3 if no agent runs,
or there is no such source.`,
		Example: `  agent sources
  agent sources add ~/notes/AGENTS.md --persist
  agent sources remove ~/notes/AGENTS.md`,
		Args: cobra.NoArgs,
		RunE: asking(conn.reader, list),
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
		RunE: asking(conn.client, func(ctx context.Context, c client.Client, args []string) error {
			return a.addSource(ctx, c, args[0], persist, asJSON)
		}),
	}
	add.Flags().BoolVar(&persist, "persist", false, "keep it across restarts of the agent")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List all sources", Args: cobra.NoArgs, RunE: asking(conn.reader, list)},
		&cobra.Command{
			Use: "show PATH", Short: "Show one source and what is found through it", Args: cli.Named("PATH"),
			RunE: asking(conn.reader, func(ctx context.Context, c client.Client, args []string) error {
				return a.showSource(ctx, c, args[0], asJSON)
			}),
		},
		add,
		&cobra.Command{
			Use: "remove PATH", Short: "Remove a source permanently", Args: cli.Named("PATH"),
			RunE: asking(conn.client, func(ctx context.Context, c client.Client, args []string) error {
				return a.removeSource(ctx, c, args[0], asJSON)
			}),
		},
	)
	return cmd
}

// addedSource is the output of add --json.
type addedSource struct {
	sources.Source
	Added bool `json:"added"`
	// Warning says why nothing can be found in the source at present; usually empty.
	Warning string `json:"warning"`
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
	warning := ""
	if s.Exists && s.Error == "" {
		warning = barren(ctx, c, s.Path)
	}
	if asJSON {
		return cli.JSON(a.stdout, addedSource{s, added, warning})
	}
	what := "added"
	if !added {
		what = "there already:"
	}
	later := ""
	if !s.Exists {
		later = ", which is looked into as soon as it exists"
	}
	if _, err = fmt.Fprintf(a.stdout, "%s %s%s\n", what, cli.Visible(s.Path), later); err != nil || warning == "" {
		return err
	}
	_, err = fmt.Fprintf(a.stderr, "warning: nothing can be found there now: %s\n", cli.Visible(warning))
	return err
}

// conventional has one file name of each kind that the built-in resolvers find. Where none
// of them may be read, nothing is searched.
var conventional = []string{"AGENTS.md", ".mcp.json", "skills/x/SKILL.md"}

// barren returns why nothing can be found in a source at present: it is neither a directory
// nor a file, or a file that no resolver takes, or nothing in it may be read. It returns ""
// for an empty directory, which may be filled, and if it can't find out, because the source
// has been added anyway.
func barren(ctx context.Context, c client.Client, path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	asked := []string{path}
	if info.IsDir() {
		for _, name := range conventional {
			asked = append(asked, filepath.Join(path, name))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, barrenWithin)
	defer cancel()
	answers, err := c.Why(ctx, asked...)
	switch {
	case err != nil || len(answers) != len(asked) || answers[0].Found:
		return ""
	case !info.IsDir() || answers[0].Reason != why.ReasonNotAKnownPlace:
		return answers[0].Detail
	}
	for _, a := range answers[1:] {
		if a.Reason != why.ReasonExcludedByConfig {
			return ""
		}
	}
	return answers[1].Detail
}

// barrenWithin limits the wait for an added source, which would include the wait for a
// held-back first snapshot.
const barrenWithin = 5 * time.Second

// sourcesNow lists the sources, with the reason for those that the agent doesn't resolve.
func sourcesNow(ctx context.Context, c client.Client) ([]sources.Source, error) {
	all, err := c.Sources(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range s.Refused {
		for i := range all {
			if all[i].Path == r.Path && all[i].Error == "" {
				all[i].Error = r.Error
			}
		}
	}
	return all, nil
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
		return cli.JSON(a.stdout, struct {
			Removed string `json:"removed"`
		}{path})
	}
	_, err = fmt.Fprintf(a.stdout, "removed %s\n", cli.Visible(path))
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
		return cli.JSON(a.stdout, s)
	}
	now, err := c.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		return err
	}
	t := cli.NewTable(a.stdout)
	t.Row("path", cli.Visible(s.Path))
	t.Row("origin", string(s.Origin))
	t.Row("persisted", yes(s.Persisted))
	t.Row("state", sourceState(s))
	for i := range now.Resources {
		if r := &now.Resources[i]; r.SourcePath == s.Path {
			t.Row("found", cli.Visible(r.ID())+" "+resources.Status(r))
		}
	}
	return t.Flush()
}

func sourceState(s sources.Source) string {
	switch {
	case s.Error != "":
		return "refused: " + cli.Visible(s.Error)
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
