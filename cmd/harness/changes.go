package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/host"
	"waymark/host/resolve"
	"waymark/snapshot"
)

// The events of `harness watch`.
const (
	eventBuilt   = "built"
	eventFailed  = "build failed"
	eventModule  = "module" // its state, or a new version
	eventRun     = "run"
	eventWarning = "warning"
	eventAdded   = "added"
	eventChanged = "changed"
	eventRemoved = "removed"
	eventProblem = "problem" // of the whole, for example that files can't be watched
)

// change is one line of `harness watch --json`.
type change struct {
	Time     time.Time          `json:"time"`
	Event    string             `json:"event"`
	Detail   string             `json:"detail,omitempty"`
	Module   *snapshot.Plugin   `json:"module,omitempty"`
	Resource *snapshot.Resource `json:"resource,omitempty"`
	// What is different about a resource.
	Changed []string `json:"changed,omitempty"`
	// Of a run:
	Resolver string        `json:"resolver,omitempty"`
	Because  string        `json:"because,omitempty"` // the path that changed
	Error    string        `json:"error,omitempty"`
	Finds    int           `json:"finds,omitempty"`
	Fuel     int64         `json:"fuel,omitempty"`
	Before   int64         `json:"fuel_before,omitempty"` // of the run before
	Duration time.Duration `json:"duration_ns,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"`
}

// seen is what was shown last.
type seen struct {
	version   uint64                     // of the snapshot
	modules   map[string]snapshot.Plugin // by path
	resources map[string]*snapshot.Resource
	said      map[string]string // per resolver: its failure, or its warnings
	fuel      map[string]int64  // per resolver
	problem   string
}

// next lists what is different in a report, and remembers it.
func (s *seen) next(r *host.Report) (list []change) {
	list = append(list, s.nextSnapshot(r.Snapshot)...)
	for i := range r.Checked {
		list = append(list, s.nextOutcome(&r.Checked[i])...)
	}
	return append(list, s.nextResources(r.Snapshot.Resources)...)
}

// nextSnapshot tells of what can be new without a refresh.
func (s *seen) nextSnapshot(snap *snapshot.Snapshot) (list []change) {
	if snap.Version < s.version { // a newer one was quicker
		return nil
	}
	s.version = snap.Version
	list = append(list, s.nextModules(snap.Plugins)...)
	if snap.SnapshotError != s.problem {
		s.problem = snap.SnapshotError
		list = append(list, change{Event: eventProblem, Detail: s.problem})
	}
	return list
}

// nextModules tells of new versions, and of states that aren't a resolver's
// failure, which its run tells of.
func (s *seen) nextModules(list []snapshot.Plugin) (changes []change) {
	now := map[string]snapshot.Plugin{}
	for _, p := range list {
		if p.State == snapshot.PluginFailing || p.State == snapshot.PluginQuarantined {
			p.State, p.Error = snapshot.PluginReady, ""
		}
		now[p.Path] = p
		if before, ok := s.modules[p.Path]; !ok || !before.Equal(p) {
			changes = append(changes, change{Event: eventModule, Module: &p})
		}
	}
	s.modules = now
	return changes
}

// nextOutcome tells of a run, and of what is new about its failure or warnings.
func (s *seen) nextOutcome(o *resolve.Outcome) (list []change) {
	said := strings.Join(o.Warnings, "\n")
	if o.Err != nil {
		said = o.Err.Error()
	}
	if s.said == nil {
		s.said, s.fuel = map[string]string{}, map[string]int64{}
	}
	news := s.said[o.Resolver] != said
	s.said[o.Resolver] = said
	if o.Reused || o.Err != nil && !news {
		return nil
	}
	c := change{
		Event: eventRun, Resolver: o.Resolver, Because: o.Changed,
		Finds: len(o.Candidates), Fuel: o.Fuel, Before: s.fuel[o.Resolver], Duration: o.Duration,
	}
	if o.Err != nil {
		c.Error = o.Err.Error()
		return append(list, c)
	}
	s.fuel[o.Resolver] = o.Fuel
	list = append(list, c)
	for _, w := range o.Warnings {
		if news {
			list = append(list, change{Event: eventWarning, Resolver: o.Resolver, Detail: w})
		}
	}
	return list
}

func (s *seen) nextResources(list []snapshot.Resource) (changes []change) {
	now := make(map[string]*snapshot.Resource, len(list))
	for i := range list {
		now[list[i].ID()] = &list[i]
	}
	for _, id := range slices.Sorted(maps.Keys(s.resources)) {
		if now[id] == nil {
			changes = append(changes, change{Event: eventRemoved, Resource: s.resources[id]})
		}
	}
	for i := range list {
		r := &list[i]
		switch before := s.resources[r.ID()]; {
		case before == nil:
			changes = append(changes, change{Event: eventAdded, Resource: r})
		case !before.Equal(r):
			changes = append(changes, change{Event: eventChanged, Resource: r, Changed: differences(before, r)})
		}
	}
	s.resources = now
	return changes
}

// differences names what an author would want to know.
func differences(a, b *snapshot.Resource) (list []string) {
	for _, d := range []struct {
		what    string
		differs bool
	}{
		{"content", !slices.Equal(a.ContentHash, b.ContentHash) || a.SizeBytes != b.SizeBytes},
		{"status", a.Status != b.Status || a.Stale != b.Stale},
		{"error", a.Error != b.Error},
		{"name", a.Name != b.Name},
		{"description", a.Description != b.Description},
		{"attributes", !maps.EqualFunc(a.Attributes, b.Attributes, snapshot.Attribute.Equal)},
		{"version", a.Resolver != b.Resolver},
	} {
		if d.differs {
			list = append(list, d.what)
		}
	}
	return list
}
