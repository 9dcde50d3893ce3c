// Package resources prints the resources of a snapshot for people, and compares two
// snapshots. Agent, hub and harness share it, so that a resource looks the same everywhere.
//
// It has no state. Everything in it may be called by any goroutine.
package resources

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/cmd/internal/cli"
	"waymark/internal/text"
	"waymark/snapshot"
)

// Column is a column of a table that not every command has.
type Column struct {
	Header string
	Cell   func(*snapshot.Resource) string // what it returns is printed as it is: see cli.Visible
}

// PrintTable prints resources as a table, with more columns at the end. A list
// without resources prints nothing.
func PrintTable(w io.Writer, list []snapshot.Resource, base string, more ...Column) error {
	header := []string{"KIND", "SOURCE", "NAME", "STATUS", "SIZE"}
	for _, c := range more {
		header = append(header, c.Header)
	}
	t := cli.NewTable(w, header...)
	for i := range list {
		r := &list[i]
		cells := []string{cli.Visible(string(r.Kind)), Source(r, base), cli.Dash(cli.Visible(r.Name)), Status(r), cli.Size(r.SizeBytes)}
		for _, c := range more {
			cells = append(cells, c.Cell(r))
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// InOrder returns the resources in the order in which people look for them: by
// kind, then by source, with the numbers in it by their value. A snapshot's own
// order is that of bytes.
func InOrder(list []snapshot.Resource) []snapshot.Resource {
	return slices.SortedStableFunc(slices.Values(list), func(a, b snapshot.Resource) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), text.Natural(a.Source, b.Source), text.Natural(a.Key, b.Key))
	})
}

// PrintErrors prints what is wrong with resources, and what of them their authors should
// know, one line each. Why an MCP server doesn't answer, PrintDiscovery prints.
func PrintErrors(w io.Writer, list []snapshot.Resource, base string) error {
	out := bufio.NewWriter(w)
	for i := range list {
		r := &list[i]
		if r.Error != "" && r.Kind != abi.KindMCPServer {
			_, _ = fmt.Fprintf(out, "%s: %s: %s\n", cli.Shorten(r.Source, base), r.Status, cli.Visible(r.Error))
		}
		for _, f := range r.Findings {
			if f.Severity != abi.SeverityInfo {
				_, _ = fmt.Fprintf(out, "%s: %s: %s\n", cli.Shorten(r.Source, base), cli.Visible(string(f.Severity)), cli.Visible(f.Message))
			}
		}
	}
	return out.Flush()
}

// Source is what a resource was found in, with its key. A path below base is
// relative to it.
func Source(r *snapshot.Resource, base string) string {
	text := cli.Shorten(r.Source, base)
	if r.Key != "" {
		text += "#" + cli.Visible(r.Key)
	}
	return text
}

// Status is the status of a resource, and whether it is stale.
func Status(r *snapshot.Resource) string {
	text := cli.Visible(string(r.Status))
	if r.Stale {
		text += " (stale)"
	}
	return text
}

// Attributes is all attributes of a resource in order of their names, or a
// dash.
func Attributes(r *snapshot.Resource) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		value := r.Attributes[name]
		text := value.Text
		if value.List != nil {
			text = "[" + strings.Join(value.List, ", ") + "]"
		}
		list = append(list, cli.Visible(name+"="+text))
	}
	return cli.Dash(strings.Join(list, " "))
}
