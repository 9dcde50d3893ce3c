package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"waymark/hub/store"
	"waymark/wire"
)

// sharedTests are about several hubs on one database.
var sharedTests = map[string]func(*testing.T, Database){
	"TwoHubs":         testTwoHubs,
	"OpenAtOnce":      testOpenAtOnce,
	"SyncAtOnce":      testSyncAtOnce,
	"SessionsCompete": testSessionsCompete,
	"WaitNow":         testWaitNow,
	"WaitHears":       testWaitHears,
	"WaitEnds":        testWaitEnds,
	"NothingMissed":   testNothingMissed,
	"Writable":        testWritable,
}

func testTwoHubs(t *testing.T, db Database) {
	one, two := db.Open(t, Config{}), db.Open(t, Config{})
	older := agent(t, one, "a")
	push(t, one, "a", older, whole(5, skill("x", "1")))
	newer, _, err := two.BeginSession(t.Context(), "a", "")
	if err != nil || newer <= older {
		t.Fatalf("generation %d follows %d, %v", newer, older, err)
	}
	push(t, one, "a", older, whole(6, skill("x", "1"))) // the newer one hasn't pushed yet
	_, err = two.Push(t.Context(), "a", newer, delta(at(6), 7, nil))
	wantErr(t, err, store.ErrFullNeeded)
	first := full(1, skill("x", "2"))
	push(t, two, "a", newer, first)
	late := whole(7, skill("x", "late")) // held up in the network until now
	late.Initial = true
	_, err = one.Push(t.Context(), "a", older, late)
	wantErr(t, err, store.ErrSuperseded)
	push(t, two, "a", newer, delta(first.Update.Name, 2, nil, skill("y", "1")))
	wantResources(t, one, "a", 2, skill("x", "2"), skill("y", "1"))
}

func testOpenAtOnce(t *testing.T, db Database) {
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s := db.Open(t, Config{})
			nt := newToken(store.RoleAgent, fmt.Sprint("a", i))
			if _, err := s.CreateToken(t.Context(), nt); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list := agents(t, db.Open(t, Config{})); len(list) != 6 {
		t.Errorf("%d agents", len(list))
	}
}

// testSyncAtOnce is several hubs that start at once with the same file of
// tokens, and then with another one.
func testSyncAtOnce(t *testing.T, db Database) {
	var tokens []store.NewToken
	for i := range 20 {
		tokens = append(tokens, newToken(store.RoleAgent, fmt.Sprint("a", i%7)), newToken(store.RoleReader, ""))
	}
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{}), db.Open(t, Config{})}
	for _, list := range [][]store.NewToken{tokens, tokens[10:30], tokens} {
		var wg sync.WaitGroup
		for _, s := range hubs {
			wg.Go(func() {
				if err := s.SyncProvisioned(t.Context(), list); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		kept, err := hubs[0].Tokens(t.Context())
		if err != nil || len(kept) != len(list) {
			t.Errorf("%d tokens, %v; want %d", len(kept), err, len(list))
		}
	}
}

// testSessionsCompete has many sessions push for few agents over two hubs,
// each until it is superseded. In the order of revisions no older session may
// come after a newer one, and no older version after a newer one of its
// session; and the last push of the newest session is what is stored.
func testSessionsCompete(t *testing.T, db Database) {
	const agentCount, sessions, pushes = 3, 4, 8
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{})}
	type outcome struct {
		generation int64
		version    uint64 // the last that was accepted
	}
	var mu sync.Mutex // guards last
	last := map[string]outcome{}
	var wg sync.WaitGroup
	for a := range agentCount {
		id := fmt.Sprint("agent-", a)
		if _, err := hubs[0].CreateToken(t.Context(), newToken(store.RoleAgent, id)); err != nil {
			t.Fatal(err)
		}
		for n := range sessions {
			wg.Go(func() {
				g, version := compete(t, hubs[n%len(hubs)], id, pushes)
				mu.Lock()
				defer mu.Unlock()
				if g > last[id].generation {
					last[id] = outcome{g, version}
				}
			})
		}
	}
	wg.Wait()
	newest := map[string]outcome{}
	for _, ch := range changes(t, hubs[0]) {
		got, err := hubs[0].Snapshot(t.Context(), store.Query{AgentID: ch.AgentID, Revision: ch.Revision})
		if err != nil {
			t.Fatal(err)
		}
		var now outcome
		if _, err := fmt.Sscanf(got.Snapshot.SnapshotError, "%d/%d", &now.generation, &now.version); err != nil {
			t.Fatal(err)
		}
		before := newest[ch.AgentID]
		if now.generation < before.generation || now.generation == before.generation && now.version <= before.version {
			t.Errorf("%s at revision %d: %+v comes after %+v", ch.AgentID, ch.Revision, now, before)
		}
		newest[ch.AgentID] = now
	}
	for id, want := range last {
		if newest[id] != want {
			t.Errorf("%s ended as %+v, want %+v", id, newest[id], want)
		}
	}
}

