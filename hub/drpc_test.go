package hub_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/internal/credential"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/coder"
	"waymark/wire/waymark"
)

func TestVersionRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	for name, push := range map[string]func(*peer, uint64, bool) (bool, error){
		"waymark": func(p *peer, version uint64, initial bool) (bool, error) {
			if initial { // the first one of a connection
				*p = *f.dial(f.token(store.RoleAgent, "waymark"))
			}
			return p.push(&pushtest.Push{Version: version, Resources: []*pushtest.Resource{file("/a", fmt.Sprint(version))}})
		},
		"coder": func(p *peer, version uint64, initial bool) (bool, error) {
			return p.pushCoder(&coder.PushContextStateRequest{Version: version, Initial: initial, Resources: []*coder.ContextResource{coderFile("/a", fmt.Sprint(version))}})
		},
	} {
		p := f.dial(f.token(store.RoleAgent, name))
		for _, step := range []struct {
			version         uint64
			initial, accept bool
		}{{5, true, true}, {5, false, false}, {4, false, false}, {6, false, true}, {2, true, true}, {2, false, false}, {3, false, true}} {
			before := f.snapshot(name)
			accepted, err := push(p, step.version, step.initial)
			if err != nil || accepted != step.accept {
				t.Fatalf("%s %+v: accepted %v, %v", name, step, accepted, err)
			}
			got := f.snapshot(name)
			if !accepted && got.Revision != before.Revision {
				t.Errorf("%s %+v: written though not accepted", name, step)
			}
			if accepted && (got.Snapshot.Version != step.version || string(got.Snapshot.Resources[0].Payload) != fmt.Sprint(step.version)) {
				t.Errorf("%s %+v: stored %+v", name, step, got)
			}
		}
	}
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	good := f.token(store.RoleAgent, "a")
	revoked := f.token(store.RoleAgent, "a")
	token, err := f.store.TokenByHash(t.Context(), credential.HashOf(revoked))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.RevokeToken(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	p := f.dial(good)
	// A message of megabytes: it must not be decoded, nor hurt the connection.
	request := &pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/a", long(180_000))}}
	for range 10 {
		request.Plugins = append(request.Plugins, &waymark.Plugin{Error: long(300_000)})
	}
	for name, text := range map[string]string{
		"none": "", "unknown": credential.AgentToken.New(), "revoked": revoked,
		"reader": f.token(store.RoleReader, ""), "absurd": long(10_000), "prefix": good[:20], "NUL": good + "\x00",
	} {
		_, err := p.as(text).push(request)
		if !wire.IsUnauthorized(err) || err.Error() != "unauthorized" {
			t.Errorf("%s: %v", name, err)
		}
		_, err = p.as(text).pushCoder(&coder.PushContextStateRequest{Version: 1})
		if !wire.IsUnauthorized(err) {
			t.Errorf("%s: coder: %v", name, err)
		}
	}
	if f.snapshot("a") != nil {
		t.Error("something was stored")
	}
	p.mustPush(&pushtest.Push{Version: 1}, true)
	if log := f.log.String(); strings.Contains(log, good) || strings.Contains(log, revoked) {
		t.Error("a token is in the log")
	}
}

func TestUnimplemented(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	message, answer := []byte("\x0a\x03xyz"), []byte(nil)
	err := p.conn.Invoke(p.ctx, wire.ServiceAgent+"GetManifest", raw{}, &message, &answer)
	if drpcerr.Code(err) != drpcerr.Unimplemented {
		t.Errorf("GetManifest: %v, code %d", err, drpcerr.Code(err))
	}
	p.mustPush(&pushtest.Push{Version: 1}, true)
}

func TestSuperseded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	token := f.token(store.RoleAgent, "a")
	older, newer := f.dial(token), f.dial(token)
	older.mustPush(&pushtest.Push{Version: 1}, true)
	// A connection takes over with its first good push, not before.
	if _, err := newer.push(&pushtest.Push{Version: 1, AggregateHash: []byte(long(65))}); err == nil {
		t.Fatal("a bad push was accepted")
	}
	older.mustPush(&pushtest.Push{Version: 2}, true)
	newer.mustPush(&pushtest.Push{Version: 1}, true)
	for _, initial := range []bool{false, true} {
		_, err := older.push(&pushtest.Push{Version: 9})
		if !wire.IsSuperseded(err) {
			t.Errorf("initial %v: %v", initial, err)
		}
		_, err = older.pushCoder(&coder.PushContextStateRequest{Version: 9, Initial: initial})
		if !wire.IsSuperseded(err) {
			t.Errorf("coder, initial %v: %v", initial, err)
		}
	}
	newer.mustPush(&pushtest.Push{Version: 2}, true)
	if got := f.snapshot("a").Snapshot.Version; got != 2 {
		t.Errorf("stored version is %d", got)
	}
}

