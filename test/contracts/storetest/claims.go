package storetest

import (
	"crypto/sha256"
	"testing"

	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/wire/claim"
)

var claimTests = map[string]func(*testing.T, store.Store){
	"Claim":        testClaim,
	"ClaimOfOther": testClaimOfOther,
	"ClaimRules":   testClaimRules,
}

// nameOf is the name of what an agent has.
func nameOf(t *testing.T, s snapshot.Snapshot) claim.Name {
	t.Helper()
	head, err := claim.HeadOf(&s)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][sha256.Size]byte
	for i := range s.Resources {
		r := &s.Resources[i]
		rows = append(rows, claim.Row(r, r.Payload != nil, sha256.Sum256(r.Payload)))
	}
	return claim.Of(&head, rows)
}

// claiming is a push that claims to bring what another one did.
func claiming(t *testing.T, version uint64, of store.Push) store.Push {
	t.Helper()
	name := nameOf(t, of.Snapshot)
	return store.Push{Initial: true, Claim: &name, Snapshot: snapshot.Snapshot{Version: version}}
}

// testClaim: what is stored needn't be brought again; anything else must be.
func testClaim(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	first := whole(1, skill("x", "1"), skill("y", ""), bare("mcp_config", "/w/.mcp.json"))
	first.Snapshot.AggregateHash = snapshot.Hash{1}
	first.Snapshot.SnapshotError = "no inotify"
	first.Snapshot.Plugins = []snapshot.Plugin{{Name: "p", Resolvers: []string{"r"}}}
	first.Snapshot.Discovery = snapshot.Discovery{Phase: snapshot.PhasePending, Sources: snapshot.SourceOutcomes{{ID: "s"}}}
	_, err := s.Push(t.Context(), "a", g, claiming(t, 1, first))
	wantErr(t, err, store.ErrFullNeeded) // nothing is stored
	stored := push(t, s, "a", g, first)

	g2, err := s.BeginSession(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	was := read(t, s, "a")
	if r := push(t, s, "a", g2, claiming(t, 7, first)); !r.Accepted || r.Revision != stored.Revision || r.Written+r.Removed != 0 {
		t.Errorf("claimed: %+v", r)
	}
	now := read(t, s, "a")
	was.Snapshot.Version = 7
	if d := diff(was.Snapshot, now.Snapshot); d != "" || now.Revision != was.Revision || now.ReceivedAt.Before(was.ReceivedAt) {
		t.Errorf("after the claim (-want +got):\n%s", d)
	}
	_, err = s.Push(t.Context(), "a", g, whole(8))
	wantErr(t, err, store.ErrSuperseded) // it has taken over, as any push does
	_, err = s.Push(t.Context(), "a", g, claiming(t, 9, first))
	wantErr(t, err, store.ErrSuperseded)

	// Deltas follow it, and make another name.
	push(t, s, "a", g2, delta(7, 8, nil, skill("x", "2")))
	_, err = s.Push(t.Context(), "a", g2, claiming(t, 9, first))
	wantErr(t, err, store.ErrFullNeeded)
	changed := first
	changed.Snapshot.Resources = []snapshot.Resource{skill("x", "2"), first.Snapshot.Resources[1], first.Snapshot.Resources[2]}
	changed.Snapshot.AggregateHash, changed.Snapshot.SnapshotError = nil, ""
	changed.Snapshot.Plugins, changed.Snapshot.Discovery = nil, snapshot.Discovery{}
	if !push(t, s, "a", g2, claiming(t, 9, changed)).Accepted {
		t.Error("what a delta has made isn't what is stored")
	}
	// Each part of the head makes another name, too.
	for name, part := range map[string]func(*snapshot.Snapshot){
		"hash":      func(s *snapshot.Snapshot) { s.AggregateHash = snapshot.Hash{1} },
		"error":     func(s *snapshot.Snapshot) { s.SnapshotError = "x" },
		"plugins":   func(s *snapshot.Snapshot) { s.Plugins = []snapshot.Plugin{{Name: "p"}} },
		"discovery": func(s *snapshot.Snapshot) { s.Discovery.Phase = snapshot.PhasePending },
		"no rows":   func(s *snapshot.Snapshot) { s.Resources = nil },
		"a row":     func(s *snapshot.Snapshot) { s.Resources = s.Resources[1:] },
		"payload": func(s *snapshot.Snapshot) {
			s.Resources = append([]snapshot.Resource{skill("x", "3")}, s.Resources[1:]...)
		},
	} {
		other := changed
		part(&other.Snapshot)
		if _, err := s.Push(t.Context(), "a", g2, claiming(t, 10, other)); err == nil {
			t.Errorf("%s: claimed", name)
		} else {
			wantErr(t, err, store.ErrFullNeeded)
		}
	}
	if got := read(t, s, "a").Snapshot.Version; got != 9 {
		t.Errorf("version %d after claims that aren't true", got)
	}
}

// testClaimOfOther: what another agent has is no answer.
func testClaimOfOther(t *testing.T, s store.Store) {
	g, other := agent(t, s, "a"), agent(t, s, "b")
	first := whole(1, skill("x", "1"))
	push(t, s, "a", g, first)
	_, err := s.Push(t.Context(), "b", other, claiming(t, 1, first))
	wantErr(t, err, store.ErrFullNeeded)
	push(t, s, "b", other, whole(1, skill("x", "2")))
	_, err = s.Push(t.Context(), "b", other, claiming(t, 2, first))
	wantErr(t, err, store.ErrFullNeeded)
	// Nor is what the agent itself had: a claim is of what it has now.
	push(t, s, "a", g, whole(2, skill("x", "2")))
	_, err = s.Push(t.Context(), "a", g, claiming(t, 3, first))
	wantErr(t, err, store.ErrFullNeeded)
	if err := s.RemoveAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Push(t.Context(), "a", g, claiming(t, 3, first))
	wantErr(t, err, store.ErrNotFound)
}

func testClaimRules(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	first := whole(5, skill("x", "1"))
	push(t, s, "a", g, first)
	again := claiming(t, 5, first)
	again.Initial = false
	if push(t, s, "a", g, again).Accepted {
		t.Error("a version that is stored is accepted")
	}
	for name, change := range map[string]func(*store.Push){
		"resource":  func(p *store.Push) { p.Snapshot.Resources = []snapshot.Resource{skill("x", "1")} },
		"plugin":    func(p *store.Push) { p.Snapshot.Plugins = []snapshot.Plugin{{}} },
		"discovery": func(p *store.Push) { p.Snapshot.Discovery.Phase = snapshot.PhaseComplete },
		"hash":      func(p *store.Push) { p.Snapshot.AggregateHash = snapshot.Hash{1} },
		"error":     func(p *store.Push) { p.Snapshot.SnapshotError = "x" },
		"removed":   func(p *store.Push) { p.Removed = []string{"x"} },
		"delta":     func(p *store.Push) { p.Initial, p.Delta, p.BaseVersion = false, true, 5 },
	} {
		p := claiming(t, 6, first)
		change(&p)
		_, err := s.Push(t.Context(), "a", g, p)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		wantErr(t, err, store.ErrInvalid)
	}
	wantResources(t, s, "a", 5, skill("x", "1"))
}
