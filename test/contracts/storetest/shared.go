package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"waymark/hub/store"
	"waymark/wire/fingerprint"
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
}

func testTwoHubs(t *testing.T, db Database) {
	one, two := db.Open(t, Config{}), db.Open(t, Config{})
	older := agent(t, one, "a")
	push(t, one, "a", older, whole(5, skill("x", "1")))
	newer, err := two.BeginSession(t.Context(), "a")
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
	changes, err := hubs[0].Changes(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	newest := map[string]outcome{}
	for _, ch := range changes {
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
	generation, err := s.BeginSession(t.Context(), id)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	var name fingerprint.Name
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

func testWaitNow(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	g := agent(t, s, "a")
	var newest int64
	for v := range uint64(3) {
		newest = push(t, s, "a", g, whole(v+1, skill("x", fmt.Sprint(v)))).Revision
	}
	for _, hub := range []store.Store{s, db.Open(t, Config{})} {
		// Below the newest there is something to read; above it, the reader
		// comes from a future that was lost.
		for _, after := range []int64{0, newest - 1, newest + 1, newest + 1000} {
			if got, err := hub.Wait(t.Context(), after); err != nil || got != newest {
				t.Errorf("after %d: %d, %v; want %d", after, got, err, newest)
			}
		}
	}
}

func testWaitHears(t *testing.T, db Database) {
	one, two := db.Open(t, Config{}), db.Open(t, Config{})
	g := agent(t, one, "a")
	var revision int64
	for v := range uint64(5) {
		var wg sync.WaitGroup
		for _, hub := range []store.Store{one, two, two} {
			wg.Go(func() {
				if got, err := hub.Wait(t.Context(), revision); err != nil || got != revision+1 {
					t.Errorf("after %d: %d, %v", revision, got, err)
				}
			})
		}
		result := push(t, one, "a", g, whole(v+1, skill("x", fmt.Sprint(v))))
		wg.Wait()
		revision = result.Revision
	}
}

func testWaitEnds(t *testing.T, db Database) {
	s := db.Open(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error)
	go func() {
		_, err := s.Wait(ctx, 0)
		results <- err
	}()
	cancel()
	wantErr(t, <-results, context.Canceled)
	push(t, s, "a", agent(t, s, "a"), whole(1))
	_, err := s.Wait(ctx, 0) // although there is something newer
	wantErr(t, err, context.Canceled)
	for range 3 {
		go func() {
			_, err := s.Wait(t.Context(), 1)
			results <- err
		}()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		wantErr(t, <-results, store.ErrClosed)
	}
	_, err = s.Wait(t.Context(), 1)
	wantErr(t, err, store.ErrClosed)
}

// testNothingMissed has a reader follow what many agents push through two
// hubs: it sees every revision, once, in order, with what was pushed.
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
	versions := map[string]uint64{}
	for cursor := int64(0); cursor < agentCount*pushes; {
		newest, err := reader.Wait(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		list, err := reader.Changes(t.Context(), cursor, 7)
		if err != nil || len(list) == 0 || newest <= cursor {
			t.Fatalf("after %d comes %d, and %d changes, %v", cursor, newest, len(list), err)
		}
		for _, ch := range list {
			if ch.Revision != cursor+1 {
				t.Errorf("revision %d follows %d", ch.Revision, cursor)
			}
			if ch.Version != versions[ch.AgentID]+1 {
				t.Errorf("version %d of %s follows %d", ch.Version, ch.AgentID, versions[ch.AgentID])
			}
			cursor, versions[ch.AgentID] = ch.Revision, ch.Version
		}
	}
	wg.Wait()
}
