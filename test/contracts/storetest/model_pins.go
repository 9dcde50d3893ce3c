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
	// changedAt is when Changed was set.
	changedAt time.Time
}

// modelEvent is something that happened to an agent, or to a pin of it.
type modelEvent struct {
	store.Event
	agent string
	at    time.Time
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

func (p *modelPin) change(revision int64, now time.Time) { p.Changed, p.changedAt = revision, now }

// pushPins does to pins what a push does; all says that it is the first one, or that
// the discovery has changed, which pins have of their agents.
func (m *model) pushPins(agentID string, made *modelRevision, all bool, now time.Time) {
	for _, p := range m.pins {
		if p.AgentID != agentID {
			continue
		}
		if all {
			p.change(made.revision, now)
		}
		if p.Revision == 0 {
			p.fill(made, now)
			p.change(made.revision, now)
			continue
		}
		if p.follow(made) {
			p.change(made.revision, now)
		}
		if p.DriftedAt.IsZero() && string(p.AggregateHash) != string(made.head.AggregateHash) {
			p.DriftedAt, p.DriftRevision = now, made.revision
			p.change(made.revision, now)
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
			p.change(m.revision, now)
		}
	}
	m.log = slices.DeleteFunc(m.log, func(e modelEvent) bool { return e.Change != nil && e.agent == id })
	m.log = append(m.log, modelEvent{store.Event{Revision: m.revision, RemovedAgent: id}, id, now})
}

// pruneEvents forgets the first events, as long as they are old. Those of pins are in time
// with what changed them.
func (m *model) pruneEvents(now time.Time) {
	m.prunedBefore = now.Add(-min(m.keep.Age, store.EventsFor))
	m.log = slices.DeleteFunc(m.log, func(e modelEvent) bool { return e.at.Before(m.prunedBefore) })
}

// events is what a store should answer.
func (m *model) events() (all []store.Event) {
	for _, id := range slices.SortedFunc(maps.Keys(m.pins), strings.Compare) {
		if p := m.pins[id]; !p.changedAt.Before(m.prunedBefore) {
			all = append(all, store.Event{Revision: p.Changed, Pin: &p.Pin})
		}
	}
	for _, e := range m.log {
		all = append(all, e.Event)
	}
	slices.SortStableFunc(all, func(a, b store.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	return all
}
