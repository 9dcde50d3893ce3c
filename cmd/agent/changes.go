package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/resources"
	"waymark/snapshot"
)

// Events of changes that aren't about a resource.
const (
	eventSnapshot resources.Event = "snapshot"  // the first snapshot, whole
	eventPlugin   resources.Event = "plugin"    // a plugin's state changed, or it was added or removed
	eventProblem  resources.Event = "problem"   // a problem of the snapshot as a whole
	eventFound    resources.Event = "discovery" // what discovery still has to do, or the state of a source
	eventLost     resources.Event = "lost"      // the connection to the agent
	eventBack     resources.Event = "back"
)

// change is one difference between two snapshots, as `agent snapshot --watch
// --json` prints it.
type change struct {
	Time    time.Time       `json:"time"`
	Event   resources.Event `json:"event"`
	Version uint64          `json:"version"`
	// Changed names what is different about a resource.
	Changed  []string           `json:"changed,omitempty"`
	Was      snapshot.Status    `json:"was,omitempty"` // its previous status, if that changed
	Resource *snapshot.Resource `json:"resource,omitempty"`
	Plugin   *snapshot.Plugin   `json:"plugin,omitempty"`
	Snapshot *snapshot.Snapshot `json:"snapshot,omitempty"`
	// Discovery is the whole new value, if it changed.
	Discovery *snapshot.Discovery `json:"discovery,omitempty"`
	Detail    string              `json:"detail,omitempty"`
}

// changes lists the differences of next: resources by id, then plugins, then the rest.
func changes(prev, next *snapshot.Snapshot, now time.Time) []change {
	var list []change
	for _, c := range resources.Diff(prev.Resources, next.Resources) {
		list = append(list, change{Event: c.Event, Changed: c.Fields, Was: c.Was, Resource: c.Resource})
	}
	list = append(list, pluginChanges(prev.Plugins, next.Plugins)...)
	if !prev.Discovery.Equal(next.Discovery) && (resources.HasDiscovery(next.Discovery) || prev.Version > 0) {
		list = append(list, change{Event: eventFound, Discovery: &next.Discovery})
	}
	if prev.SnapshotError != next.SnapshotError {
		list = append(list, change{Event: eventProblem, Detail: next.SnapshotError})
	}
	for i := range list {
		list[i].Time, list[i].Version = now, next.Version
	}
	return list
}

func pluginChanges(prev, next []snapshot.Plugin) (list []change) {
	for _, p := range next {
		if !slices.ContainsFunc(prev, p.Equal) {
			list = append(list, change{Event: eventPlugin, Plugin: &p})
		}
	}
	for _, p := range prev {
		same := func(o snapshot.Plugin) bool { return o.Path == p.Path && o.Name == p.Name }
		if !slices.ContainsFunc(next, same) {
			list = append(list, change{Event: eventPlugin, Plugin: &p, Detail: "gone"})
		}
	}
	return list
}

// changePrinter prints changes, one per line.
type changePrinter struct {
	w      io.Writer
	asJSON bool
	base   string // paths below it are shown relative to it
}

func (p *changePrinter) put(list ...change) error {
	for i := range list {
		if err := cli.Event(p.w, p.asJSON, list[i].Time, &list[i], p.line(&list[i])); err != nil {
			return err
		}
	}
	return nil
}

// line formats a change for a person, without the time.
func (p *changePrinter) line(c *change) string {
	text := cli.Visible(c.Detail)
	switch {
	case c.Resource != nil:
		r := resources.Change{Event: c.Event, Resource: c.Resource, Fields: c.Changed, Was: c.Was}
		text = r.Text(p.base)
	case c.Plugin != nil && c.Detail != "":
		text = pluginName(*c.Plugin) + " " + text
	case c.Plugin != nil:
		text = pluginName(*c.Plugin) + " " + string(c.Plugin.State)
		if c.Plugin.Error != "" {
			text += ": " + cli.Visible(c.Plugin.Error)
		}
	case c.Discovery != nil:
		text = c.Discovery.Summary().String()
	case c.Event == eventProblem && text == "":
		text = "none any more"
	case c.Event == eventBack:
		text = fmt.Sprintf("the agent is there again, with version %d", c.Version)
	}
	return fmt.Sprintf("%-8s %s", c.Event, text)
}
