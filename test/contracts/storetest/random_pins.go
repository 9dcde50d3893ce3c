package storetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waymark/hub/store"
	"waymark/snapshot"
)

// pins does something to a pin, or looks at one.
func (w *walk) pins(agentID string) {
	ids := slices.SortedFunc(maps.Keys(w.model.pins), strings.Compare)
	n := w.IntN(20)
	if len(ids) == 0 || n < 4 && len(ids) < 12 {
		w.createPin(agentID)
		return
	}
	p := w.model.pins[ids[w.IntN(len(ids))]]
	switch {
	case n < 7:
		w.refreshPin(p)
	case n < 9:
		w.deletePin(p)
	case n < 10:
		w.remove(agentID)
	case n < 14:
		w.events()
	default:
		w.comparePin(p)
	}
}

func (w *walk) createPin(agentID string) {
	pin, err := w.hub().CreatePin(w.Context(), agentID, "x")
	w.record("pin %s: %s, %v", agentID, pin.ID, err)
	if err != nil {
		w.Error(err)
		return
	}
	w.model.revision++
	p := &modelPin{Pin: store.Pin{ID: pin.ID, AgentID: agentID, Name: "x", CreatedAt: w.now()}}
	p.change(w.model.revision, w.now())
	p.fill(w.model.newest(agentID), w.now())
	w.model.pins[pin.ID] = p
	w.samePin(p, pin)
}

func (w *walk) samePin(want *modelPin, got store.Pin) {
	if d := cmp.Diff(want.Pin, got, cmpopts.EquateEmpty()); d != "" {
		w.Errorf("pin (-want +got):\n%s", d)
	}
}

func (w *walk) refreshPin(p *modelPin) {
	got, err := w.hub().RefreshPin(w.Context(), p.ID)
	w.record("refresh %s: %v", p.ID, err)
	if err != nil {
		w.Error(err)
		return
	}
	w.model.revision++
	p.fill(w.model.newest(p.AgentID), w.now())
	p.change(w.model.revision, w.now())
	w.samePin(p, got)
}

func (w *walk) deletePin(p *modelPin) {
	err := w.hub().DeletePin(w.Context(), p.ID)
	w.record("delete %s: %v", p.ID, err)
	if err != nil {
		w.Error(err)
	}
	w.model.revision++
	was := p.Pin
	w.model.log = append(w.model.log, modelEvent{store.Event{Revision: w.model.revision, Deleted: &was}, p.AgentID, w.now()})
	delete(w.model.pins, p.ID)
	_, err = w.hub().Pin(w.Context(), p.ID)
	wantErr(w.T, err, store.ErrNotFound)
}

// remove removes an agent, and makes it anew.
func (w *walk) remove(agentID string) {
	err := w.hub().RemoveAgent(w.Context(), agentID)
	w.record("remove %s: %v", agentID, err)
	if err == nil {
		_, err = w.hub().CreateToken(w.Context(), newToken(store.RoleAgent, agentID))
	}
	if err != nil {
		w.Error(err)
		return
	}
	w.model.removeAgent(agentID, w.now())
	w.begin(agentID)
}

func (w *walk) events() {
	got, _ := follow(w.T, w.hub(), store.Cursor{}, 1+w.IntN(20))
	place := cmpopts.IgnoreFields(store.Event{}, "At")
	if d := cmp.Diff(w.model.events(), got, cmpopts.EquateEmpty(), place); d != "" {
		w.Errorf("events (-want +got):\n%s", d)
	}
	for range 3 {
		if len(got) > 0 {
			n := w.IntN(len(got))
			rest, _ := follow(w.T, w.hub(), got[n].At, 1+w.IntN(20))
			if d := cmp.Diff(got[n+1:], rest, cmpopts.EquateEmpty()); d != "" {
				w.Errorf("events after %v (-want +got):\n%s", got[n].At, d)
			}
		}
	}
}

// comparePin looks at all of a pin, and at what is different with its agent.
func (w *walk) comparePin(p *modelPin) {
	got, stored, err := w.hub().PinSnapshot(w.Context(), p.ID, false)
	now := &modelRevision{}
	if newest := w.model.newest(p.AgentID); newest != nil {
		now = newest
	}
	pinned := &modelRevision{head: p.head, rows: p.rows, revision: p.Revision, received: p.received}
	pinned.head.Discovery = now.head.Discovery
	want := pinned.snapshot()
	if p.Revision == 0 {
		wantErr(w.T, err, store.ErrNotFound)
	} else {
		w.samePin(p, got)
		d := diff(want.Snapshot, stored.Snapshot)
		if err != nil || d != "" || stored.Revision != want.Revision || !stored.ReceivedAt.Equal(want.ReceivedAt) {
			w.Errorf("pin of %s at %d, received at %v: %v; want %d, %v (-want +got):\n%s", p.AgentID, stored.Revision, stored.ReceivedAt,
				err, want.Revision, want.ReceivedAt, d)
		}
	}
	_, changes, revision, err := w.hub().PinDiff(w.Context(), p.ID)
	expected := compare([]snapshot.Resource(want.Snapshot.Resources), []snapshot.Resource(now.snapshot().Snapshot.Resources))
	if d := cmp.Diff(describe(expected), describe(changes)); err != nil || d != "" || revision != now.revision {
		w.Errorf("pin of %s against %d, %v; want %d (-want +got):\n%s", p.AgentID, revision, err, now.revision, d)
	}
	list, err := w.hub().Pins(w.Context(), p.AgentID)
	if err != nil || !slices.ContainsFunc(list, func(other store.Pin) bool { return other.ID == p.ID }) {
		w.Errorf("%s isn't among the pins of %s: %v, %v", p.ID, p.AgentID, list, err)
	}
}
