package storetest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

// model is what a store should be, in the plainest way: every revision is a
// whole copy. It has nothing in common with what it is compared to.
type model struct {
	keep         store.Retention // effective, without a limit of bytes
	revision     int64
	agents       map[string]*modelAgent
	pins         map[string]*modelPin
	prunedBefore time.Time
	log          []modelEvent // of pushes, deleted pins and removed agents
}

type modelAgent struct {
	generation int64
	past       []*modelRevision // the oldest first
}

type modelRevision struct {
	revision, generation int64
	head                 snapshot.Snapshot // without resources
	name                 wire.Name         // zero for none
	rows                 map[string]snapshot.Resource
	created, received    time.Time
	added, changed, gone int
	touched              []string
}

func newModel(keep store.Retention) *model {
	return &model{keep: keep.Effective(), agents: map[string]*modelAgent{}, pins: map[string]*modelPin{}}
}

func (m *model) newest(id string) *modelRevision {
	if past := m.agents[id].past; len(past) > 0 {
		return past[len(past)-1]
	}
	return nil
}

// push does what store.Store.Push says, for a push that CheckPush takes.
func (m *model) push(id string, generation int64, p *store.Push, now time.Time) (result store.PushResult, err error) {
	a, old := m.agents[id], m.newest(id)
	if generation < 1 || generation > a.generation || old != nil && generation < old.generation {
		return result, store.ErrSuperseded
	}
	if old != nil && !p.Initial && p.Snapshot.Version <= old.head.Version && (p.Update == nil || old.generation == generation) {
		return store.PushResult{Revision: old.revision}, nil
	}
	rows, head := map[string]snapshot.Resource{}, p.Snapshot
	if p.Partial() {
		if old == nil || p.Update.Base != old.name {
			return result, store.ErrFullNeeded
		}
		if !p.Update.Head {
			head = old.head
			head.Version = p.Snapshot.Version
		}
		rows = maps.Clone(old.rows)
		for _, gone := range p.Update.Removed {
			if _, ok := rows[gone]; !ok {
				return result, store.ErrFullNeeded
			}
			delete(rows, gone)
		}
	}
	if missing := a.fill(p); missing != nil {
		result.Missing = missing
		if old != nil {
			result.Revision = old.revision
		}
		return result, nil
	}
	for i := range p.Snapshot.Resources {
		rows[p.Snapshot.Resources[i].ID()] = p.Snapshot.Resources[i]
	}
	result = store.PushResult{Accepted: true}
	if old == nil {
		old = &modelRevision{}
	}
	made, facts := compareRows(old.rows, rows)
	result.Written, result.Removed = made.added+made.changed, made.gone
	head.Resources = nil
	var name wire.Name
	if p.Update != nil {
		name = p.Update.Name
	}
	if old.rows != nil && result.Written == 0 && result.Removed == 0 && !facts && sameHead(&old.head, &head) {
		old.head, old.name, old.generation, old.received = head, name, generation, now
		result.Revision = old.revision
		return result, nil
	}
	if facts {
		a.setFacts(rows)
	}
	m.revision++
	made.revision, made.generation, made.head, made.name, made.rows, made.created, made.received = m.revision, generation, head, name, rows, now, now
	a.past = append(a.past, made)
	m.log = append(m.log, modelEvent{store.Event{Revision: m.revision, Change: new(made.change(id))}, id, now})
	m.pushPins(id, made, len(a.past) == 1 || !head.Discovery.Equal(old.head.Discovery), now)
	m.prune(a, now)
	result.Revision = m.revision
	return result, nil
}

// fill brings the payloads that a push only names, or returns where it can't.
func (a *modelAgent) fill(p *store.Push) (missing []int) {
	for i := range p.Snapshot.Resources {
		r := &p.Snapshot.Resources[i]
		named, isNamed := p.Bodies[i]
		if !isNamed || r.Payload != nil {
			continue
		}
		for _, past := range a.past {
			for _, row := range past.rows {
				if row.Payload != nil && body(string(row.Payload)) == named {
					r.Payload = row.Payload
				}
			}
		}
		if r.Payload == nil {
			missing = append(missing, i)
		}
	}
	return missing
}

