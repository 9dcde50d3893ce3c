package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"waymark/cmd/internal/term"
	"waymark/host/api/client"
	"waymark/host/sources"
)

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
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "path\t%s\n", term.Visible(s.Path))
	fmt.Fprintf(t, "origin\t%s\n", s.Origin)
	fmt.Fprintf(t, "persisted\t%s\n", yes(s.Persisted))
	fmt.Fprintf(t, "state\t%s\n", sourceState(s))
	for i := range now.Resources {
		if r := &now.Resources[i]; r.SourcePath == s.Path {
			fmt.Fprintf(t, "found\t%s %s\n", term.Visible(r.ID()), statusText(r))
		}
	}
	return t.Flush()
}

func printSources(w io.Writer, all []sources.Source) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no sources: add one with 'agent sources add PATH'")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PATH\tORIGIN\tPERSISTED\tSTATE")
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", term.Visible(s.Path), s.Origin, yes(s.Persisted), sourceState(s))
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
