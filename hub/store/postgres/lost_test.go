package postgres_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"waymark/hub/store"
	"waymark/hub/store/postgres"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/contracts/storetest"
	"waymark/test/pgtest"
	"waymark/wire"
)

// state is a push of n resources whose content is their version's.
func state(version uint64, n int) store.Push {
	p := store.Push{Snapshot: snapshot.Snapshot{Version: version}}
	for i := range n {
		text := fmt.Sprint(version, " of ", i)
		p.Snapshot.Resources = append(p.Snapshot.Resources, snapshot.Resource{
			Kind: "skill", Source: fmt.Sprintf("/%03d", i), Status: snapshot.StatusOK, Payload: []byte(text),
		})
	}
	return p
}

func wantState(t *testing.T, st store.Store, p store.Push, result store.PushResult) {
	t.Helper()
	got, err := st.Snapshot(t.Context(), store.Query{AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Revision != result.Revision || got.Snapshot.Version != p.Snapshot.Version || len(got.Snapshot.Resources) != len(p.Snapshot.Resources) {
		t.Fatalf("stored is revision %d, version %d with %d resources; want %d, %d, %d", got.Revision, got.Snapshot.Version,
			len(got.Snapshot.Resources), result.Revision, p.Snapshot.Version, len(p.Snapshot.Resources))
	}
	for i, r := range got.Snapshot.Resources {
		if string(r.Payload) != string(p.Snapshot.Resources[i].Payload) {
			t.Errorf("%s is %q", r.ID(), r.Payload)
		}
	}
}

func session(t testing.TB, st store.Store, id string) int64 {
	t.Helper()
	if _, err := st.CreateToken(t.Context(), store.NewToken{Role: store.RoleAgent, AgentID: id, Hash: credential.HashOf(id)}); err != nil {
		t.Fatal(err)
	}
	g, _, err := st.BeginSession(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCommitNotAnswered loses the connection after the server has committed
// and before it has said so: the push is stored, once, and its caller is told
// so, although by its version it would be a replay.
func TestCommitNotAnswered(t *testing.T) {
	direct := pgtest.Database(t)
	p, url := newProxy(t, direct)
	st := open(t, url, postgres.Options{})
	g := session(t, st, "a")
	pushes := []store.Push{state(1, 3), state(2, 3), state(3, 3), state(4, 3)}
	pushes[0].Initial = true
	pushes[2].Snapshot.Resources = pushes[1].Snapshot.Resources // the same again: accepted, and no new revision
	name := storetest.NameOf(pushes[2].Snapshot)
	pushes[2].Update = &store.Update{Name: name, Head: true}
	pushes[3].Update = &store.Update{Base: name, Name: wire.Name{1}}
	want := []store.PushResult{
		{Accepted: true, Revision: 1, Written: 0}, // done again, and then the same as what is there
		{Accepted: true, Revision: 2, Written: 3},
		{Accepted: true, Revision: 2},
		{Accepted: true, Revision: 3, Written: 3},
	}
	for i, push := range pushes {
		p.arm(atCommit())
		result, err := st.Push(t.Context(), "a", g, push)
		if cuts := p.done(); cuts != 1 {
			t.Fatalf("push %d: cut %d times", i, cuts)
		}
		if err != nil || !reflect.DeepEqual(result, want[i]) {
			t.Errorf("push %d: %+v, %v; want %+v", i, result, err, want[i])
		}
		wantState(t, st, push, result)
	}
	// What comes after really is a replay.
	if result, err := st.Push(t.Context(), "a", g, state(4, 1)); err != nil || result.Accepted {
		t.Errorf("replay: %+v, %v", result, err)
	}

	p.arm(atCommit())
	token, err := st.CreateToken(t.Context(), store.NewToken{Role: store.RoleReader, Hash: credential.HashOf("reader")})
	if cuts := p.done(); err != nil || cuts != 1 {
		t.Errorf("create token: %v, cut %d times", err, cuts)
	}
	if found, err := st.TokenByHash(t.Context(), credential.HashOf("reader")); err != nil || found.ID != token.ID {
		t.Errorf("token is %+v, %v; want %s", found, err, token.ID)
	}
}

// TestCutAnywhere loses the connection at every message of a push in turn.
func TestCutAnywhere(t *testing.T) {
	p, url := newProxy(t, pgtest.Database(t))
	st := open(t, url, postgres.Options{MaxConns: 1, History: store.Retention{Revisions: 2}})
	g := session(t, st, "a")
	version := uint64(0)
	for n := 1; ; n++ {
		version++
		push := state(version, 5)
		p.arm(atMessage(n))
		result, err := st.Push(t.Context(), "a", g, push)
		cuts := p.done()
		if err != nil || !result.Accepted {
			t.Fatalf("cut at message %d: %+v, %v", n, result, err)
		}
		wantState(t, st, push, result)
		if cuts == 0 {
			t.Logf("a push takes %d messages", n-1)
			if n < 20 {
				t.Error("that are too few: the proxy doesn't see them")
			}
			return
		}
	}
}

// TestReadsAgain loses the connection in the midst of everything else.
func TestReadsAgain(t *testing.T) {
	p, url := newProxy(t, pgtest.Database(t))
	st := open(t, url, postgres.Options{MaxConns: 1})
	g := session(t, st, "a")
	if _, err := st.Push(t.Context(), "a", g, state(1, 5)); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"agents": func(ctx context.Context) error { list, err := st.Agents(ctx); return all(len(list) == 1, err) },
		"tokens": func(ctx context.Context) error { list, err := st.Tokens(ctx); return all(len(list) == 1, err) },
		"events": func(ctx context.Context) error {
			page, err := st.Events(ctx, store.Cursor{}, 9)
			return all(len(page.List) == 1, err)
		},
		"newest":  func(ctx context.Context) error { at, err := st.Newest(ctx); return all(!at.IsZero(), err) },
		"history": func(ctx context.Context) error { list, err := st.History(ctx, "a"); return all(len(list) == 1, err) },
		"prune":   st.Prune,
		"begin":   func(ctx context.Context) error { _, _, err := st.BeginSession(ctx, "a", ""); return err },
		"snapshot": func(ctx context.Context) error {
			s, err := st.Snapshot(ctx, store.Query{AgentID: "a"})
			return all(len(s.Snapshot.Resources) == 5, err)
		},
	}
	for name, call := range calls {
		for n := 1; ; n++ {
			p.arm(atMessage(n))
			err := call(t.Context())
			cuts := p.done()
			if err != nil {
				t.Errorf("%s cut at message %d: %v", name, n, err)
			}
			if cuts == 0 {
				break
			}
		}
	}
}

func all(ok bool, err error) error {
	if err == nil && !ok {
		return fmt.Errorf("not the whole answer")
	}
	return err
}
