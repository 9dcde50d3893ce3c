package hub_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/test/pushtest"
)

// slowStore holds pushes up until it is told to let them go.
type slowStore struct {
	store.Store
	arrived chan struct{}
	proceed chan struct{}
}

func (s *slowStore) Push(ctx context.Context, agent string, generation int64, p store.Push) (store.PushResult, error) {
	s.arrived <- struct{}{}
	select {
	case <-s.proceed:
	case <-ctx.Done():
		return store.PushResult{}, ctx.Err()
	}
	return s.Store.Push(ctx, agent, generation, p)
}

// slowHub is a server whose pushes are held up.
func slowHub(t *testing.T, opts hub.ListenOptions) (*hub.Server, *slowStore) {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowStore{db, make(chan struct{}), make(chan struct{})}
	opts.DB, opts.HTTP, opts.Monitor, opts.DRPC = "sqlite:slow", "127.0.0.1:0", "127.0.0.1:0", []string{"unix:" + filepath.Join(dir, "s")}
	opts.Databases = hub.Databases{
		Check: func(string) error { return nil },
		Open:  func(context.Context, string, hub.StoreOptions) (store.Store, error) { return slow, nil },
	}
	opts.Limits = withTimeouts(opts.Limits)
	return listen(t, opts), slow
}

// TestDrain stops a hub in the middle of pushes: they are answered and stored,
// those who wait are told to go, nothing new is taken, and probes hear of it.
func TestDrain(t *testing.T) {
	t.Parallel()
	server, slow := slowHub(t, hub.ListenOptions{DrainTimeout: timeout})
	stop := run(t, server)
	endpoint := server.HTTPURL() + "/api/v2/workspaceagents/me/rpc"
	token := func(agent string) string {
		text, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: agent})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	busy, idle := dialBare(t, endpoint, token("busy")), dialWS(t, endpoint, token("idle"))
	answers := make(chan error, 1)
	go func() {
		_, err := busy.push(&pushtest.Push{Version: 1, Resources: []*pushtest.Resource{file("/a", "kept")}})
		answers <- err
	}()
	<-slow.arrived
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()

	if err := readFrames(idle, timeout); websocket.CloseStatus(err) != websocket.StatusGoingAway || !strings.Contains(err.Error(), "connect again") {
		t.Errorf("an idle agent is told %v", err)
	}
	response, err := http.Get(server.MonitorURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != 503 || string(text) != "stopping\n" {
		t.Errorf("readyz: %d %s", response.StatusCode, text)
	}
	if _, _, err := websocket.Dial(t.Context(), endpoint+"?version=2.10", nil); err == nil {
		t.Error("a new agent was let in")
	}
	select {
	case err := <-stopped:
		t.Errorf("the hub has stopped in the middle of a push: %v", err)
	default:
	}
	close(slow.proceed)
	if err := <-answers; err != nil {
		t.Errorf("the push that was under way: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	busy.gone()
	if got, err := server.Store().Snapshot(t.Context(), store.Query{AgentID: "busy"}); err != nil || string(got.Snapshot.Resources[0].Payload) != "kept" {
		t.Errorf("stored: %v", err)
	}
}

// TestDrainBounded: a push that never ends holds a hub up for as long as it
// was told, and no longer.
func TestDrainBounded(t *testing.T) {
	t.Parallel()
	server, slow := slowHub(t, hub.ListenOptions{DrainTimeout: 50 * time.Millisecond})
	stop := run(t, server)
	text, _, err := hub.CreateToken(t.Context(), server.Store(), store.NewToken{Role: store.RoleAgent, AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	a := dialBare(t, server.HTTPURL()+"/api/v2/workspaceagents/me/rpc", text)
	answers := make(chan error, 1)
	go func() { _, err := a.push(&pushtest.Push{Version: 1}); answers <- err }()
	<-slow.arrived
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-answers; err == nil {
		t.Error("a push that was cut off was accepted")
	}
}

// TestDrainPlain: plain DRPC comes to its end, too, and Drain may be called
// before anything, and twice.
func TestDrainPlain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hub.Options{})
	p := f.dial(f.token(store.RoleAgent, "a"))
	p.mustPush(&pushtest.Push{Version: 1}, true)
	for range 2 {
		if err := f.hub.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	}
	<-p.conn.Closed()
	if conn, err := f.plain(); err == nil {
		if err := readUntilClosed(conn); err == nil && f.hub.Stats().Connections > 0 {
			t.Error("a new connection is served")
		}
		_ = conn.Close()
	}
	if !f.hub.Stats().Draining {
		t.Error("it isn't draining")
	}
}