// compete runs one session and returns the last version that was accepted.
func compete(t *testing.T, s store.Store, id string, pushes uint64) (generation int64, accepted uint64) {
	generation, _, err := s.BeginSession(t.Context(), id, "")
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	var name wire.Name
	for v := range pushes {
		p := whole(v+1, skill("x", fmt.Sprint(generation, v)))
		if v%3 == 2 {
			p = delta(name, v+1, nil, skill("x", fmt.Sprint(generation, v)))
			p.Update.Head = true
		}
		p.Snapshot.SnapshotError = fmt.Sprintf("%d/%d", generation, v+1)
		if p.Update == nil {
			p = fully(p)
		}
		name = p.Update.Name
		result, err := s.Push(t.Context(), id, generation, p)
		if errors.Is(err, store.ErrSuperseded) {
			return generation, accepted
		}
		if err != nil || !result.Accepted {
			t.Errorf("%s, session %d, version %d: %+v, %v", id, generation, v+1, result, err)
			return generation, accepted
		}
		accepted = v + 1
	}
	return generation, accepted
}

// testWaitNow: whoever doesn't have the newest needn't wait.
func testWaitNow(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	other := db.Open(t, Config{})
	before := newest(t, s)
	push(t, s, "a", agent(t, s, "a"), whole(1, skill("x", "")))
	for _, hub := range []store.Store{s, other} {
		awaitEvents(t, hub, before, 1)
	}
}

// awaitEvents waits for some events, and returns the cursor behind them.
func awaitEvents(t testing.TB, s store.Store, after store.Cursor, count int) store.Cursor {
	t.Helper()
	for {
		page, err := s.Events(t.Context(), after, 100)
		if err != nil || page.Lost {
			t.Errorf("%+v, %v", page, err)
			return after
		}
		if count -= len(page.List); count <= 0 {
			if count < 0 {
				t.Errorf("%d events too many: %+v", -count, page.List)
			}
			return page.Through
		}
		if err := s.Wait(t.Context(), page.Through); err != nil {
			t.Error(err)
			return after
		}
		after = page.Through
	}
}

func testWaitHears(t *testing.T, db Database) {
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{})}
	g := agent(t, hubs[0], "a")
	at := []store.Cursor{newest(t, hubs[0]), newest(t, hubs[1]), newest(t, hubs[1])}
	for v := range uint64(5) {
		var wg sync.WaitGroup
		for i := range at {
			wg.Go(func() { at[i] = awaitEvents(t, hubs[min(i, 1)], at[i], 1) })
		}
		push(t, hubs[0], "a", g, whole(v+1, skill("x", fmt.Sprint(v))))
		wg.Wait()
	}
}

func testWaitEnds(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error)
	now := newest(t, s)
	go func() { results <- s.Wait(ctx, now) }()
	cancel()
	wantErr(t, <-results, context.Canceled)
	push(t, s, "a", agent(t, s, "a"), whole(1))
	wantErr(t, s.Wait(ctx, now), context.Canceled) // although there is something newer
	for range 3 {
		go func() { // it may return early
			for now, err := s.Newest(t.Context()); ; now, err = s.Newest(t.Context()) {
				if err == nil {
					err = s.Wait(t.Context(), now)
				}
				if err != nil {
					results <- err
					return
				}
			}
		}()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-results; err == nil {
			t.Error("there was news in a closed store")
		}
	}
	wantErr(t, s.Wait(t.Context(), now), store.ErrClosed)
}

// testNothingMissed has readers follow what many agents push through two hubs.
func testNothingMissed(t *testing.T, db Database) {
	const agentCount, pushes = 6, 15
	hubs := []store.Store{db.Open(t, Config{}), db.Open(t, Config{})}
	reader := db.Open(t, Config{})
	var wg sync.WaitGroup
	for a := range agentCount {
		id := fmt.Sprint("agent-", a)
		s := hubs[a%len(hubs)]
		g := agent(t, s, id)
		wg.Go(func() {
			for v := range uint64(pushes) {
				if _, err := s.Push(t.Context(), id, g, whole(v+1, skill("x", fmt.Sprint(id, v)), skill(fmt.Sprint(v), ""))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() { follows(t, reader, agentCount*pushes, 1000, func(c store.Cursor) store.Cursor { return c }) })
	wg.Go(func() {
		follows(t, hubs[0], agentCount*pushes, 7, func(c store.Cursor) store.Cursor {
			c, err := store.ParseCursor(c.String())
			if err != nil {
				t.Error(err)
			}
			return c
		})
	})
	wg.Wait()
}

// follows reads a number of changes, each agent's in order and without a gap. One that keeps
// its cursor sees each once. One that has only the text of it may see those again that were
// not settled.
func follows(t *testing.T, s store.Store, count, limit int, keep func(store.Cursor) store.Cursor) {
	versions := map[string]uint64{}
	for cursor := (store.Cursor{}); count > 0; {
		page, err := s.Events(t.Context(), cursor, limit)
		if err != nil || page.Lost {
			t.Errorf("%+v, %v", page, err)
			return
		}
		kept := keep(page.Through)
		for _, e := range page.List {
			switch known := versions[e.Change.AgentID]; {
			case e.Change.Version == known+1:
				versions[e.Change.AgentID]++
				count--
			case e.Change.Version > known || kept == page.Through:
				t.Errorf("version %d of %s follows %d", e.Change.Version, e.Change.AgentID, known)
			}
		}
		if cursor = kept; page.Last && count > 0 {
			if err := s.Wait(t.Context(), page.Through); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// testWritable: a store can write until it is closed, and asking changes nothing.
func testWritable(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	at := newest(t, s)
	for range 2 {
		if err := s.Writable(t.Context()); err != nil {
			t.Error(err)
		}
	}
	awaitEvents(t, s, at, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Writable(ctx); err == nil {
		t.Error("it is asked for nobody")
	}
	if err := s.Writable(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wantErr(t, s.Writable(t.Context()), store.ErrClosed)
}
