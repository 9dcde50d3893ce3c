package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"waymark/cmd/internal/term"
	"waymark/host/snapshot"
)

// printSnapshot prints resources as a table, and what is wrong with them
// below their row.
func printSnapshot(w io.Writer, s *snapshot.Snapshot, base string) error {
	if len(s.Resources) == 0 {
		_, err := fmt.Fprintln(w, "nothing found: there are no AGENTS.md, CLAUDE.md, .cursorrules, skills or .mcp.json here")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KIND\tSOURCE\tNAME\tSTATUS\tSIZE\tHASH")
	for i := range s.Resources {
		r := &s.Resources[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n",
			r.Kind, term.Shorten(r.Source, base)+keySuffix(r.Key), term.Dash(term.Visible(r.Name)), statusText(r), term.Size(r.SizeBytes), term.Dash(term.Short(r.ContentHash.String())))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s: %s\n", term.Shorten(r.Source, base), r.Status, term.Visible(r.Error)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s, %s in all, version %d, hash %s\n",
		term.Count(len(s.Resources), "resource"), term.Size(s.PayloadBytes), s.Version, term.Short(s.AggregateHash.String()))
	return err
}

func statusText(r *snapshot.Resource) string {
	if r.Stale {
		return string(r.Status) + " (stale)"
	}
	return string(r.Status)
}

func keySuffix(key string) string {
	if key == "" {
		return ""
	}
	return "#" + term.Visible(key)
}
