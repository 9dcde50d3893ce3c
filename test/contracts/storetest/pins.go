package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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
	"PinManifests": testPinManifests,
	"PinLimits":    testPinLimits,
	"PinsTwoHubs":  testPinsTwoHubs,
	"RemoveAgent":  testRemoveAgent,
	"EventsKept":   testEventsKept,
	"EventsLost":   testEventsLost,
	"EventsPages":  testEventsPages,
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
	// notified says that the step changed the pin, which readers hear of.
	notified, gone bool
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
		{name: "MCP only: added", do: func(w *pinWorld) { w.push(4, stale, mcp) }, pinned: list(one, mcp), notified: true},
		{name: "MCP only: changed", do: func(w *pinWorld) { w.push(5, stale, mcp2) }, pinned: list(one, mcp2), notified: true},
		{name: "edit", do: func(w *pinWorld) { w.push(6, two, mcp2) }, pinned: list(one, mcp2), drifted: true, notified: true},
		{name: "another edit is no other drift", do: func(w *pinWorld) { w.push(7, skill("x", "3"), mcp2) }, pinned: list(one, mcp2), drifted: true},
		{name: "MCP is followed while drifted", do: func(w *pinWorld) { w.push(8, two, mcp) }, pinned: list(one, mcp), drifted: true, notified: true},
		{name: "edit back", do: func(w *pinWorld) { w.push(9, one, mcp) }, pinned: list(one, mcp), drifted: true},
		{name: "refresh", do: (*pinWorld).refresh, pinned: list(one, mcp), notified: true},
		{name: "edit after refresh", do: func(w *pinWorld) { w.push(10, two, mcp) }, pinned: list(one, mcp), drifted: true, notified: true},
		{name: "refresh to the edit", do: (*pinWorld).refresh, pinned: list(two, mcp), notified: true},
		{name: "agent rebuilt, the same", do: func(w *pinWorld) { w.session(); w.push(1, two, mcp) }, pinned: list(two, mcp)},
		{name: "agent rebuilt, other content", do: func(w *pinWorld) { w.session(); w.push(1, skill("y", "1")) }, pinned: list(two), drifted: true, notified: true},
		{name: "everything gone", do: func(w *pinWorld) { w.push(2) }, pinned: list(two), drifted: true},
		{name: "refresh to nothing", do: (*pinWorld).refresh, pinned: list(), notified: true},
		{name: "something again", do: func(w *pinWorld) { w.push(3, one, mcp) }, pinned: list(mcp), drifted: true, notified: true},
		{name: "agent gone", do: remove, pinned: list(mcp), drifted: true, notified: true, gone: true},
		{name: "agent back", do: func(w *pinWorld) { w.session() }, pinned: list(mcp), drifted: true},
		{name: "agent back with a snapshot", do: func(w *pinWorld) { w.push(1, one) }, pinned: list(), drifted: true, notified: true},
		{name: "MCP again", do: func(w *pinWorld) { w.push(2, one, mcp2) }, pinned: list(mcp2), drifted: true, notified: true},
		{name: "agent gone again", do: remove, pinned: list(mcp2), drifted: true, notified: true, gone: true},
		{name: "agent back with the same MCP", do: func(w *pinWorld) { w.session(); w.push(1, one, mcp2) }, pinned: list(mcp2), drifted: true, notified: true},
		{name: "agent gone at last", do: remove, pinned: list(mcp2), drifted: true, notified: true, gone: true},
		{name: "refresh without an agent", do: (*pinWorld).refresh, notified: true, gone: true},
		{name: "hydrated", do: func(w *pinWorld) { w.session(); w.push(1, two) }, pinned: list(two), notified: true},
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
	if notified := got.Changed > before.Changed; notified != step.notified {
		w.Errorf("%s: notified %v (in revision %d after %d), want %v", step.name, notified, got.Changed, before.Changed, step.notified)
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

func createPin(t *testing.T, s store.Store, agentID string) store.Pin {
	t.Helper()
	pin, err := s.CreatePin(t.Context(), agentID, "")
	if err != nil {
		t.Fatal(err)
	}
	return pin
}

// testPinHydrates is pins that wait for a first snapshot.
func testPinHydrates(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g, other := agent(t, s, "a"), agent(t, s, "b")
	w := &pinWorld{T: t, s: s, pin: createPin(t, s, "a")}
	second := createPin(t, s, "a")
	w.holds("empty", nil)
	push(t, s, "b", other, hashed(1, skill("of b", "b")))
	w.holds("empty after another agent's push", nil)
	if _, list, revision, err := s.PinDiff(t.Context(), w.pin.ID); err != nil || len(list) != 0 || revision != 0 {
		t.Errorf("diff of an empty pin: %v at %d, %v", list, revision, err)
	}
	first := hashed(1, skill("x", "1"), server("m", "1"), bare(abi.KindHook, "/h"))
	first.Snapshot.SnapshotError = "no inotify"
	result := push(t, s, "a", g, first)
	for _, id := range []string{w.pin.ID, second.ID} {
		pin, stored, err := s.PinSnapshot(t.Context(), id, false)
		if err != nil || pin.Revision != result.Revision || pin.Changed != result.Revision || pin.PinnedAt.IsZero() || !pin.DriftedAt.IsZero() {
			t.Errorf("hydrated: %+v, %v", pin, err)
		}
		if d := diff(read(t, s, "a").Snapshot, stored.Snapshot); d != "" {
			t.Errorf("hydrated (-agent +pin):\n%s", d)
		}
	}
}

func testPinDiff(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	push(t, s, "a", g, hashed(1, skill("same", "s"), skill("x", "1"), skill("gone", "g"), server("m", "1")))
	pin := createPin(t, s, "a")
	newest := push(t, s, "a", g, hashed(2, skill("same", "s"), skill("x", "2"), skill("new", "n"), server("m", "2")))
	got, changes, revision, err := s.PinDiff(t.Context(), pin.ID)
	want := compare(sorted(list(skill("same", "s"), skill("x", "1"), skill("gone", "g"))), sorted(list(skill("same", "s"), skill("x", "2"), skill("new", "n"))))
	if d := cmp.Diff(describe(want), describe(changes)); err != nil || d != "" || revision != newest.Revision || got.Revision != pin.Revision {
		t.Errorf("%+v at %d, %v (-want +got):\n%s", got, revision, err, d)
	}
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, changes, revision, err = s.PinDiff(t.Context(), pin.ID)
	if err != nil || revision != 0 || len(changes) != 4 || changes[0].After != nil || changes[0].Before == nil {
		t.Errorf("of a gone agent: %v at %d, %v", describe(changes), revision, err)
	}
}

// testPinBodies looks at what keeps payloads.
func testPinBodies(t *testing.T, db Database) {
	s := db.Open(t, Config{History: store.Retention{Revisions: 1}})
	g := agent(t, s, "a")
	count := func(name string, bodies, rows int) {
		t.Helper()
		if b, r := db.Count(t, "bodies"), db.Count(t, "pin_resources"); b != bodies || r != rows {
			t.Errorf("%s: %d payloads and %d pinned rows, want %d and %d", name, b, r, bodies, rows)
		}
	}
	push(t, s, "a", g, hashed(1, skill("x", "1"), skill("y", "y"), server("m", "m1")))
	one, two := createPin(t, s, "a"), createPin(t, s, "a")
	count("pinned", 3, 6)
	push(t, s, "a", g, hashed(2, skill("x", "2")))
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	count("the past is gone, the pins have it", 3, 4) // 1, y, 2
	if body, err := s.PinBody(t.Context(), one.ID, ids(skill("y", ""))[0]); err != nil || string(body) != "y" {
		t.Errorf("body is %q, %v", body, err)
	}
	if _, err := s.RefreshPin(t.Context(), one.ID); err != nil {
		t.Fatal(err)
	}
	count("one is refreshed", 3, 3)
	for _, err := range []error{s.DeletePin(t.Context(), two.ID), s.DeletePin(t.Context(), two.ID)} {
		if _, gone := s.Pin(t.Context(), two.ID); gone == nil {
			t.Errorf("a pin is there after it was deleted: %v", err)
		}
	}
	wantErr(t, s.DeletePin(t.Context(), two.ID), store.ErrNotFound)
	count("the other is deleted", 1, 1)
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	count("the agent is gone", 1, 1)
	if err := s.DeletePin(t.Context(), one.ID); err != nil {
		t.Fatal(err)
	}
	count("nothing is left", 0, 0)
}

func testPinLimits(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	agent(t, s, "a")
	for name, want := range map[string]error{
		strings.Repeat("x", 128): nil, "chat \u202e ☃": nil, "": nil,
		strings.Repeat("x", 129): store.ErrInvalid, "a\x00b": store.ErrInvalid, "\xff": store.ErrInvalid,
	} {
		pin, err := s.CreatePin(t.Context(), "a", name)
		wantErr(t, err, want)
		if err == nil && pin.Name != name {
			t.Errorf("%q is %q", name, pin.Name)
		}
	}
	for _, id := range []string{"b", "", "\x00", "\xff", "a' OR 1=1 --"} {
		_, err := s.CreatePin(t.Context(), id, "")
		wantErr(t, err, store.ErrNotFound)
		wantErr(t, s.RemoveAgent(t.Context(), id), store.ErrNotFound)
		_, err = s.Pin(t.Context(), id)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.RefreshPin(t.Context(), id)
		wantErr(t, err, store.ErrNotFound)
		wantErr(t, s.DeletePin(t.Context(), id), store.ErrNotFound)
		_, _, _, err = s.PinDiff(t.Context(), id)
		wantErr(t, err, store.ErrNotFound)
		_, err = s.PinBody(t.Context(), id, id)
		wantErr(t, err, store.ErrNotFound)
	}
	for range store.MaxPins - 3 {
		createPin(t, s, "a")
	}
	_, err := s.CreatePin(t.Context(), "a", "")
	wantErr(t, err, store.ErrTooManyPins)
	agent(t, s, "b")
	createPin(t, s, "b")
	if of, err := s.Pins(t.Context(), "b"); err != nil || len(of) != 1 {
		t.Errorf("pins of b: %v, %v", of, err)
	}
	if all, err := s.Pins(t.Context(), ""); err != nil || len(all) != store.MaxPins+1 {
		t.Errorf("%d pins, %v", len(all), err)
	}
}

// testPinsTwoHubs has agents push and readers pin at once, over two hubs:
// what is pinned is one revision, whole, and drift is known at the end.
func testPinsTwoHubs(t *testing.T, db Database) {
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{})}
	const pushes = 30
	var wg sync.WaitGroup
	pins := make(chan store.Pin, 100)
	for n, id := range []string{"a", "b"} {
		generation := agent(t, hubs[0], id)
		wg.Go(func() {
			for v := range uint64(pushes) {
				text := fmt.Sprint(id, v)
				p := hashed(v+1, skill("x", text), skill("y", text), server("m", text))
				if _, err := hubs[n].Push(t.Context(), id, generation, p); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for i := range 12 {
				pin, err := hubs[(n+1+i)%2].CreatePin(t.Context(), id, "")
				if err == nil && i%3 == 1 {
					pin, err = hubs[i%2].RefreshPin(t.Context(), pin.ID)
				}
				if err == nil && i%3 == 2 {
					err = hubs[i%2].DeletePin(t.Context(), pin.ID)
				} else {
					pins <- pin
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(pins)
	for was := range pins {
		pin, stored, err := hubs[0].PinSnapshot(t.Context(), was.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		now := read(t, hubs[1], pin.AgentID).Snapshot
		list := stored.Snapshot.Resources
		if len(list) != 3 || string(list[1].Payload) != string(list[2].Payload) || string(list[0].Payload) != string(now.Resources[0].Payload) {
			t.Errorf("pin of %s at %d holds %q, %q and %q", pin.AgentID, pin.Revision, list[0].Payload, list[1].Payload, list[2].Payload)
		}
		if drifted := pin.AggregateHash.String() != now.AggregateHash.String(); drifted == pin.DriftedAt.IsZero() {
			t.Errorf("drifted %v, and marked at %v", drifted, pin.DriftedAt)
		}
	}
}

func testRemoveAgent(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g, other := agent(t, s, "a"), agent(t, s, "b")
	token := newToken(store.RoleAgent, "a")
	if _, err := s.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	push(t, s, "a", g, hashed(1, skill("x", "1"), skill("shared", "s")))
	push(t, s, "b", other, hashed(1, skill("shared", "s")))
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.RemoveAgent(t.Context(), "a"), store.ErrNotFound)
	_, err := s.TokenByHash(t.Context(), token.Hash)
	wantErr(t, err, store.ErrNotFound)
	_, err = s.Push(t.Context(), "a", g, hashed(2, skill("x", "2")))
	wantErr(t, err, store.ErrNotFound)
	_, err = s.Snapshot(t.Context(), of("a"))
	wantErr(t, err, store.ErrNotFound)
	if list := agents(t, s); len(list) != 1 || list[0].ID != "b" {
		t.Errorf("agents: %+v", list)
	}
	if bodies, rows := db.Count(t, "bodies"), db.Count(t, "resources"); bodies != 1 || rows != 1 {
		t.Errorf("%d payloads and %d rows are left, want 1 of each", bodies, rows)
	}
	wantEvents(t, s, 0, "2 push b", "3 removed a")
	if result := push(t, s, "a", agent(t, s, "a"), hashed(1, skill("x", "1"))); result.Revision != 4 {
		t.Errorf("made anew: %+v", result)
	}
}

// testPinManifests: what is known of the files of a pin's skills stays with what is pinned,
// and is no news.
func testPinManifests(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	generation := agent(t, s, "a")
	push(t, s, "a", generation, hashed(1, skill("x", "one")))
	pin, err := s.CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	wants := func(id, want string) {
		t.Helper()
		if got, err := s.PinManifests(t.Context(), id); err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("manifests %q, %v, want %q", got, err, want)
		}
	}
	wants(pin.ID, "")
	if err := s.SetPinManifests(t.Context(), pin.ID, pin.Revision, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	wants(pin.ID, "{}")
	if again, err := s.Pin(t.Context(), pin.ID); err != nil || again.Changed != pin.Changed || !again.DriftedAt.IsZero() {
		t.Errorf("it has changed the pin: %+v, %v", again, err)
	}
	push(t, s, "a", generation, hashed(2, skill("x", "two")))
	wants(pin.ID, "{}")
	refreshed, err := s.RefreshPin(t.Context(), pin.ID)
	if err != nil {
		t.Fatal(err)
	}
	wants(pin.ID, "")
	for _, err := range []error{
		s.SetPinManifests(t.Context(), pin.ID, pin.Revision, []byte("late")), s.SetPinManifests(t.Context(), "none", 1, nil),
		s.SetPinManifests(t.Context(), "\xff", 1, nil),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what isn't there: %v", err)
		}
	}
	if _, err := s.PinManifests(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what isn't there: %v", err)
	}
	if err := s.SetPinManifests(t.Context(), pin.ID, refreshed.Revision, make([]byte, store.MaxManifests+1)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("too much: %v", err)
	}
	wants(pin.ID, "")
}
