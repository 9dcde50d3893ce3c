package storetest

import (
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

// testSameAgain pushes what is there: that makes no revision, but the session
// and its versions count.
func testSameAgain(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	p := whole(5, skill("x", "1"), bare(abi.KindHook, "/h"))
	p.Snapshot.SnapshotError, p.Snapshot.AggregateHash = "no inotify", snapshot.Hash{1}
	p.Snapshot.Plugins = []snapshot.Plugin{{Name: "waymark"}}
	first := push(t, s, "a", g, p)
	before := read(t, s, "a")

	g, _, err := s.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	p.Initial, p.Snapshot.Version = true, 2
	again := push(t, s, "a", g, p)
	if !again.Accepted || again.Revision != first.Revision || again.Written != 0 || again.Removed != 0 {
		t.Errorf("the same again: %+v after %+v", again, first)
	}
	after := read(t, s, "a")
	if after.Snapshot.Version != 2 || after.Revision != before.Revision || after.ReceivedAt.Before(before.ReceivedAt) {
		t.Errorf("stored: version %d, revision %d, received at %v; before: %d, %v", after.Snapshot.Version, after.Revision,
			after.ReceivedAt, before.Revision, before.ReceivedAt)
	}
	if push(t, s, "a", g, whole(2)).Accepted {
		t.Error("a version that is stored by a push without changes is accepted again")
	}
	for name, change := range map[string]func(*snapshot.Snapshot){
		"hash":      func(s *snapshot.Snapshot) { s.AggregateHash = snapshot.Hash{2} },
		"error":     func(s *snapshot.Snapshot) { s.SnapshotError = "" },
		"discovery": func(s *snapshot.Snapshot) { s.Discovery.Phase = snapshot.PhasePending },
		"a source": func(s *snapshot.Snapshot) {
			s.Discovery.Sources = snapshot.SourceOutcomes{{ID: "mcp_server:/x#a", Name: "a", Outcome: snapshot.OutcomeFailed}}
		},
		"plugins": func(s *snapshot.Snapshot) { s.Plugins = []snapshot.Plugin{{Name: "waymark", Error: "x"}} },
	} {
		last := read(t, s, "a")
		p.Initial = false
		p.Snapshot.Version = last.Snapshot.Version + 1
		change(&p.Snapshot)
		if result := push(t, s, "a", g, p); result.Revision <= last.Revision || result.Written != 0 {
			t.Errorf("another %s: %+v after revision %d", name, result, last.Revision)
		}
	}
}

func testOnlyChangedRows(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	for i, tc := range []struct {
		resources        []snapshot.Resource
		written, removed int
	}{
		{[]snapshot.Resource{skill("x", "1"), skill("y", "1"), skill("z", "1")}, 3, 0},
		{[]snapshot.Resource{skill("z", "1"), skill("x", "2"), skill("y", "1")}, 1, 0},
		{[]snapshot.Resource{skill("x", "2"), skill("w", "1")}, 1, 2},
		{[]snapshot.Resource{}, 0, 2},
		{[]snapshot.Resource{skill("x", "2")}, 1, 0},
	} {
		result := push(t, s, "a", g, whole(uint64(i)+1, tc.resources...))
		if result.Written != tc.written || result.Removed != tc.removed {
			t.Errorf("push %d: %+v, want %d written and %d removed", i+1, result, tc.written, tc.removed)
		}
	}
}
