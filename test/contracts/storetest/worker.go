package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

// WorkHistory is the retention that a Worker's store should have: short, so
// that pushes also drop what is old.
var WorkHistory = store.Retention{Revisions: 8}

// Worker pushes for one agent, again and again, states that follow from their
// versions alone: whoever reads one can tell whether it is whole.
type Worker struct {
	Store   store.Store
	AgentID string
	// Acked gets a line for every push that was accepted.
	Acked io.Writer
}

// Ack is a push that was acknowledged.
type Ack struct {
	AgentID    string
	Generation int64
	Version    uint64
	Revision   int64
}

func (a Ack) String() string {
	return fmt.Sprintf("%s %d %d %d", a.AgentID, a.Generation, a.Version, a.Revision)
}

// ParseAck reads a line of Worker.Acked.
func ParseAck(line string) (a Ack, err error) {
	_, err = fmt.Sscan(line, &a.AgentID, &a.Generation, &a.Version, &a.Revision)
	return a, err
}

// Session begins a session, pushes as an agent does, a full push first and
// then deltas with a full one now and then, and returns what ends it.
func (w *Worker) Session(ctx context.Context) error {
	generation, _, err := w.Store.BeginSession(ctx, w.AgentID, "")
	if err != nil {
		return err
	}
	var last wire.Name
	for version := uint64(1); ; version++ {
		p := whole(version, work(w.AgentID, version)...)
		if version%5 > 1 {
			p = workDelta(w.AgentID, version, last)
		}
		p.Snapshot.SnapshotError = fmt.Sprint(generation)
		if p.Update == nil {
			p = fully(p)
		}
		last = p.Update.Name
		result, err := w.Store.Push(ctx, w.AgentID, generation, p)
		if err != nil {
			return err
		}
		if !result.Accepted {
			return fmt.Errorf("%s: version %d of session %d is not accepted: %+v", w.AgentID, version, generation, result)
		}
		if _, err := fmt.Fprintln(w.Acked, Ack{w.AgentID, generation, version, result.Revision}); err != nil {
			return err
		}
	}
}

// work is the state of a version: some rows that stay, one that changes, some
// that come and go.
func work(agentID string, version uint64) []snapshot.Resource {
	var list []snapshot.Resource
	for i := range uint64(12) {
		since := version - (version+i)%7 // changes every seventh version
		if i%4 == 3 && since%2 == 0 {
			continue
		}
		list = append(list, skill(fmt.Sprint(i), strings.Repeat(fmt.Sprintf("%s at %d. ", agentID, since), 100)))
	}
	return append(list, skill("shared", "the same for all agents"))
}

// workDelta is the step from the version before.
func workDelta(agentID string, version uint64, base wire.Name) store.Push {
	before, after := work(agentID, version-1), work(agentID, version)
	p := delta(base, version, nil)
	p.Update.Head = true
	for _, ch := range compare(before, after) {
		if ch.After == nil {
			p.Update.Removed = append(p.Update.Removed, ch.ID)
		} else {
			p.Snapshot.Resources = append(p.Snapshot.Resources, *ch.After)
		}
	}
	return p
}

// CheckWork says what is wrong with the stored state of an agent for which a
// Worker pushes or has pushed: every revision that is kept must be whole, and
// what was acknowledged must be there, unless something newer is.
func CheckWork(t testing.TB, s store.Store, agentID string, acked Ack) {
	t.Helper()
	history, err := s.History(t.Context(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	var newest Ack
	for i := range history {
		at := store.Query{AgentID: agentID, Revision: history[i].Revision}
		got, err := s.Snapshot(t.Context(), at)
		if errors.Is(err, store.ErrNotFound) && !listed(t, s, agentID, at.Revision) {
			continue // dropped by a push that came meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		var generation int64
		if _, err := fmt.Sscan(got.Snapshot.SnapshotError, &generation); err != nil {
			t.Fatal(err)
		}
		version := got.Snapshot.Version
		want := snapshot.Snapshot{Version: version, SnapshotError: got.Snapshot.SnapshotError, Resources: sorted(work(agentID, version))}
		for _, r := range want.Resources {
			want.PayloadBytes += int64(len(r.Payload))
		}
		if d := diff(want, got.Snapshot); d != "" {
			t.Errorf("%s at revision %d (-want +got):\n%s", agentID, got.Revision, d)
		}
		if got.Revision > newest.Revision {
			newest = Ack{agentID, generation, version, got.Revision}
		}
	}
	if acked.Revision == 0 {
		return
	}
	if newest.Revision < acked.Revision || newest.Generation < acked.Generation ||
		newest.Generation == acked.Generation && newest.Version < acked.Version {
		t.Errorf("%s: acknowledged was [%v], stored is [%v]", agentID, acked, newest)
	}
	for i := range history {
		if history[i].Revision == acked.Revision && history[i].Version != acked.Version {
			t.Errorf("%s: acknowledged was [%v], that revision has version %d", agentID, acked, history[i].Version)
		}
	}
}

func listed(t testing.TB, s store.Store, agentID string, revision int64) bool {
	t.Helper()
	history, err := s.History(t.Context(), agentID)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(history, func(ch store.Change) bool { return ch.Revision == revision })
}

// CheckCounts reports whether there are rows and payloads that no revision has,
// or too few.
func CheckCounts(t testing.TB, db Database, s store.Store, agentIDs ...string) {
	t.Helper()
	m := newModel(WorkHistory)
	for _, id := range agentIDs {
		a := &modelAgent{}
		history, err := s.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(history) - 1; i >= 0; i-- {
			r := &modelRevision{rows: map[string]snapshot.Resource{}}
			for _, row := range work(id, history[i].Version) {
				r.rows[row.ID()] = row
			}
			a.past = append(a.past, r)
		}
		m.agents[id] = a
	}
	rows, _, bodies := m.counts()
	if gotRows, gotBodies := db.Count(t, "resources"), db.Count(t, "bodies"); gotRows != rows || gotBodies != bodies {
		t.Errorf("%d rows and %d payloads are stored, want %d and %d", gotRows, gotBodies, rows, bodies)
	}
}
