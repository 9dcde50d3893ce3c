package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/hub"
	"waymark/hub/client"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/hub/transport"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/waymark"
)

// timeout is for what takes moments on a fast machine.
const timeout = 8 * time.Minute

// replicas are hubs of one database behind one address.
type replicas struct {
	t       *testing.T
	store   store.Store
	current atomic.Pointer[hub.Hub]
	front   *httptest.Server
	agent   string // a token's text
	version uint64
}

func newReplicas(t *testing.T) (_ *replicas, reader string) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &replicas{t: t, store: st}
	r.current.Store(r.start())
	r.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		h := r.current.Load()
		if h == nil {
			http.Error(w, "a proxy's words", http.StatusBadGateway)
			return
		}
		h.Handler().ServeHTTP(w, request)
	}))
	t.Cleanup(func() {
		r.stop()
		r.front.Close()
		_ = st.Close()
	})
	if r.agent, _, err = hub.CreateToken(t.Context(), st, store.NewToken{Role: store.RoleAgent, AgentID: "a"}); err != nil {
		t.Fatal(err)
	}
	if reader, _, err = hub.CreateToken(t.Context(), st, store.NewToken{Role: store.RoleReader}); err != nil {
		t.Fatal(err)
	}
	return r, reader
}

func (r *replicas) start() *hub.Hub {
	r.t.Helper()
	h, err := hub.New(hub.Options{ // no machine is too slow for it
		Store: r.store, Limits: transport.Limits{Handshake: timeout, Read: timeout, Write: timeout}, Consumer: server.Limits{Write: timeout},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// stop ends the hub that answers; its place is empty then.
func (r *replicas) stop() {
	if h := r.current.Swap(nil); h != nil {
		if err := h.Close(); err != nil {
			r.t.Error(err)
		}
		r.front.CloseClientConnections()
	}
}

// push is an edit, by a new session with a hub of its own.
func (r *replicas) push() {
	r.t.Helper()
	h := r.start()
	defer h.Close()
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.ServeConn(context.Background(), theirs) }()
	conn := drpcconn.New(ours)
	r.version++
	text := fmt.Sprintf("edit %d\n", r.version)
	ctx, cancel := context.WithTimeout(r.t.Context(), timeout)
	defer cancel()
	ctx = drpcmetadata.Add(ctx, wire.TokenMetadata, r.agent)
	answer, err := pushtest.Send(ctx, waymark.NewDRPCContextClient(conn), &pushtest.Push{
		Version: r.version, AggregateHash: []byte(text),
		Resources: []*pushtest.Resource{{Kind: "instruction_file", Source: "/w/AGENTS.md", Status: waymark.Status_STATUS_OK, Payload: []byte(text)}},
	})
	if err != nil || !answer.GetAccepted() {
		r.t.Fatalf("push %d: %v, %v", r.version, answer.GetAccepted(), err)
	}
	_ = conn.Close()
	if err := <-served; err != nil {
		r.t.Errorf("serve the agent: %v", err)
	}
}

// TestFollowHubs follows a workspace through edits, restarts of the hub and
// changes of replica: no revision is missed, none comes twice, and what is
// read at each is there.
func TestFollowHubs(t *testing.T) {
	r, reader := newReplicas(t)
	c := client.New(r.front.URL, client.Options{Token: reader, Retry: 100 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	pin, err := c.CreatePin(ctx, "a", "empty")
	if err != nil {
		t.Fatal(err)
	}
	r.push()
	const edits = 30
	seen, last := 0, int64(0)
	hydrated, drifted := 0, 0
	for e, err := range c.Events(ctx, client.EventOptions{}) {
		if err != nil { // lost, and found again
			continue
		}
		if e.Pin != nil && e.Pin.ID == pin.ID && e.Pin.Revision > 0 {
			hydrated++
			if e.Pin.DriftedAt != nil {
				drifted++
			}
		}
		if e.Reset != nil {
			t.Fatalf("reset: %s", e.Reset.Reason)
		}
		if e.Context == nil {
			continue
		}
		seen++
		if e.Context.Revision <= last || e.Context.Version != uint64(seen) {
			t.Fatalf("revision %d of version %d after revision %d of version %d", e.Context.Revision, e.Context.Version, last, seen-1)
		}
		last = e.Context.Revision
		if seen == edits {
			break
		}
		if text, err := c.Resource(ctx, "a", "instruction_file:/w/AGENTS.md", last); err != nil || string(text) != fmt.Sprintf("edit %d\n", seen) {
			t.Fatalf("revision %d holds %q, %v", last, text, err)
		}
		switch seen % 10 { // what happens between two edits
		case 3: // another replica takes over
			old := r.current.Swap(r.start())
			if err := old.Close(); err != nil {
				t.Error(err)
			}
		case 6: // the hub restarts, and the edit comes while it is down
			r.stop()
			r.push()
			r.current.Store(r.start())
			continue
		case 9: // the line breaks
			r.front.CloseClientConnections()
		}
		r.push()
	}
	if ctx.Err() != nil {
		t.Fatalf("after %d of %d edits: %v", seen, edits, ctx.Err())
	}
	if seen != edits || hydrated == 0 || drifted != 1 {
		t.Errorf("seen %d of %d edits; %d events about the pin, drifted %d times; want once", seen, edits, hydrated, drifted)
	}
	diff, err := c.PinDiff(ctx, pin.ID)
	if err != nil || len(diff.Changes) != 1 || !strings.Contains(diff.Changes[0].Diff, "-edit 1\n+edit 30") {
		t.Errorf("since the pin: %+v, %v", diff, err)
	}
	if fresh, err := c.RefreshPin(ctx, pin.ID); err != nil || fresh.Revision != last || fresh.DriftedAt != nil {
		t.Errorf("refreshed: %+v, %v", fresh, err)
	}
	if err := c.DeletePin(ctx, pin.ID); err != nil {
		t.Error(err)
	}
	history, err := c.History(ctx, "a", 5)
	if err != nil || len(history) != 5 || history[0].Revision != last {
		t.Errorf("history: %+v, %v", history, err)
	}
}

// TestFindAgents goes through the pages of a real hub.
func TestFindAgents(t *testing.T) {
	r, reader := newReplicas(t)
	for _, id := range []string{"b", "c", "d", "e"} {
		if _, _, err := hub.CreateToken(t.Context(), r.store, store.NewToken{Role: store.RoleAgent, AgentID: id}); err != nil {
			t.Fatal(err)
		}
	}
	c := client.New(r.front.URL, client.Options{Token: reader})
	var ids string
	for q := (client.AgentQuery{Limit: 2, Descending: true}); ; {
		page, err := c.FindAgents(t.Context(), q)
		if err != nil || page.Total != 5 || len(ids) > 5 {
			t.Fatal(page, err, ids)
		}
		for i := range page.Agents {
			ids += page.Agents[i].ID
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	if ids != "edcba" {
		t.Errorf("pages have %s", ids)
	}
}