// setFacts sets those of rows in the past, as far back as these are the same otherwise:
// no revision is kept of facts alone.
func (a *modelAgent) setFacts(rows map[string]snapshot.Resource) {
	for id, r := range rows {
		for i := len(a.past) - 1; i >= 0; i-- {
			was, ok := a.past[i].rows[id]
			if !ok || !sameButFacts(was, r) {
				break
			}
			a.past[i].rows[id] = r
		}
	}
}

func sameButFacts(a, b snapshot.Resource) bool {
	a.ClearFacts()
	b.ClearFacts()
	return a.Equal(&b)
}

// compareRows returns a revision of which only is set what it touched, and whether any
// row has other facts alone.
func compareRows(old, rows map[string]snapshot.Resource) (made *modelRevision, facts bool) {
	made = &modelRevision{}
	for rid, r := range rows {
		switch was, ok := old[rid]; {
		case !ok:
			made.added++
		case !sameButFacts(was, r):
			made.changed++
		default:
			facts = facts || !was.Equal(&r)
			continue
		}
		made.touched = append(made.touched, rid)
	}
	for rid := range old {
		if _, ok := rows[rid]; !ok {
			made.gone++
			made.touched = append(made.touched, rid)
		}
	}
	slices.Sort(made.touched)
	made.touched = made.touched[:min(len(made.touched), store.MaxTouched)]
	return made, facts
}

func sameHead(a, b *snapshot.Snapshot) bool {
	return bytes.Equal(a.AggregateHash, b.AggregateHash) && a.SnapshotError == b.SnapshotError && a.Discovery.Equal(b.Discovery) &&
		slices.EqualFunc(a.Plugins, b.Plugins, snapshot.Plugin.Equal)
}

// prune drops an agent's revisions that are beyond the retention.
func (m *model) prune(a *modelAgent, now time.Time) {
	for i := range a.past {
		superseded := len(a.past) - 1 - i
		tooMany := superseded >= m.keep.Revisions
		tooOld := superseded > 0 && a.past[i+1].created.Before(now.Add(-m.keep.Age))
		if !tooMany && !tooOld {
			a.past = a.past[i:]
			return
		}
	}
}

var errNone = errors.New("none")

// at returns an agent's revision at one of any agent, 0 for the newest.
func (m *model) at(id string, revision int64) (*modelRevision, error) {
	var found *modelRevision
	for _, r := range m.agents[id].past {
		if revision == 0 || r.revision <= revision {
			found = r
		}
	}
	if found == nil {
		return nil, errNone
	}
	return found, nil
}

// snapshot is what a store should answer.
func (r *modelRevision) snapshot() store.StoredSnapshot {
	s := store.StoredSnapshot{Snapshot: r.head, Revision: r.revision, ReceivedAt: r.received}
	s.Snapshot.PayloadBytes = 0
	for _, row := range r.rows {
		s.Snapshot.Resources = append(s.Snapshot.Resources, row)
		s.Snapshot.PayloadBytes += int64(len(row.Payload))
	}
	s.Snapshot.Resources = sorted(s.Snapshot.Resources)
	return s
}

func (r *modelRevision) change(id string) store.Change {
	return store.Change{
		Revision: r.revision, AgentID: id, Version: r.head.Version,
		AggregateHash: r.head.AggregateHash, Resources: len(r.rows), At: r.created,
		Added: r.added, Changed: r.changed, Removed: r.gone, Touched: r.touched, Discovery: r.head.Discovery.Summary(),
	}
}

// counts returns how many rows and payloads a store needs for what is kept.
func (m *model) counts() (rows, pinned, bodies int) {
	distinct := map[string]struct{}{}
	for _, p := range m.pins {
		pinned += len(p.rows)
		for _, row := range p.rows {
			if row.Payload != nil {
				distinct[string(row.Payload)] = struct{}{}
			}
		}
	}
	for _, a := range m.agents {
		var before map[string]snapshot.Resource
		for _, r := range a.past {
			for id, row := range r.rows {
				if row.Payload != nil {
					distinct[string(row.Payload)] = struct{}{}
				}
				if was, ok := before[id]; !ok || !sameButFacts(was, row) {
					rows++
				}
			}
			before = r.rows
		}
	}
	return rows, pinned, len(distinct)
}

func (m *model) ids() []string { return slices.SortedFunc(maps.Keys(m.agents), strings.Compare) }