func TestAgentsDontMix(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	a := f.dial(f.token(store.RoleAgent, "a"))
	// One connection may even carry two agents' calls.
	b := a.as(f.token(store.RoleAgent, "b"))
	a.mustPush(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/x", "of a"), file("/y", "")}}, true)
	b.mustPush(&pushtest.Push{Version: 7, Resources: []*pushtest.Resource{file("/x", "of b")}}, true)
	a.mustPush(&pushtest.Push{Version: 2, Resources: []*pushtest.Resource{file("/x", "of a 2")}}, true)
	for id, want := range map[string]string{"a": "of a 2", "b": "of b"} {
		got := f.snapshot(id).Snapshot
		if len(got.Resources) != 1 || string(got.Resources[0].Payload) != want {
			t.Errorf("%s has %+v", id, got.Resources)
		}
	}
}

func TestConnected(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- f.hub.ServeConn(t.Context(), server) }()
	conn := drpcconn.New(client)
	ctx := drpcmetadata.Add(t.Context(), wire.TokenMetadata, f.token(store.RoleAgent, "a"))
	if f.hub.Connected("a") {
		t.Error("connected before the first call")
	}
	if _, err := pushtest.Send(ctx, waymark.NewDRPCContextClient(conn), &pushtest.Push{Version: 1}); err != nil {
		t.Fatal(err)
	}
	if !f.hub.Connected("a") || f.hub.Connected("b") {
		t.Error("not connected after a call")
	}
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if f.hub.Connected("a") {
		t.Error("still connected after the connection ended")
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{Limits: transport.Limits{Connections: 1}})
	first := f.dial(f.token(store.RoleAgent, "a"))
	first.mustPush(&pushtest.Push{Version: 1}, true)
	client, server := net.Pipe()
	if err := f.hub.ServeConn(t.Context(), server); err != transport.ErrBusy {
		t.Errorf("error is %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	first.mustPush(&pushtest.Push{Version: 2}, true)
}

// TestConcurrent has agents with several connections each push at once, with
// other readers. The end is not predictable; that it is consistent is.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	reader := f.token(store.RoleReader, "")
	var wg sync.WaitGroup
	for a := range 4 {
		id := fmt.Sprint("agent-", a)
		token := f.token(store.RoleAgent, id)
		for c := range 3 {
			p := f.dial(token)
			wg.Go(func() {
				for v := range uint64(8) {
					text := fmt.Sprint(id, c, v)
					_, err := p.push(&pushtest.Push{Version: v + 1, Resources: []*pushtest.Resource{file("/x", text), file("/y", text)}})
					if err != nil && !wire.IsSuperseded(err) {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			for range 8 {
				if response := f.do("GET", "/api/v0/agents", reader, ""); response.StatusCode != 200 {
					t.Errorf("agents: %v", response.Status)
				}
				if s := f.snapshot(id); s != nil && string(s.Snapshot.Resources[0].Payload) != string(s.Snapshot.Resources[1].Payload) {
					t.Error("half a push is visible")
				}
			}
		})
	}
	wg.Wait()
}

// lateStore is late with its answer to a push of version lateVersion, which it has
// stored by then.
type lateStore struct {
	store.Store
	stored, answer chan struct{}
}

const lateVersion = 7

func (s *lateStore) Push(ctx context.Context, agent string, generation int64, p store.Push) (store.PushResult, error) {
	result, err := s.Store.Push(ctx, agent, generation, p)
	if p.Snapshot.Version == lateVersion {
		close(s.stored)
		<-s.answer
	}
	return result, err
}

// TestSupersededAtOnce: an agent that is refused for a push of which the hub doesn't
// know yet that it was accepted is refused, and not sent away to take over again.
func TestSupersededAtOnce(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	late := &lateStore{db, make(chan struct{}), make(chan struct{})}
	f := newFixture(t, hub.Options{Store: late})
	token := f.token(store.RoleAgent, "a")
	older, newer := f.dial(token), f.dial(token)
	older.mustPush(&pushtest.Push{Version: 1}, true)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { newer.mustPush(&pushtest.Push{Version: lateVersion}, true) })
	<-late.stored
	if _, err := older.push(&pushtest.Push{Version: 2}); !wire.IsSuperseded(err) {
		t.Errorf("the older connection's push: %v", err)
	}
	// Else its connection ends, a moment later.
	if text := f.log.String(); strings.Contains(text, "has taken over is gone") {
		t.Error(text)
	}
	close(late.answer)
}

func TestCloseAnyTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	p.mustPush(&pushtest.Push{Version: 1}, true)
	for range 2 {
		if err := f.hub.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.push(&pushtest.Push{Version: 2}); err == nil {
		t.Error("a closed hub took a push")
	}
	_, server := net.Pipe()
	if err := f.hub.ServeConn(context.Background(), server); err != hub.ErrClosed {
		t.Errorf("error is %v", err)
	}
	if _, err := hub.New(hub.Options{}); err == nil {
		t.Error("a hub without a store")
	}
}
