package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire"
)

var deltaTests = map[string]func(*testing.T, store.Store){
	"Delta":            testDelta,
	"DeltaNeedsFull":   testDeltaNeedsFull,
	"DeltaOfNothing":   testDeltaOfNothing,
	"DeltaHead":        testDeltaHead,
	"Uploads":          testUploads,
	"DeltaOfSession":   testDeltaOfSession,
	"DeltaReplay":      testDeltaReplay,
	"DeltaWithoutRows": testDeltaWithoutRows,
	"Limits":           testLimits,
}

// NameOf is the name of what an agent has.
func NameOf(s snapshot.Snapshot) wire.Name {
	head, err := wire.HeadOf(&s)
	if err != nil {
		panic(err)
	}
	var rows [][sha256.Size]byte
	for i := range s.Resources {
		r := &s.Resources[i]
		rows = append(rows, wire.RowName(r, r.Payload != nil, sha256.Sum256(r.Payload)))
	}
	return wire.NameOf(&head, rows)
}

// full is a push of everything, by its name.
func full(version uint64, list ...snapshot.Resource) store.Push {
	return fully(whole(version, list...))
}

func fully(p store.Push) store.Push {
	p.Initial, p.Update = false, &store.Update{Name: NameOf(p.Snapshot), Head: true}
	return p
}

// unnamed is a push of the same as it comes of who gives no names.
func unnamed(p store.Push, version uint64) store.Push {
	p.Update, p.Snapshot.Version = nil, version
	return p
}

// at is what a delta of that version is called here: a store takes an agent's word for it.
func at(version uint64) wire.Name {
	return sha256.Sum256([]byte(fmt.Sprint("version ", version)))
}

// delta is a push of what changed since base.
func delta(base wire.Name, version uint64, removed []string, changed ...snapshot.Resource) store.Push {
	p := whole(version, changed...)
	p.Update = &store.Update{Base: base, Name: at(version), Removed: removed}
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
	first := full(1, x, y, z)
	push(t, s, "a", g, first)

	x2, w := skill("x", "longer"), skill("w", "")
	if r := push(t, s, "a", g, delta(first.Update.Name, 4, ids(z), x2, w)); !r.Accepted || r.Written != 2 || r.Removed != 1 {
		t.Errorf("delta: %+v", r)
	}
	wantResources(t, s, "a", 4, x2, y, w)
	// The same content that is there, named as changed, changes nothing.
	if r := push(t, s, "a", g, delta(at(4), 5, ids(w), x2, y)); r.Written != 0 || r.Removed != 1 {
		t.Errorf("delta with rows that are there: %+v", r)
	}
	wantResources(t, s, "a", 5, x2, y)
	push(t, s, "a", g, delta(at(5), 6, ids(x, y)))
	wantResources(t, s, "a", 6)
	push(t, s, "a", g, delta(at(6), 7, nil, x))
	wantResources(t, s, "a", 7, x)
	// Everything in between is a base, too.
	next := full(8, y)
	push(t, s, "a", g, next)
	push(t, s, "a", g, delta(next.Update.Name, 9, ids(y), z))
	wantResources(t, s, "a", 9, z)
	wantResources(t, s, "b", 1, x, y)
}

func testDeltaNeedsFull(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	first := full(5, skill("x", "1"))
	base := first.Update.Name
	_, err := s.Push(t.Context(), "a", g, delta(base, 1, nil, skill("x", "1")))
	wantErr(t, err, store.ErrFullNeeded) // nothing to build on
	if _, err := s.Snapshot(t.Context(), of("a")); err == nil {
		t.Error("a refused delta left a snapshot")
	}
	push(t, s, "a", g, first)
	was := read(t, s, "a")
	invalid := func(change func(*store.Push)) store.Push {
		p := delta(base, 6, nil)
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		push store.Push
		err  error
	}{
		"another base":          {delta(at(5), 6, nil, skill("x", "2")), store.ErrFullNeeded},
		"removes what isn't":    {delta(base, 6, ids(skill("x", ""), skill("y", ""))), store.ErrFullNeeded},
		"removes the other way": {delta(base, 6, []string{"skill:/W"}, skill("z", "1")), store.ErrFullNeeded},
		"removes with NUL":      {delta(base, 6, []string{"a\x00"}), store.ErrInvalid},
		"another name":          {invalid(func(p *store.Push) { *p = full(6, skill("x", "2")); p.Update.Name = base }), store.ErrInvalid},
		"no head":               {invalid(func(p *store.Push) { *p = full(6, skill("x", "2")); p.Update.Head = false }), store.ErrInvalid},
		"everything, removed":   {invalid(func(p *store.Push) { *p = full(6); p.Update.Removed = []string{"a"} }), store.ErrInvalid},
		"initial":               {invalid(func(p *store.Push) { p.Initial = true }), store.ErrInvalid},
		"plugin":                {invalid(func(p *store.Push) { p.Snapshot.Plugins = []snapshot.Plugin{{}} }), store.ErrInvalid},
		"hash":                  {invalid(func(p *store.Push) { p.Snapshot.AggregateHash = snapshot.Hash{1} }), store.ErrInvalid},
		"error":                 {invalid(func(p *store.Push) { p.Snapshot.SnapshotError = "x" }), store.ErrInvalid},
		"removed twice":         {delta(base, 6, []string{"a", "a"}), store.ErrInvalid},
		"removed and sent":      {delta(base, 6, ids(skill("y", "")), skill("y", "1")), store.ErrInvalid},
	} {
		_, err := s.Push(t.Context(), "a", g, c.push)
		wantErr(t, err, c.err)
		now := read(t, s, "a")
		if d := diff(was.Snapshot, now.Snapshot); d != "" || now.Revision != was.Revision {
			t.Errorf("%s: a refused delta wrote (-want +got):\n%s", name, d)
		}
	}
	push(t, s, "a", g, delta(base, 6, nil, skill("y", "1")))
	wantResources(t, s, "a", 6, skill("x", "1"), skill("y", "1"))
	// What came without a name is no base.
	push(t, s, "a", g, whole(7, skill("x", "1")))
	_, err = s.Push(t.Context(), "a", g, delta(base, 8, nil))
	wantErr(t, err, store.ErrFullNeeded)
}

