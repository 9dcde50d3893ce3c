package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/snapshot"
)

// event says what a change is about.
type event string

const (
	eventSnapshot event = "snapshot" // the first one, whole
	eventAdded    event = "added"
	eventRemoved  event = "removed"
	eventChanged  event = "changed"
	eventPlugin   event = "plugin"  // its state, or that it came or went
	eventProblem  event = "problem" // of the snapshot as a whole
	eventLost     event = "lost"    // the agent
	eventBack     event = "back"
)

// change is one difference between two snapshots, as `agent snapshot --watch
// --json` prints it.
type change struct {
	Time    time.Time `json:"time"`
	Event   event     `json:"event"`
	Version uint64    `json:"version"`
	// Changed names what is different about a resource.
	Changed  []string           `json:"changed,omitempty"`
	Was      snapshot.Status    `json:"was,omitempty"` // its status, where that changed
	Resource *snapshot.Resource `json:"resource,omitempty"`
	Plugin   *snapshot.Plugin   `json:"plugin,omitempty"`
	Snapshot *snapshot.Snapshot `json:"snapshot,omitempty"`
	Detail   string             `json:"detail,omitempty"`
}

// changes lists what is different in next: resources in order of ids, then
// plugins, then the rest.
func changes(prev, next *snapshot.Snapshot, now time.Time) []change {
	list := resourceChanges(prev.Resources, next.Resources)
	list = append(list, pluginChanges(prev.Plugins, next.Plugins)...)
	if prev.SnapshotError != next.SnapshotError {
		list = append(list, change{Event: eventProblem, Detail: next.SnapshotError})
	}
	for i := range list {
		list[i].Time, list[i].Version = now, next.Version
	}
	return list
}

// resourceChanges goes through two lists in order of ids.
func resourceChanges(prev, next []snapshot.Resource) (list []change) {
	for len(prev) > 0 || len(next) > 0 {
		switch order := compareFirst(prev, next); {
		case order < 0:
			list = append(list, change{Event: eventRemoved, Resource: &prev[0]})
			prev = prev[1:]
		case order > 0:
			list = append(list, change{Event: eventAdded, Resource: &next[0]})
			next = next[1:]
		default:
			if c, ok := changed(&prev[0], &next[0]); ok {
				list = append(list, c)
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

// changed compares two resources of one id.
func changed(prev, next *snapshot.Resource) (change, bool) {
	if prev.Equal(next) {
		return change{}, false
	}
	c := change{Event: eventChanged, Resource: next}
	note := func(differs bool, what string) {
		if differs {
			c.Changed = append(c.Changed, what)
		}
	}
	note(!slices.Equal(prev.ContentHash, next.ContentHash) || prev.SizeBytes != next.SizeBytes, "content")
	note(prev.Status != next.Status, "status")
	note(prev.Error != next.Error, "error")
	note(prev.Stale != next.Stale, "stale")
	note(prev.Name != next.Name, "name")
	note(prev.Description != next.Description, "description")
	note(!maps.EqualFunc(prev.Attributes, next.Attributes, snapshot.Attribute.Equal), "attributes")
	note(prev.Resolver != next.Resolver, "resolver")
	note(prev.SourcePath != next.SourcePath, "source_path")
	if prev.Status != next.Status {
		c.Was = prev.Status
	}
	return c, true
}
