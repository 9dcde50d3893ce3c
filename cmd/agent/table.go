package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

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
			r.Kind, shorten(r.Source, base)+keySuffix(r.Key), dash(visible(r.Name)), statusText(r), size(r.SizeBytes), dash(short(r.ContentHash.String())))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s: %s\n", shorten(r.Source, base), r.Status, visible(r.Error)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%s, %s in all, version %d, hash %s\n",
		count(len(s.Resources), "resource"), size(s.PayloadBytes), s.Version, short(s.AggregateHash.String()))
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
	return "#" + visible(key)
}

// shorten shows a path below base as relative to it.
func shorten(path, base string) string {
	if rel, err := filepath.Rel(base, path); base != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		path = rel
	}
	return visible(path)
}

// visible replaces what a terminal would act on: names come from a workspace
// that isn't trusted.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func short(hash string) string { return hash[:min(12, len(hash))] }

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printJSON prints indented JSON, which both people and programs read.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
