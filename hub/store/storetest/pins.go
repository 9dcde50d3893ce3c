package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var pinTests = map[string]func(*testing.T, Database){
	"PinDrift":     testPinDrift,
	"PinHydrates":  testPinHydrates,
	"PinDiff":      testPinDiff,
	"PinBodies":    testPinBodies,
	"PinEvents":    testPinEvents,
	"PinLimits":    testPinLimits,
	"PinsTwoHubs":  testPinsTwoHubs,
	"RemoveAgent":  testRemoveAgent,
	"EventsFloor":  testEventsFloor,
	"EventsPages":  testEventsPages,
	"RemovalsGone": testRemovalsGone,
}

// server is what a pin follows live: outside the hash.
func server(name, text string) snapshot.Resource {
	r := skill(name, text)
	r.Kind, r.Source, r.Key = abi.KindMCPServer, "/w/.mcp.json", name
	return r
}

// hashed is a full push as an agent makes it, with a hash that is right.
func hashed(version uint64, resources ...snapshot.Resource) store.Push {
	p := whole(version, resources...)
	p.Snapshot.AggregateHash = snapshot.Aggregate(resources)
	p.Initial = version == 1
	return p
}

// drift is one step of testPinDrift, and what must be true of the pin after.
type drift struct {
	name string
	do   func(w *pinWorld)
	// pinned are the pin's resources, nil for an empty pin.
	pinned  []snapshot.Resource
	drifted bool
	// told says that the step changed the pin, which readers hear of.
	told, gone bool
}

// pinWorld is one pin and its agent.
type pinWorld struct {
	*testing.T
	s          store.Store
	c          *clock
	generation int64
	pin        store.Pin
}

func (w *pinWorld) push(version uint64, resources ...snapshot.Resource) {
	w.Helper()
	if result := push(w.T, w.s, "a", w.generation, hashed(version, resources...)); !result.Accepted {
		w.Fatalf("version %d is not accepted", version)
	}
}

func (w *pinWorld) session() {
	w.Helper()
	w.generation = agent(w.T, w.s, "a")
}

func (w *pinWorld) refresh() {
	w.Helper()
	if _, err := w.s.RefreshPin(w.Context(), w.pin.ID); err != nil {
		w.Fatal(err)
	}
}

