package main

import (
	"fmt"
	"io"

	"waymark/cmd/internal/resources"
	"waymark/cmd/internal/term"
	"waymark/snapshot"
)

// printSnapshot prints resources as a table, and what is wrong with them
// below it.
func printSnapshot(w io.Writer, s *snapshot.Snapshot, base string) error {
	if len(s.Resources) == 0 {
		_, err := fmt.Fprintln(w, "nothing found: there are no AGENTS.md, CLAUDE.md, .cursorrules, skills or .mcp.json here")
		return err
	}
	hash := resources.Column{Header: "HASH", Cell: func(r *snapshot.Resource) string { return term.Dash(term.Short(r.ContentHash.String())) }}
	if err := resources.PrintTable(w, s.Resources, base, hash); err != nil {
		return err
	}
	if err := resources.PrintErrors(w, s.Resources, base); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, %s in all, version %d, hash %s\n",
		term.Count(len(s.Resources), "resource"), term.Size(s.PayloadBytes), s.Version, term.Short(s.AggregateHash.String()))
	return err
}
