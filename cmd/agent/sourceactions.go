package main

import (
	"context"
	"fmt"
	"io"

	"waymark/cmd/internal/resources"
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
