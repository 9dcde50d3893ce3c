package storetest

import (
	"testing"

	"waymark/hub/store"
	"waymark/snapshot"
)

// RunMigrated is about a store whose database had been written by a hub of the first
// schema, which knew no facts: an agent "a" with two pins, of which one had been empty,
// two pushes, and an approval. All of it is there, the pins hold, and the agent pushes on.
func RunMigrated(t *testing.T, s store.Store) {
	t.Helper()
	known := func(r snapshot.Resource) snapshot.Resource {
		r.Resolver = "waymark/skills@1.0.0"
		return r
	}
	old := func(r snapshot.Resource) snapshot.Resource {
		r.ClearFacts()
		return known(r)
	}
	x, x2, y, z := old(skill("x", "1")), old(skill("x", "3")), old(skill("y", "2")), bare("instruction_file", "/w/AGENTS.md")
	has := func(version uint64, resources ...snapshot.Resource) {
		t.Helper()
		got := read(t, s, "a").Snapshot
		want := snapshot.Snapshot{Version: version, Resources: resources}
		if d := diff(want, snapshot.Snapshot{Version: got.Version, Resources: got.Resources}); d != "" {
			t.Errorf("at version %d: %s", version, d)
		}
	}
	has(2, z, x2, y)
	for role, text := range map[store.Role]string{store.RoleAgent: "agent", store.RoleReader: "reader"} {
		if token, err := s.TokenByHash(t.Context(), store.HashToken(text)); err != nil || token.Role != role {
			t.Errorf("token of the %s: %+v, %v", role, token, err)
		}
	}
	if list, _ := approvals(t, s); len(list) != 1 || string(list[0].Signed) != "signed approval" {
		t.Errorf("approvals %+v", list)
	}
	if list, err := s.History(t.Context(), "a"); err != nil || len(list) != 2 {
		t.Errorf("history %+v, %v", list, err)
	}
	pinned := map[string][]snapshot.Resource{"first": {x, y}, "second": {z, x2, y}}
	holds := func() {
		t.Helper()
		pins, err := s.Pins(t.Context(), "a")
		if err != nil || len(pins) != len(pinned) {
			t.Fatalf("pins %+v, %v", pins, err)
		}
		for _, pin := range pins {
			_, got, err := s.PinSnapshot(t.Context(), pin.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			want := snapshot.Snapshot{Resources: pinned[pin.Name]}
			if d := diff(want, snapshot.Snapshot{Resources: got.Snapshot.Resources}); d != "" {
				t.Errorf("pin %s: %s", pin.Name, d)
			}
		}
	}
	holds()
	g, err := s.BeginSession(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	first := hashed(1, z, known(skill("x", "3")), y) // the same, with facts
	if r := push(t, s, "a", g, first); !r.Accepted || r.Written+r.Removed != 0 {
		t.Errorf("facts alone: %+v", r)
	}
	has(1, z, known(skill("x", "3")), y)
	if r := push(t, s, "a", g, delta(1, 2, nil, skill("y", "4"))); r.Written != 1 {
		t.Errorf("another text: %+v", r)
	}
	has(2, z, known(skill("x", "3")), skill("y", "4"))
	holds()
}