// testDeltaOfSession: what a base is called counts, whoever has pushed it, and no version.
func testDeltaOfSession(t *testing.T, s store.Store) {
	older := agent(t, s, "a")
	first := full(3, skill("x", "1"))
	push(t, s, "a", older, first)
	newer, _, err := s.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if r := push(t, s, "a", newer, delta(first.Update.Name, 1, nil, skill("y", "1"))); !r.Accepted { // a version below the stored one
		t.Errorf("first of a session: %+v", r)
	}
	if r := push(t, s, "a", newer, delta(at(1), 1, nil, skill("y", "2"))); r.Accepted {
		t.Errorf("second of a session with the same version: %+v", r)
	}
	_, err = s.Push(t.Context(), "a", older, delta(at(1), 5, nil, skill("y", "2")))
	wantErr(t, err, store.ErrSuperseded)
	wantResources(t, s, "a", 1, skill("x", "1"), skill("y", "1"))
}

// testDeltaOfNothing: what is stored needn't be brought again.
func testDeltaOfNothing(t *testing.T, s store.Store) {
	g, other := agent(t, s, "a"), agent(t, s, "b")
	first := whole(1, skill("x", "1"), skill("y", ""), bare("mcp_config", "/w/.mcp.json"))
	first.Snapshot.AggregateHash = snapshot.Hash{1}
	first.Snapshot.SnapshotError = "no inotify"
	first.Snapshot.Plugins = []snapshot.Plugin{{Name: "p", Resolvers: []string{"r"}}}
	first.Snapshot.Discovery = snapshot.Discovery{Phase: snapshot.PhasePending, Sources: snapshot.SourceOutcomes{{ID: "s"}}}
	first = fully(first)
	stored := push(t, s, "a", g, first)
	nothing := func(version uint64) store.Push {
		p := delta(first.Update.Name, version, nil)
		p.Update.Name = p.Update.Base
		return p
	}
	g2, _, err := s.BeginSession(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	was := read(t, s, "a")
	if r := push(t, s, "a", g2, nothing(7)); !r.Accepted || r.Revision != stored.Revision || r.Written+r.Removed != 0 {
		t.Errorf("nothing: %+v", r)
	}
	now := read(t, s, "a")
	was.Snapshot.Version = 7
	if d := diff(was.Snapshot, now.Snapshot); d != "" || now.Revision != was.Revision || now.ReceivedAt.Before(was.ReceivedAt) {
		t.Errorf("after it (-want +got):\n%s", d)
	}
	_, err = s.Push(t.Context(), "a", g, nothing(8))
	wantErr(t, err, store.ErrSuperseded) // it has taken over, as any push does
	// What another agent has is no base, nor what the agent itself had.
	_, err = s.Push(t.Context(), "b", other, nothing(1))
	wantErr(t, err, store.ErrFullNeeded)
	push(t, s, "a", g2, delta(first.Update.Name, 8, nil, skill("x", "2")))
	_, err = s.Push(t.Context(), "a", g2, nothing(9))
	wantErr(t, err, store.ErrFullNeeded)
	// Brought by its name again, what came without one has it.
	push(t, s, "a", g2, unnamed(first, 10))
	renamed := first
	renamed.Snapshot.Version = 11
	if r := push(t, s, "a", g2, renamed); !r.Accepted || r.Written != 0 {
		t.Errorf("the same by its name: %+v", r)
	}
	push(t, s, "a", g2, nothing(12))
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Push(t.Context(), "a", g2, nothing(13))
	wantErr(t, err, store.ErrNotFound)
}

// testDeltaHead: a head that isn't brought stays.
func testDeltaHead(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	first := whole(1, skill("x", "1"))
	first.Snapshot.AggregateHash, first.Snapshot.SnapshotError = snapshot.Hash{1}, "no inotify"
	first.Snapshot.Plugins = []snapshot.Plugin{{Name: "p", State: snapshot.PluginFailing}}
	first = fully(first)
	push(t, s, "a", g, first)
	push(t, s, "a", g, delta(first.Update.Name, 2, nil, skill("y", "1")))
	got := read(t, s, "a").Snapshot
	if len(got.Plugins) != 1 || got.SnapshotError != "no inotify" || len(got.Resources) != 2 || agents(t, s)[0].FailingPlugins != 1 {
		t.Errorf("%+v", got)
	}
	p := delta(at(2), 3, nil)
	p.Update.Head, p.Snapshot.SnapshotError = true, "another"
	push(t, s, "a", g, p)
	if got = read(t, s, "a").Snapshot; len(got.Plugins) != 0 || got.SnapshotError != "another" || len(got.Resources) != 2 {
		t.Errorf("%+v", got)
	}
}

// testUploads: what an agent has uploaded is there for its push, and for no other agent's.
func testUploads(t *testing.T, s store.Store) {
	g, other := agent(t, s, "a"), agent(t, s, "b")
	upload := func(id string, texts ...string) {
		t.Helper()
		var list [][]byte
		for _, text := range texts {
			list = append(list, []byte(text))
		}
		if err := s.Upload(t.Context(), id, list); err != nil {
			t.Fatal(err)
		}
	}
	x, y, empty := skill("x", "of x"), skill("y", "of y"), skill("empty", "")
	all := withhold(full(1, x, y, empty), 0, 1, 2)
	upload("a", "of x", "of x")
	upload("b", "of y")
	wantMissing(t, s, "a", g, all, 1, 2)
	upload("a", "", "of y", "what nothing names")
	push(t, s, "a", g, all)
	wantResources(t, s, "a", 1, x, y, empty)
	// Then they are those of its rows, and the rest is gone.
	wantMissing(t, s, "a", g, withhold(delta(all.Update.Name, 2, nil, skill("z", "what nothing names")), 0), 0)
	wantMissing(t, s, "b", other, withhold(full(1, x), 0), 0)
	push(t, s, "b", other, withhold(full(1, y), 0))
	wantResources(t, s, "b", 1, y)
	// Of another size than was said.
	p := withhold(delta(all.Update.Name, 2, nil, skill("z", "of z")), 0)
	upload("a", "of z")
	p.Bodies[0] = store.Body{Digest: p.Bodies[0].Digest, Size: 7}
	_, err := s.Push(t.Context(), "a", g, p)
	wantErr(t, err, store.ErrInvalid)
	// More than is kept takes the place of all of it.
	large := bytes.Repeat([]byte("x"), 1<<20)
	for i := range store.MaxUploads >> 20 {
		large[0] = byte(i)
		if err := s.Upload(t.Context(), "a", [][]byte{large}); err != nil {
			t.Fatal(err)
		}
	}
	wantMissing(t, s, "a", g, withhold(delta(all.Update.Name, 2, nil, skill("z", "of z")), 0), 0)
	if err := s.Upload(t.Context(), "nobody", [][]byte{{1}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of no agent: %v", err)
	}
}

func testDeltaReplay(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	first := full(1, skill("x", "1"))
	push(t, s, "a", g, first)
	p := delta(first.Update.Name, 2, ids(skill("x", "")), skill("y", "1"))
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
	first := full(1, skill("x", "1"))
	push(t, s, "a", g, first)
	p := delta(first.Update.Name, 2, nil)
	same := push(t, s, "a", g, p)
	p = delta(at(2), 3, nil)
	p.Update.Head = true
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
	first := full(1, skill("x", "1234"), skill("y", "1234"))
	push(t, s, "a", g, limit(first, 2, 8))
	base := first.Update.Name
	rows := delta(base, 2, nil, skill("z", ""))
	rows.MaxRows = int64(wire.RowSize(&first.Snapshot.Resources[0])*3 - 1)
	for i, p := range []store.Push{
		limit(delta(base, 2, nil, skill("z", "")), 2, 0),
		limit(delta(base, 2, nil, skill("z", "1")), 0, 8),
		limit(delta(base, 2, nil, skill("x", "12345")), 0, 8),
		rows,
		limit(whole(2, skill("x", ""), skill("y", ""), skill("z", "")), 2, 0),
		limit(whole(2, skill("x", "123456789")), 0, 8),
	} {
		_, err := s.Push(t.Context(), "a", g, p)
		wantErr(t, err, store.ErrInvalid)
		if read(t, s, "a").Snapshot.Version != 1 {
			t.Fatal(fmt.Sprint("refused push ", i, " wrote"))
		}
	}
	push(t, s, "a", g, limit(delta(base, 2, ids(skill("x", "")), skill("z", "5678")), 2, 8))
	wantResources(t, s, "a", 2, skill("y", "1234"), skill("z", "5678"))
	rows = delta(at(2), 3, ids(skill("y", "")), skill("x", ""))
	rows.MaxRows = int64(wire.RowSize(&first.Snapshot.Resources[0]) * 2)
	push(t, s, "a", g, rows)
}