// testPinDrift is what a pin does in the life of a chat, step by step.
func testPinDrift(t *testing.T, db Database) {
	one, two, mcp, mcp2 := skill("x", "1"), skill("x", "2"), server("m", "1"), server("m", "2")
	stale := skill("x", "1")
	stale.Stale, stale.Resolver = false, "another@2.0.0"
	c := newClock()
	w := &pinWorld{T: t, s: db.Open(t, Config{Now: c.Now}), c: c}
	w.session()
	w.push(1, one)
	var err error
	if w.pin, err = w.s.CreatePin(t.Context(), "a", "chat"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []drift{
		{name: "pinned", do: func(*pinWorld) {}, pinned: list(one)},
		{name: "the same again", do: func(w *pinWorld) { w.push(2, one) }, pinned: list(one)},
		{name: "a change outside the hash", do: func(w *pinWorld) { w.push(3, stale) }, pinned: list(one)},
		{name: "MCP only: added", do: func(w *pinWorld) { w.push(4, stale, mcp) }, pinned: list(one, mcp), told: true},
		{name: "MCP only: changed", do: func(w *pinWorld) { w.push(5, stale, mcp2) }, pinned: list(one, mcp2), told: true},
		{name: "edit", do: func(w *pinWorld) { w.push(6, two, mcp2) }, pinned: list(one, mcp2), drifted: true, told: true},
		{name: "another edit is no other drift", do: func(w *pinWorld) { w.push(7, skill("x", "3"), mcp2) }, pinned: list(one, mcp2), drifted: true},
		{name: "MCP is followed while drifted", do: func(w *pinWorld) { w.push(8, two, mcp) }, pinned: list(one, mcp), drifted: true, told: true},
		{name: "edit back", do: func(w *pinWorld) { w.push(9, one, mcp) }, pinned: list(one, mcp), drifted: true},
		{name: "refresh", do: (*pinWorld).refresh, pinned: list(one, mcp), told: true},
		{name: "edit after refresh", do: func(w *pinWorld) { w.push(10, two, mcp) }, pinned: list(one, mcp), drifted: true, told: true},
		{name: "refresh to the edit", do: (*pinWorld).refresh, pinned: list(two, mcp), told: true},
		{name: "agent rebuilt, the same", do: func(w *pinWorld) { w.session(); w.push(1, two, mcp) }, pinned: list(two, mcp)},
		{name: "agent rebuilt, other content", do: func(w *pinWorld) { w.session(); w.push(1, skill("y", "1")) }, pinned: list(two), drifted: true, told: true},
		{name: "everything gone", do: func(w *pinWorld) { w.push(2) }, pinned: list(two), drifted: true},
		{name: "refresh to nothing", do: (*pinWorld).refresh, pinned: list(), told: true},
		{name: "something again", do: func(w *pinWorld) { w.push(3, one, mcp) }, pinned: list(mcp), drifted: true, told: true},
		{name: "agent gone", do: remove, pinned: list(mcp), drifted: true, told: true, gone: true},
		{name: "agent back", do: func(w *pinWorld) { w.session() }, pinned: list(mcp), drifted: true},
		{name: "agent back with a snapshot", do: func(w *pinWorld) { w.push(1, one) }, pinned: list(), drifted: true, told: true},
		{name: "MCP again", do: func(w *pinWorld) { w.push(2, one, mcp2) }, pinned: list(mcp2), drifted: true, told: true},
		{name: "agent gone again", do: remove, pinned: list(mcp2), drifted: true, told: true, gone: true},
		{name: "agent back with the same MCP", do: func(w *pinWorld) { w.session(); w.push(1, one, mcp2) }, pinned: list(mcp2), drifted: true, told: true},
		{name: "agent gone at last", do: remove, pinned: list(mcp2), drifted: true, told: true, gone: true},
		{name: "refresh without an agent", do: (*pinWorld).refresh, told: true, gone: true},
		{name: "hydrated", do: func(w *pinWorld) { w.session(); w.push(1, two) }, pinned: list(two), told: true},
	} {
		w.step(step)
	}
}

func remove(w *pinWorld) {
	if err := w.s.RemoveAgent(w.Context(), "a"); err != nil {
		w.Fatal(err)
	}
}

// list is never nil.
func list(resources ...snapshot.Resource) []snapshot.Resource {
	return append([]snapshot.Resource{}, resources...)
}

func (w *pinWorld) step(step drift) {
	w.Helper()
	now := w.c.advance(time.Second)
	before := w.pin
	step.do(w)
	var err error
	if w.pin, err = w.s.Pin(w.Context(), w.pin.ID); err != nil {
		w.Fatalf("%s: %v", step.name, err)
	}
	got := w.pin
	if drifted := !got.DriftedAt.IsZero(); drifted != step.drifted || drifted != (got.DriftRevision > 0) {
		w.Errorf("%s: drifted at %v in revision %d, want %v", step.name, got.DriftedAt, got.DriftRevision, step.drifted)
	}
	if step.drifted && before.DriftedAt.IsZero() && (!got.DriftedAt.Equal(now) || got.DriftRevision <= before.Changed) {
		w.Errorf("%s: drifted at %v in revision %d, want now (%v)", step.name, got.DriftedAt, got.DriftRevision, now)
	}
	if told := got.Changed > before.Changed; told != step.told {
		w.Errorf("%s: told %v (in revision %d after %d), want %v", step.name, told, got.Changed, before.Changed, step.told)
	}
	if got.AgentGone != step.gone {
		w.Errorf("%s: agent gone %v, want %v", step.name, got.AgentGone, step.gone)
	}
	if !got.CreatedAt.Equal(before.CreatedAt) || got.Name != "chat" || got.AgentID != "a" {
		w.Errorf("%s: the pin is %+v", step.name, got)
	}
	w.holds(step.name, step.pinned)
}

// holds compares what is pinned, with payloads and without.
func (w *pinWorld) holds(name string, want []snapshot.Resource) {
	w.Helper()
	for _, bare := range []bool{false, true} {
		pin, got, err := w.s.PinSnapshot(w.Context(), w.pin.ID, bare)
		if want == nil {
			wantErr(w.T, err, store.ErrNotFound)
			if w.pin.Revision != 0 || !w.pin.PinnedAt.IsZero() {
				w.Errorf("%s: an empty pin is %+v", name, w.pin)
			}
			continue
		}
		if err != nil {
			w.Fatalf("%s: %v", name, err)
		}
		expected := snapshot.Snapshot{Version: got.Snapshot.Version, AggregateHash: snapshot.Aggregate(want), Resources: sorted(want)}
		for i := range expected.Resources {
			expected.PayloadBytes += int64(len(expected.Resources[i].Payload))
			if bare {
				expected.Resources[i].Payload = nil
			}
		}
		if d := diff(expected, got.Snapshot); d != "" || got.Revision != w.pin.Revision || got.ReceivedAt.IsZero() {
			w.Errorf("%s: pinned at revision %d, received at %v (-want +got):\n%s", name, got.Revision, got.ReceivedAt, d)
		}
		if d := cmp.Diff(w.pin, pin); d != "" {
			w.Errorf("%s: the pin differs (-alone +with its snapshot):\n%s", name, d)
		}
	}
	for i := range want {
		body, err := w.s.PinBody(w.Context(), w.pin.ID, want[i].ID())
		if err != nil || !slices.Equal(body, want[i].Payload) {
			w.Errorf("%s: body of %s is %q, %v", name, want[i].ID(), body, err)
		}
	}
}
