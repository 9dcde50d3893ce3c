package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/host/why"
	"waymark/snapshot"
)

// here is the working directory, to which paths are shown relative.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// baseOf returns the directory to which paths of the running agent are shown relative: the
// root that contains the working directory; else the working directory, if it contains a
// root; else the last root, which is the agent's working directory if it has one.
func baseOf(ctx context.Context, c client.Client) string {
	dir := here()
	s, err := c.Status(ctx)
	if err != nil || len(s.Roots) == 0 {
		return dir
	}
	base, above := "", false
	for _, root := range s.Roots {
		if below(dir, root) && len(root) > len(base) {
			base = root
		}
		above = above || below(root, dir)
	}
	if base != "" || above {
		return cmp.Or(base, dir)
	}
	return s.Roots[len(s.Roots)-1]
}

// below reports whether a path is a directory or lies in it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// printSnapshot prints resources as a table, and problems below it.
func printSnapshot(w io.Writer, s *snapshot.Snapshot, base string) error {
	if len(s.Resources) > 0 || s.SnapshotError == "" { // otherwise it is unknown what there is
		if err := printResources(w, s, base); err != nil {
			return err
		}
	}
	if err := resources.PrintDiscovery(w, s.Discovery); err != nil || s.SnapshotError == "" {
		return err
	}
	_, err := fmt.Fprintf(w, "problem: %s\n", cli.Visible(s.SnapshotError))
	return err
}

func printResources(w io.Writer, s *snapshot.Snapshot, base string) error {
	if len(s.Resources) == 0 {
		if s.Discovery.Pending() {
			_, err := fmt.Fprintln(w, "nothing found yet")
			return err
		}
		_, err := fmt.Fprintln(w, "nothing found of what agents read; agent why FILE says why a file isn't listed")
		return err
	}
	list := resources.InOrder(s.Resources)
	hash := resources.Column{Header: "HASH", Cell: func(r *snapshot.Resource) string { return cli.Dash(cli.Short(r.ContentHash.String())) }}
	if err := resources.PrintTable(w, list, base, hash); err != nil {
		return err
	}
	if err := resources.PrintErrors(w, list, base); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, %s in all, version %d, hash %s\n",
		cli.Count(len(s.Resources), "resource"), cli.Size(s.PayloadBytes), s.Version, cli.Short(s.AggregateHash.String()))
	return err
}

// visible removes from its input what a terminal would act on. It keeps lines and expands
// tabs.
type visible struct {
	w    io.Writer
	half []byte // of a rune that continues in the next write
}

// Write implements io.Writer.
func (v *visible) Write(data []byte) (int, error) {
	text := append(v.half, data...)
	end := len(text)
	for end > 0 && len(text)-end < utf8.UTFMax-1 && !utf8.RuneStart(text[end-1]) {
		end--
	}
	if end > 0 && !utf8.FullRune(text[end-1:]) {
		end--
	} else {
		end = len(text)
	}
	if end > 0 && text[end-1] == '\r' { // perhaps part of a CRLF
		end--
	}
	v.half = bytes.Clone(text[end:])
	lines := strings.ReplaceAll(string(text[:end]), "\r\n", "\n")
	if _, err := io.WriteString(v.w, cli.VisibleLines(lines, "")); err != nil {
		return 0, err
	}
	return len(data), nil
}

func printPluginTable(w io.Writer, all []snapshot.Plugin) error {
	t := cli.NewTable(w, "NAME", "VERSION", "STATE", "RESOLVERS", "PATH")
	for _, p := range all {
		t.Row(cli.Dash(cli.Visible(p.Name)), cli.Dash(cli.Visible(p.Version)), string(p.State),
			cli.Dash(cli.Visible(strings.Join(p.Resolvers, ", "))), cli.Visible(p.Path))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range all {
		if p.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s: %s\n", pluginName(p), p.State, cli.Visible(p.Error)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unusable returns an error for the first module that can't be used.
func unusable(all []snapshot.Plugin) error {
	for _, p := range all {
		if p.State != snapshot.PluginReady && p.State != snapshot.PluginCompiling {
			return fmt.Errorf("plugin %s is %s: %s", pluginName(p), p.State, p.Error)
		}
	}
	return nil
}

// pluginName is the module's own name, or the file's while that is unknown.
func pluginName(p snapshot.Plugin) string {
	return cli.Visible(cmp.Or(p.Name, filepath.Base(p.Path)))
}

// printCoverage ends a table with the files that lie where agents look but aren't used.
func printCoverage(w io.Writer, report *why.Coverage) error {
	see := ": agent why --all"
	for _, g := range report.Groups {
		if _, err := fmt.Fprintf(w, "not used: %s%s\n", cli.Visible(g.Text), see); err != nil {
			return err
		}
		see = ""
	}
	return nil
}

// withCoverage is a snapshot as JSON, followed by the files that aren't used.
func withCoverage(s *snapshot.Snapshot, report *why.Coverage) (json.RawMessage, error) {
	whole, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	return slices.Concat(bytes.TrimSuffix(whole, []byte("}")), []byte(`,"coverage":`), more, []byte("}")), nil
}
