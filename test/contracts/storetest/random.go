package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/hub/store"
	"waymark/snapshot"
)

// RunRandom does steps random things to a store, over two hubs, and to a
// model of it, and compares what they answer.
func RunRandom(t *testing.T, database Make, r *rand.Rand, steps int) {
	t.Helper()
	keep := store.Retention{Revisions: 1 + r.IntN(8), Age: time.Duration(1+r.IntN(40)) * time.Minute, Bytes: -1}
	w := &walk{T: t, Rand: r, db: database(t), clock: newClock(), keep: keep, model: newModel(keep), given: map[string]int64{}}
	w.hubs = []store.Store{w.open(), w.open()}
	for _, id := range []string{"a", "b", "c"} {
		w.model.agents[id] = &modelAgent{}
		if _, err := w.hubs[0].CreateToken(t.Context(), newToken(store.RoleAgent, id)); err != nil {
			t.Fatal(err)
		}
		w.begin(id)
	}
	for range steps {
		w.step()
		if t.Failed() {
			t.Log(strings.Join(w.done[max(0, len(w.done)-12):], "\n"))
			return
		}
	}
	w.prune() // a push leaves payloads to it that only a pin had
}

// walk is one random test.
type walk struct {
	*testing.T
	*rand.Rand
	db    Database
	clock *clock
	keep  store.Retention
	hubs  []store.Store
	model *model
	given map[string]int64 // the generations given out last, by agent
	done  []string         // what was done, for people
}

func (w *walk) open() store.Store { return w.db.Open(w.T, Config{Now: w.clock.Now, History: w.keep}) }
func (w *walk) hub() store.Store  { return w.hubs[w.IntN(len(w.hubs))] }
func (w *walk) agent() string     { return []string{"a", "b", "c"}[w.IntN(3)] }
func (w *walk) now() time.Time    { return w.clock.advance(0) }

func (w *walk) record(format string, args ...any) {
	w.done = append(w.done, fmt.Sprintf(format, args...))
}

func (w *walk) step() {
	w.clock.advance(time.Duration(w.Int64N(int64(3 * time.Minute))))
	id := w.agent()
	switch n := w.IntN(100); {
	case n < 6:
		w.begin(id)
	case n < 60:
		w.push(id)
	case n < 62:
		w.prune()
	case n < 64:
		w.reopen()
	case n < 70:
		w.snapshot(id)
	case n < 74:
		w.diff(id)
	case n < 79:
		w.lists(id)
	case n < 96:
		w.pins(id)
	default:
		w.agents()
	}
}

func (w *walk) begin(id string) {
	g, _, err := w.hub().BeginSession(w.Context(), id, "")
	w.record("begin %s: %d", id, g)
	a := w.model.agents[id]
	if a.generation++; err != nil || g != a.generation {
		w.Errorf("generation %d, %v; want %d", g, err, a.generation)
	}
	w.given[id] = g
}

func (w *walk) prune() {
	w.record("prune")
	if err := w.hub().Prune(w.Context()); err != nil {
		w.Error(err)
	}
	for _, a := range w.model.agents {
		w.model.prune(a, w.now())
	}
	w.model.pruneEvents(w.now())
	w.count()
}

func (w *walk) reopen() {
	w.record("reopen")
	n := w.IntN(len(w.hubs))
	if err := w.hubs[n].Close(); err != nil {
		w.Error(err)
	}
	w.hubs[n] = w.open()
}

// revision is one that may be kept, dropped, or yet to come.
func (w *walk) revision() int64 { return w.Int64N(w.model.revision + 3) }

func (w *walk) snapshot(id string) { w.compareSnapshot(w.hub(), id, w.revision()) }

func (w *walk) compareSnapshot(s store.Store, id string, revision int64) {
	want, missing := w.model.at(id, revision)
	got, err := s.Snapshot(w.Context(), store.Query{AgentID: id, Revision: revision})
	if missing != nil {
		wantErr(w.T, err, store.ErrNotFound)
		return
	}
	expected := want.snapshot()
	if d := diff(expected.Snapshot, got.Snapshot); err != nil || d != "" ||
		got.Revision != expected.Revision || !got.ReceivedAt.Equal(expected.ReceivedAt) {
		w.Errorf("%s at %d: revision %d received at %v, %v; want %d, %v (-want +got):\n%s", id, revision,
			got.Revision, got.ReceivedAt, err, expected.Revision, expected.ReceivedAt, d)
	}
}

func (w *walk) diff(id string) {
	from, to := w.revision(), w.revision()
	a, missing1 := w.model.at(id, from)
	b, missing2 := w.model.at(id, to)
	got, err := w.hub().Diff(w.Context(), id, from, to)
	if missing1 != nil || missing2 != nil {
		wantErr(w.T, err, store.ErrNotFound)
		return
	}
	want := compare(a.snapshot().Snapshot.Resources, b.snapshot().Snapshot.Resources)
	if d := cmp.Diff(describe(want), describe(got)); err != nil || d != "" {
		w.Errorf("%s from %d to %d: %v (-want +got):\n%s", id, from, to, err, d)
	}
}

func (w *walk) lists(id string) {
	var want []store.Change
	for _, r := range slices.Backward(w.model.agents[id].past) {
		want = append(want, r.change(id))
	}
	got, err := w.hub().History(w.Context(), id)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
		w.Errorf("history of %s: %v (-want +got):\n%s", id, err, d)
	}
}

func (w *walk) agents() {
	list := agents(w.T, w.hub())
	for i, id := range w.model.ids() {
		want := store.AgentInfo{ID: id, CreatedAt: list[i].CreatedAt, Discovery: snapshot.Summary{Phase: snapshot.PhasePending}}
		if r := w.model.newest(id); r != nil {
			want.Discovery = r.head.Discovery.Summary()
			want.Version, want.AggregateHash, want.Resources = r.head.Version, r.head.AggregateHash, len(r.rows)
			want.Revision, want.UpdatedAt, want.SnapshotError = r.revision, r.received, r.head.SnapshotError
			for _, row := range r.rows {
				if row.Status != snapshot.StatusOK || row.Stale {
					want.InvalidResources++
				}
			}
		}
		for _, p := range w.model.pins {
			if p.AgentID == id && p.DriftRevision != 0 {
				want.DriftedPins++
			}
		}
		if want.SeenAt = list[i].SeenAt; want.SeenAt.Before(want.UpdatedAt) {
			w.Errorf("agent %s was seen at %s, and pushed at %s", id, want.SeenAt, want.UpdatedAt)
		}
		if d := cmp.Diff(want, list[i]); d != "" {
			w.Errorf("agent (-want +got):\n%s", d)
		}
	}
}

func (w *walk) count() {
	rows, pinned, bodies := w.model.counts()
	gotRows, gotPinned, gotBodies := w.db.Count(w.T, "resources"), w.db.Count(w.T, "pin_resources"), w.db.Count(w.T, "bodies")
	if gotRows != rows || gotPinned != pinned || gotBodies != bodies {
		w.Errorf("%d rows, %d pinned ones and %d payloads are stored, want %d, %d and %d", gotRows, gotPinned, gotBodies, rows, pinned, bodies)
	}
}
