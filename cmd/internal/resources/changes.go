package resources

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/cmd/internal/cli"
	"waymark/snapshot"
)

// Event says what has happened to a resource.
type Event string

// The events of a resource.
const (
	Added   Event = "added"
	Removed Event = "removed"
	Changed Event = "changed"
)

// Change is what is different about one resource between two snapshots.
type Change struct {
	Event Event
	// Resource is the one in the newer snapshot, or the one that was removed.
	Resource *snapshot.Resource
	// Fields names what is different about a changed resource, as in JSON but
	// for "content", which stands for hash and size.
	Fields []string
	Was    snapshot.Status // its status before, where that changed
}

// Diff lists what is different in next. Both lists are in order of ids, as
// those of snapshots are, and so is what it returns.
func Diff(prev, next []snapshot.Resource) (list []Change) {
	for len(prev) > 0 || len(next) > 0 {
		switch order := compareFirst(prev, next); {
		case order < 0:
			list = append(list, Change{Event: Removed, Resource: &prev[0]})
			prev = prev[1:]
		case order > 0:
			list = append(list, Change{Event: Added, Resource: &next[0]})
			next = next[1:]
		default:
			if !prev[0].Equal(&next[0]) {
				list = append(list, changed(&prev[0], &next[0]))
			}
			prev, next = prev[1:], next[1:]
		}
	}
	return list
}

// compareFirst compares the ids of the first two; the end comes last.
func compareFirst(a, b []snapshot.Resource) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return strings.Compare(a[0].ID(), b[0].ID())
}

// changed compares two resources of one id.
func changed(prev, next *snapshot.Resource) Change {
	c := Change{Event: Changed, Resource: next}
	if prev.Status != next.Status {
		c.Was = prev.Status
	}
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"content", !slices.Equal(prev.ContentHash, next.ContentHash) || prev.SizeBytes != next.SizeBytes},
		{"status", prev.Status != next.Status},
		{"error", prev.Error != next.Error},
		{"stale", prev.Stale != next.Stale},
		{"name", prev.Name != next.Name},
		{"description", prev.Description != next.Description},
		{"attributes", !maps.EqualFunc(prev.Attributes, next.Attributes, snapshot.Attribute.Equal)},
		{"findings", !slices.Equal(prev.Findings, next.Findings)},
		{"readers", !slices.Equal(prev.Readers, next.Readers) || prev.Convention != next.Convention || prev.Scope != next.Scope},
		{"resolver", prev.Resolver != next.Resolver},
		{"source_path", prev.SourcePath != next.SourcePath},
	} {
		if f.differs {
			c.Fields = append(c.Fields, f.name)
		}
	}
	return c
}

// Text is a change in one line, without the event. Paths below base are relative
// to it.
func (c *Change) Text(base string) string {
	r := c.Resource
	text := fmt.Sprintf("%-16s %-20s %s  %s", r.Kind, cli.Dash(cli.Visible(r.Name)), Source(r, base), Status(r))
	if c.Was != "" {
		text += ", was " + string(c.Was)
	}
	if c.Event != Removed && r.Error != "" {
		text += ": " + cli.Visible(r.Error)
	}
	if c.Event != Removed {
		for _, f := range r.Findings {
			if f.Severity != abi.SeverityInfo {
				text += ", " + cli.Visible(string(f.Severity)+": "+f.Message)
			}
		}
	}
	if len(c.Fields) > 0 {
		text += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	return text
}
