package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
)

// modelPin is a pin and a whole copy of what it holds.
type modelPin struct {
	store.Pin
	head     snapshot.Snapshot
	rows     map[string]snapshot.Resource
	received time.Time
}

// modelRemoval is something that was there once.
type modelRemoval struct {
	revision int64
	pin      *store.Pin // nil for an agent
	agent    string
	at       time.Time
}

// fill makes a pin hold what the revision has; nil is nothing.
func (p *modelPin) fill(r *modelRevision, now time.Time) {
	p.Revision, p.AggregateHash, p.PinnedAt, p.DriftedAt, p.DriftRevision = 0, nil, time.Time{}, time.Time{}, 0
	p.rows, p.head = nil, snapshot.Snapshot{}
	if r != nil {
		p.Revision, p.AggregateHash, p.PinnedAt = r.revision, r.head.AggregateHash, now
		p.rows, p.head, p.received = maps.Clone(r.rows), r.head, r.received
	}
}

// pushPins does to pins what a push does; all says that it is the first one, or that
// the discovery has changed, which pins have of their agents.
func (m *model) pushPins(agentID string, made *modelRevision, all bool, now time.Time) {
	for _, p := range m.pins {
		if p.AgentID != agentID {
			continue
		}
		if all {
			p.Changed = made.revision
		}
		if p.Revision == 0 {
			p.fill(made, now)
			p.Changed = made.revision
			continue
		}
		if p.follow(made) {
			p.Changed = made.revision
		}
		if p.DriftedAt.IsZero() && string(p.AggregateHash) != string(made.head.AggregateHash) {
			p.DriftedAt, p.DriftRevision, p.Changed = now, made.revision, made.revision
		}
	}
}

// follow replaces what follows live, and reports whether that was different.
func (p *modelPin) follow(r *modelRevision) (changed bool) {
	live := func(rows map[string]snapshot.Resource) map[string]snapshot.Resource {
		kept := map[string]snapshot.Resource{}
		for id, row := range rows {
			if store.FollowsLive(row.Kind) {
				kept[id] = row
			}
		}
		return kept
	}
	before, after := live(p.rows), live(r.rows)
	if maps.EqualFunc(before, after, func(a, b snapshot.Resource) bool { return a.Equal(&b) }) {
		return false
	}
	for id := range before {
		delete(p.rows, id)
	}
	maps.Copy(p.rows, after)
	return true
}

// removeAgent takes an agent away and puts a new one of that id in its place.
func (m *model) removeAgent(id string, now time.Time) {
	m.revision++
	m.agents[id] = &modelAgent{}
	for _, p := range m.pins {
		if p.AgentID == id {
			p.Changed = m.revision
		}
	}
	m.removals = append(m.removals, modelRemoval{revision: m.revision, agent: id, at: now})
}

func (m *model) pruneRemovals(now time.Time) {
	last := int64(0)
	for _, r := range m.removals {
		if r.at.Before(now.Add(-m.keep.Age)) {
			last = r.revision
		}
	}
	m.removals = slices.DeleteFunc(m.removals, func(r modelRemoval) bool { return r.revision <= last })
	m.floor = max(m.floor, last)
}

// events is what a store should answer.
func (m *model) events(after int64, limit int) store.Events {
	var all []store.Event
	ids := slices.SortedFunc(maps.Keys(m.pins), strings.Compare)
	for _, id := range ids {
		pin := m.pins[id].Pin
		all = append(all, store.Event{Revision: pin.Changed, Pin: &pin})
	}
	for _, ch := range m.changes(after) {
		all = append(all, store.Event{Revision: ch.Revision, Change: &ch})
	}
	for _, r := range m.removals {
		all = append(all, store.Event{Revision: r.revision, Deleted: r.pin, RemovedAgent: r.agent})
	}
	all = slices.DeleteFunc(all, func(e store.Event) bool { return e.Revision <= after })
	slices.SortStableFunc(all, func(a, b store.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	page := store.Events{Newest: m.revision, Floor: m.floor, Through: max(after, m.revision)}
	for i, e := range all {
		if i == 0 || e.Revision != all[i-1].Revision {
			if limit--; limit < 0 {
				break
			}
		}
		page.List, page.Through = append(page.List, e), e.Revision
	}
	return page
}
