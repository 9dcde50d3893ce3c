package main

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"

	"waymark/cmd/internal/term"
	"waymark/snapshot"
)

// printSnapshot prints resources as a table, and what is wrong with them
// below their row. It writes in large pieces: a start is waited for, and a
// tabwriter writes every row by itself.
func printSnapshot(w io.Writer, s *snapshot.Snapshot, base string) error {
	if len(s.Resources) == 0 {
		_, err := fmt.Fprintln(w, "nothing found: there are no AGENTS.md, CLAUDE.md, .cursorrules, skills or .mcp.json here")
		return err
	}
	out := bufio.NewWriterSize(w, 32<<10)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KIND\tSOURCE\tNAME\tSTATUS\tSIZE\tHASH")
	for i := range s.Resources {
		r := &s.Resources[i]
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n",
			r.Kind, term.Shorten(r.Source, base)+keySuffix(r.Key), term.Dash(term.Visible(r.Name)), statusText(r), term.Size(r.SizeBytes), term.Dash(term.Short(r.ContentHash.String())))
	}
	_ = t.Flush() // an error stays with out
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Error != "" {
			_, _ = fmt.Fprintf(out, "%s: %s: %s\n", term.Shorten(r.Source, base), r.Status, term.Visible(r.Error))
		}
	}
	_, _ = fmt.Fprintf(out, "%s, %s in all, version %d, hash %s\n",
		term.Count(len(s.Resources), "resource"), term.Size(s.PayloadBytes), s.Version, term.Short(s.AggregateHash.String()))
	return out.Flush()
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
