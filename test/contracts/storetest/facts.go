package storetest

import (
	"testing"

	"waymark/hub/store"
	"waymark/snapshot"
)

var factTests = map[string]func(*testing.T, store.Store){
	"Facts": testFacts,
}

// withFacts returns a resource that others read.
func withFacts(r snapshot.Resource, readers ...string) snapshot.Resource {
	r.ClearFacts()
	r.Readers = readers
	return r
}

// testFacts: what no chat pins is stored, and changes neither the history nor a pin.
func testFacts(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	x, y := withFacts(skill("x", "1"), "codex"), withFacts(skill("y", "2"))
	first := push(t, s, "a", g, whole(1, x, y))
	pin, err := s.CreatePin(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	x2, y2 := withFacts(x, "codex", "cursor"), withFacts(y, "claude-code")
	named := full(2, x2, y)
	second := push(t, s, "a", g, named)
	third := push(t, s, "a", g, delta(named.Update.Name, 3, nil, y2))
	if !second.Accepted || !third.Accepted || second.Written+third.Written+second.Removed+third.Removed != 0 ||
		second.Revision <= first.Revision || third.Revision <= second.Revision {
		t.Errorf("%+v, then %+v, %+v; want revisions in which nothing was written", first, second, third)
	}
	wantResources(t, s, "a", 3, x2, y2)
	named = full(4, x2, y2)
	again := push(t, s, "a", g, named)
	if again.Revision != third.Revision {
		t.Errorf("the same again is revision %d, and was %d", again.Revision, third.Revision)
	}
	history, err := s.History(t.Context(), "a")
	if err != nil || len(history) != 3 || history[0].Changed+history[1].Changed+len(history[0].Touched) != 0 {
		t.Errorf("history %+v, %v", history, err)
	}
	if list, err := s.Diff(t.Context(), "a", first.Revision, third.Revision); err != nil || len(list) != 0 {
		t.Errorf("difference %+v, %v", list, err)
	}
	if _, list, _, err := s.PinDiff(t.Context(), pin.ID); err != nil || len(list) != 0 {
		t.Errorf("difference to the pin %+v, %v", list, err)
	}
	// Another text is a change, and has its facts.
	z := withFacts(skill("x", "3"), "cursor")
	if r := push(t, s, "a", g, delta(named.Update.Name, 5, nil, z)); r.Written != 1 {
		t.Errorf("another text: %+v", r)
	}
	wantResources(t, s, "a", 5, z, y2)
	_, pinned, err := s.PinSnapshot(t.Context(), pin.ID, true)
	if err != nil || len(pinned.Snapshot.Resources) != 2 || pinned.Snapshot.Resources[0].Readers[0] != "codex" {
		t.Errorf("pinned %+v, %v", pinned.Snapshot.Resources, err)
	}
}
