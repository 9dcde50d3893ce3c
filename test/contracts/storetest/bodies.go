package storetest

import (
	"crypto/sha256"
	"reflect"
	"testing"
	"time"

	"waymark/hub/store"
	"waymark/snapshot"
)

var bodyTests = map[string]func(*testing.T, store.Store){
	"Bodies":        testBodies,
	"BodiesOfOther": testBodiesOfOther,
	"BodiesInvalid": testBodiesInvalid,
	"BodiesDelta":   testBodiesDelta,
}

// body names a payload.
func body(text string) store.Body {
	return store.Body{Digest: sha256.Sum256([]byte(text)), Size: int64(len(text))}
}

// withhold takes payloads out of a push and names them instead.
func withhold(p store.Push, indices ...int) store.Push {
	p.Bodies = map[int]store.Body{}
	list := append([]snapshot.Resource{}, p.Snapshot.Resources...)
	for _, i := range indices {
		p.Bodies[i] = body(string(list[i].Payload))
		list[i].Payload = nil
	}
	p.Snapshot.Resources = list
	return p
}

// wantMissing requires that a push isn't stored for want of payloads.
func wantMissing(t *testing.T, s store.Store, id string, generation int64, p store.Push, missing ...int) {
	t.Helper()
	before := agents(t, s)
	result, err := s.Push(t.Context(), id, generation, p)
	if err != nil || result.Accepted || !reflect.DeepEqual(result.Missing, missing) {
		t.Errorf("%+v, %v; want %v missing", result, err, missing)
	}
	if !reflect.DeepEqual(before, agents(t, s)) {
		t.Error("a push that lacks payloads was written")
	}
}

// testBodies: a payload that the agent has needn't be brought, wherever it has it.
func testBodies(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	x, y, empty := skill("x", "of x"), skill("y", "of y"), skill("empty", "")
	first := whole(1, x, y, empty)
	wantMissing(t, s, "a", g, withhold(first, 0, 2), 0, 2)
	// Named and there.
	named := withhold(first, 0, 1, 2)
	named.Snapshot.Resources = first.Snapshot.Resources
	if r := push(t, s, "a", g, named); !r.Accepted || r.Written != 3 {
		t.Errorf("with all payloads: %+v", r)
	}
	// The same rows, then other rows with the same payloads.
	if r := push(t, s, "a", g, withhold(whole(2, x, y, empty), 0, 1, 2)); r.Written != 0 {
		t.Errorf("the same: %+v", r)
	}
	renamed := skill("z", "of x")
	x.Description = "another"
	push(t, s, "a", g, withhold(whole(3, renamed, x, empty), 0, 1, 2))
	wantResources(t, s, "a", 3, renamed, x, empty)
	// Of a row that isn't the newest any more.
	push(t, s, "a", g, withhold(whole(4, y, renamed), 0, 1))
	wantResources(t, s, "a", 4, y, renamed)
	changed := skill("y", "now")
	wantMissing(t, s, "a", g, withhold(whole(5, changed, renamed), 0, 1), 0)
	wantResources(t, s, "a", 4, y, renamed)
}

// testBodiesOfOther: what another agent has counts for nothing.
func testBodiesOfOther(t *testing.T, s store.Store) {
	other, g := agent(t, s, "other"), agent(t, s, "a")
	x := skill("x", "secret")
	push(t, s, "other", other, whole(1, x))
	wantMissing(t, s, "a", g, withhold(whole(1, x), 0), 0)
	push(t, s, "a", g, whole(1, skill("y", "mine")))
	wantMissing(t, s, "a", g, withhold(whole(2, x), 0), 0)
	push(t, s, "a", g, whole(2, x))
	push(t, s, "a", g, withhold(whole(3, x), 0))
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	g = agent(t, s, "a") // it is another one
	wantMissing(t, s, "a", g, withhold(whole(1, x), 0), 0)
}

func testBodiesInvalid(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	x := skill("x", "of x")
	push(t, s, "a", g, whole(1, x))
	for name, change := range map[string]func(*store.Push){
		"another payload": func(p *store.Push) { p.Snapshot.Resources[0].Payload = []byte("of y") },
		"another length":  func(p *store.Push) { p.Snapshot.Resources[0].Payload = []byte("of") },
		"another size":    func(p *store.Push) { p.Bodies[0] = store.Body{Digest: p.Bodies[0].Digest, Size: 5} },
		"another size, other row": func(p *store.Push) {
			p.Bodies[0] = store.Body{Digest: p.Bodies[0].Digest, Size: 3}
			p.Snapshot.Resources[0].Name = "z"
		},
		"a negative size": func(p *store.Push) { p.Bodies[0] = store.Body{Digest: p.Bodies[0].Digest, Size: -1} },
		"no resource":     func(p *store.Push) { p.Bodies[1] = p.Bodies[0] },
		"too large":       func(p *store.Push) { p.MaxPayload = 3 },
	} {
		p := withhold(whole(2, x), 0)
		change(&p)
		_, err := s.Push(t.Context(), "a", g, p)
		if wantErr(t, err, store.ErrInvalid); t.Failed() {
			t.Fatal(name)
		}
	}
	wantResources(t, s, "a", 1, x)
}

func testBodiesDelta(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	x, y := skill("x", "of x"), skill("y", "of x")
	first := full(1, x)
	push(t, s, "a", g, first)
	push(t, s, "a", g, withhold(delta(first.Update.Name, 2, ids(x), y), 0))
	wantResources(t, s, "a", 2, y)
	wantMissing(t, s, "a", g, withhold(delta(at(2), 3, nil, skill("z", "new")), 0), 0)
	_, err := s.Push(t.Context(), "a", g, withhold(delta(first.Update.Name, 3, nil, skill("z", "new")), 0))
	wantErr(t, err, store.ErrFullNeeded)
}

// testBodiesPruned: what is kept no more has to be brought again.
func testBodiesPruned(t *testing.T, db Database) {
	clock := newClock()
	s := db.Open(t, Config{Now: clock.Now, History: store.Retention{Revisions: 2, Age: time.Hour}})
	g := agent(t, s, "a")
	x := skill("x", "of x")
	push(t, s, "a", g, whole(1, x))
	push(t, s, "a", g, whole(2, skill("x", "second")))
	push(t, s, "a", g, withhold(whole(3, x), 0)) // still there
	push(t, s, "a", g, whole(4))
	push(t, s, "a", g, whole(5, skill("y", "fifth")))
	wantMissing(t, s, "a", g, withhold(whole(6, x), 0), 0)
	push(t, s, "a", g, whole(6))
	clock.advance(2 * time.Hour)
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, s, "a", g, withhold(whole(7, skill("y", "fifth")), 0), 0)
	// What is uploaded and not named is kept for a while.
	for _, wait := range []time.Duration{0, store.UploadsFor - time.Second, 2 * time.Second} {
		if wait == 0 {
			if err := s.Upload(t.Context(), "a", [][]byte{[]byte("of x")}); err != nil {
				t.Fatal(err)
			}
		}
		clock.advance(wait)
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := db.Count(t, "uploads"); (n == 0) != (wait == 2*time.Second) {
			t.Errorf("%d uploads after %s", n, wait)
		}
	}
}
