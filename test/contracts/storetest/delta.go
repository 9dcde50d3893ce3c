package storetest

import (
	"fmt"
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var deltaTests = map[string]func(*testing.T, store.Store){
	"Delta":            testDelta,
	"DeltaNeedsFull":   testDeltaNeedsFull,
	"DeltaOfSession":   testDeltaOfSession,
	"DeltaReplay":      testDeltaReplay,
	"DeltaWithoutRows": testDeltaWithoutRows,
	"Limits":           testLimits,
}

// delta is a push of what changed since base.
func delta(base, version uint64, removed []string, changed ...snapshot.Resource) store.Push {
	p := whole(version, changed...)
	p.Delta, p.BaseVersion, p.Removed = true, base, removed
	return p
}

func ids(list ...snapshot.Resource) (ids []string) {
	for i := range list {
		ids = append(ids, list[i].ID())
	}
	return ids
}

func wantResources(t *testing.T, s store.Store, id string, version uint64, list ...snapshot.Resource) {
	t.Helper()
	want := snapshot.Snapshot{Version: version, Resources: sorted(list)}
	for i := range list {
		want.PayloadBytes += int64(len(list[i].Payload))
	}
	if d := diff(want, read(t, s, id).Snapshot); d != "" {
		t.Errorf("%s at version %d (-want +got):\n%s", id, version, d)
	}
	for _, a := range agents(t, s) {
		if a.ID == id && (a.Resources != len(list) || a.Version != version) {
			t.Errorf("agent list says version %d with %d resources", a.Version, a.Resources)
		}
	}
}

func testDelta(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	other := agent(t, s, "b")
	x, y, z := skill("x", "1"), skill("y", "22"), bare(abi.KindMCPConfig, "/w/.mcp.json")
	push(t, s, "b", other, whole(1, x, y))
	push(t, s, "a", g, whole(1, x, y, z))

	x2, w := skill("x", "longer"), skill("w", "")
	if r := push(t, s, "a", g, delta(1, 4, ids(z), x2, w)); !r.Accepted || r.Written != 2 || r.Removed != 1 {
		t.Errorf("delta: %+v", r)
	}
	wantResources(t, s, "a", 4, x2, y, w)
	// The same content that is there, named as changed, changes nothing.
	if r := push(t, s, "a", g, delta(4, 5, ids(w), x2, y)); r.Written != 0 || r.Removed != 1 {
		t.Errorf("delta with rows that are there: %+v", r)
	}
	wantResources(t, s, "a", 5, x2, y)
	push(t, s, "a", g, delta(5, 6, ids(x, y)))
	wantResources(t, s, "a", 6)
	push(t, s, "a", g, delta(6, 7, nil, x))
	wantResources(t, s, "a", 7, x)
	// A full push in between is a base, too.
	push(t, s, "a", g, whole(8, y))
	push(t, s, "a", g, delta(8, 9, ids(y), z))
	wantResources(t, s, "a", 9, z)
	wantResources(t, s, "b", 1, x, y)
}

func testDeltaNeedsFull(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	_, err := s.Push(t.Context(), "a", g, delta(0, 1, nil, skill("x", "1")))
	wantErr(t, err, store.ErrFullNeeded) // nothing to build on
	if _, err := s.Snapshot(t.Context(), of("a")); err == nil {
		t.Error("a refused delta left a snapshot")
	}
	push(t, s, "a", g, whole(5, skill("x", "1")))
	was := read(t, s, "a")
	for name, p := range map[string]store.Push{
		"older base":            delta(4, 6, nil, skill("x", "2")),
		"newer base":            delta(6, 7, nil, skill("x", "2")),
		"base beyond all":       delta(1<<63, 7, nil, skill("x", "2")),
		"removes what isn't":    delta(5, 6, ids(skill("x", ""), skill("y", ""))),
		"removes the other way": delta(5, 6, []string{"skill:/W"}, skill("z", "1")),
		"removes with NUL":      delta(5, 6, []string{"a\x00"}),
	} {
		_, err := s.Push(t.Context(), "a", g, p)
		if name == "removes with NUL" {
			wantErr(t, err, store.ErrInvalid)
		} else {
			wantErr(t, err, store.ErrFullNeeded)
		}
		now := read(t, s, "a")
		if d := diff(was.Snapshot, now.Snapshot); d != "" || now.Revision != was.Revision {
			t.Errorf("%s: a refused delta wrote (-want +got):\n%s", name, d)
		}
	}
	push(t, s, "a", g, delta(5, 6, nil, skill("y", "1")))
	wantResources(t, s, "a", 6, skill("x", "1"), skill("y", "1"))
}

// testDeltaOfSession: versions of another session mean nothing to a delta,
// also where they are the same number.
func testDeltaOfSession(t *testing.T, s store.Store) {
	older := agent(t, s, "a")
	push(t, s, "a", older, whole(3, skill("x", "of the older")))
	newer, err := s.BeginSession(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Push(t.Context(), "a", newer, delta(3, 4, nil, skill("y", "1")))
	wantErr(t, err, store.ErrFullNeeded)
	_, err = s.Push(t.Context(), "a", newer, delta(1, 2, nil, skill("y", "1"))) // a version below the stored one
	wantErr(t, err, store.ErrFullNeeded)
	push(t, s, "a", older, delta(3, 4, nil, skill("y", "1"))) // still its base

	first := whole(1, skill("x", "of the older"), skill("y", "1")) // the same content: no new revision, but a base
	first.Initial = true
	push(t, s, "a", newer, first)
	_, err = s.Push(t.Context(), "a", older, delta(4, 5, nil, skill("y", "2")))
	wantErr(t, err, store.ErrSuperseded)
	push(t, s, "a", newer, delta(1, 2, nil, skill("y", "3")))
	wantResources(t, s, "a", 2, skill("x", "of the older"), skill("y", "3"))
}

func testDeltaReplay(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	push(t, s, "a", g, whole(1, skill("x", "1")))
	p := delta(1, 2, ids(skill("x", "")), skill("y", "1"))
	if r := push(t, s, "a", g, p); !r.Accepted {
		t.Fatalf("delta: %+v", r)
	}
	was := read(t, s, "a")
	for range 2 { // the version rule comes first: a replay isn't a drift
		if r := push(t, s, "a", g, p); r.Accepted || r.Revision != was.Revision {
			t.Errorf("replay: %+v, want revision %d", r, was.Revision)
		}
	}
	if d := diff(was.Snapshot, read(t, s, "a").Snapshot); d != "" {
		t.Errorf("a replay wrote (-want +got):\n%s", d)
	}
}

func testDeltaWithoutRows(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	push(t, s, "a", g, whole(1, skill("x", "1")))
	p := delta(1, 2, nil)
	same := push(t, s, "a", g, p)
	p = delta(2, 3, nil)
	p.Snapshot.SnapshotError, p.Snapshot.AggregateHash, p.Snapshot.Plugins = "full", snapshot.Hash{7}, []snapshot.Plugin{{Name: "n"}}
	changed := push(t, s, "a", g, p)
	if !same.Accepted || !changed.Accepted || changed.Revision <= same.Revision {
		t.Errorf("deltas without rows: %+v, %+v", same, changed)
	}
	want := p.Snapshot
	want.Resources, want.PayloadBytes = []snapshot.Resource{skill("x", "1")}, 1
	if d := diff(want, read(t, s, "a").Snapshot); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func testLimits(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	limit := func(p store.Push, resources int, payload int64) store.Push {
		p.MaxResources, p.MaxPayload = resources, payload
		return p
	}
	push(t, s, "a", g, limit(whole(1, skill("x", "1234"), skill("y", "1234")), 2, 8))
	for i, p := range []store.Push{
		limit(delta(1, 2, nil, skill("z", "")), 2, 0),
		limit(delta(1, 2, nil, skill("z", "1")), 0, 8),
		limit(delta(1, 2, nil, skill("x", "12345")), 0, 8),
		limit(whole(2, skill("x", ""), skill("y", ""), skill("z", "")), 2, 0),
		limit(whole(2, skill("x", "123456789")), 0, 8),
	} {
		_, err := s.Push(t.Context(), "a", g, p)
		wantErr(t, err, store.ErrInvalid)
		if read(t, s, "a").Snapshot.Version != 1 {
			t.Fatal(fmt.Sprint("refused push ", i, " wrote"))
		}
	}
	push(t, s, "a", g, limit(delta(1, 2, ids(skill("x", "")), skill("z", "5678")), 2, 8))
	wantResources(t, s, "a", 2, skill("y", "1234"), skill("z", "5678"))
}
