package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmetadata"

	"waymark/host/push"
	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// site is a real hub on a port, with agents that push.
type site struct {
	t       *testing.T
	running atomic.Pointer[hub.Hub] // nil while it is stopped
	store   store.Store
	db      string // as --db names it
	url     string
	cut     func()      // breaks all connections
	reader  string      // a token's text
	away    atomic.Bool // the database is
}

// database is a store that may be away.
type database struct {
	store.Store
	away *atomic.Bool
}

func (d database) SessionByHash(ctx context.Context, hash credential.Hash) (store.Session, error) {
	if d.away.Load() {
		return store.Session{}, fmt.Errorf("%w: connection refused", store.ErrAway)
	}
	return d.Store.SessionByHash(ctx, hash)
}

func newSite(t *testing.T) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), `somebody's "hub".db`)
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, store: st, db: "sqlite:" + path}
	s.start()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.running.Load()
		if h == nil {
			http.Error(w, "a proxy's words", http.StatusBadGateway)
			return
		}
		h.Handler().ServeHTTP(w, r)
	}))
	s.url, s.cut = server.URL, server.CloseClientConnections
	t.Cleanup(func() {
		s.stop()
		server.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s.reader = s.token(store.RoleReader, "", "test")
	return s
}

// start starts a hub of the site's database.
func (s *site) start() {
	s.t.Helper()
	logger := slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	h, err := hub.New(hub.Options{Store: database{s.store, &s.away}, Database: hub.DatabaseName(s.db), Logger: logger})
	if err != nil {
		s.t.Fatal(err)
	}
	s.running.Store(h)
}

// stop ends the hub; its port answers as a proxy would.
func (s *site) stop() {
	if h := s.running.Swap(nil); h != nil {
		s.cut()
		if err := h.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *site) token(role store.Role, agentID, name string) string {
	s.t.Helper()
	text, _, err := hub.CreateToken(s.t.Context(), s.store, store.NewToken{Role: role, AgentID: agentID, Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// call asks the API as the reader and decodes what it answers.
func (s *site) call(method, path, body string, want int, into any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.reader)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		s.t.Fatalf("%s %s: %v, %v, want %d\n%s", method, path, response.Status, err, want, data)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			s.t.Fatal(err)
		}
	}
}

// link returns a one-time link, as hub login would.
func (s *site) link() string {
	s.t.Helper()
	var answer struct{ URL string }
	s.call("POST", "/api/v0/login", "", http.StatusCreated, &answer)
	return answer.URL
}

// agent is one connection of an agent.
type agent struct {
	s       *site
	client  waymark.DRPCContextClient
	conn    *drpcconn.Conn
	ctx     context.Context //nolint:containedctx // holds the token
	version uint64
	served  chan error
	// discovery is that of all pushes.
	discovery *waymark.Discovery
}

func (s *site) agent(id, name string) *agent {
	s.t.Helper()
	token := s.token(store.RoleAgent, id, name)
	ours, theirs := net.Pipe()
	a := &agent{s: s, conn: drpcconn.New(ours), served: make(chan error, 1)}
	h := s.running.Load()
	go func() { a.served <- h.ServeConn(context.Background(), theirs) }()
	s.t.Cleanup(a.leave)
	a.client = waymark.NewDRPCContextClient(a.conn)
	a.ctx = drpcmetadata.Add(context.Background(), wire.TokenMetadata, token)
	return a
}

// reversing is an agent that pushes as agents do, and answers what the hub asks.
func (s *site) reversing(id string, handlers map[string]reverse.Handler) {
	s.t.Helper()
	h := s.running.Load()
	var serving sync.WaitGroup
	pusher := push.New(push.Options{
		Peer: "test", Token: s.token(store.RoleAgent, id, ""), Logger: slog.New(slog.DiscardHandler),
		Describe: func() push.Description { return push.Description{Root: "/w"} },
		Reverse:  push.Reverse{Handlers: handlers},
		Dialer: push.DialFunc(func(context.Context) (drpc.Conn, error) {
			ours, theirs := net.Pipe()
			serving.Go(func() { _ = h.ServeConn(context.Background(), theirs) })
			return push.NewConn(ours), nil
		}),
	})
	done := make(chan error, 1)
	go func() { done <- pusher.Run(context.Background()) }()
	s.t.Cleanup(func() {
		_ = pusher.Close()
		if err := <-done; err != nil && !errors.Is(err, push.ErrClosed) {
			s.t.Error(err)
		}
		_ = h.Close()
		serving.Wait()
	})
	pusher.Publish(&snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{{Kind: "instruction_file", Source: "/w/AGENTS.md", Status: snapshot.StatusOK}}})
	for {
		status, changed := pusher.Watch()
		if status.Reverse.State == push.ReverseOpen {
			return
		}
		select {
		case <-changed:
		case <-s.t.Context().Done():
			s.t.Fatal("the agent has no reverse channel")
		}
	}
}

// leave ends the connection.
func (a *agent) leave() {
	if a.served == nil {
		return
	}
	_ = a.conn.Close()
	if err := <-a.served; err != nil {
		a.s.t.Errorf("serve the agent: %v", err)
	}
	a.served = nil
}

func (a *agent) push(resources []*pushtest.Resource, plugins ...*waymark.Plugin) {
	a.s.t.Helper()
	a.version++
	response, err := pushtest.Send(a.ctx, a.client, &pushtest.Push{
		Version: a.version, Resources: resources, Plugins: plugins, Discovery: a.discovery,
		AggregateHash: []byte(fmt.Sprintf("%032d", a.version)),
	})
	if err != nil || !response.GetAccepted() {
		a.s.t.Fatalf("push: accepted %v, %v", response.GetAccepted(), err)
	}
}

func instructions(source, text string) *pushtest.Resource {
	return &pushtest.Resource{
		Kind: "instruction_file", Source: source, Status: waymark.Status_STATUS_OK, Description: "How to work here",
		ContentHash: []byte(text + strings.Repeat(" ", 32))[:32], SizeBytes: uint64(len(text)), Payload: []byte(text), Resolver: "waymark/context@1.0.0",
	}
}

func skill(name, text string) *pushtest.Resource {
	r := instructions("/home/dev/project/.agents/skills/"+name, text)
	r.Kind, r.Name, r.Description, r.Resolver = "skill", name, "What "+name+" is for, and when to use it", "waymark/context@1.0.0"
	return r
}

// server is an MCP server of the workspace's file, with the tools in JSON.
func server(name, tools string) *pushtest.Resource {
	r := instructions("/home/dev/project/.mcp.json", `{"tools":[`+tools+`]}`)
	r.Kind, r.Key, r.Name, r.Description, r.Resolver = "mcp_server", name, name, "What "+name+" offers", "host/mcp@1"
	return r
}

// discovery is one in which the servers have these outcomes, alternating with names.
func discovery(phase string, outcomes ...string) *waymark.Discovery {
	d := &waymark.Discovery{Phase: phase}
	for i := 0; i < len(outcomes); i += 2 {
		d.Sources = append(d.Sources, &waymark.SourceOutcome{
			Id: "mcp_server:/home/dev/project/.mcp.json#" + outcomes[i], Name: outcomes[i], Outcome: outcomes[i+1],
		})
	}
	return d
}

func attribute(text string) *waymark.Attribute {
	return &waymark.Attribute{Value: &waymark.Attribute_Text{Text: text}}
}

func broken(r *pushtest.Resource, status waymark.Status, why string) *pushtest.Resource {
	r.Status, r.Error, r.Payload = status, why, nil
	return r
}

// workspace is what an agent of two hundred resources pushes.
func workspace() ([]*pushtest.Resource, []*waymark.Plugin) {
	list := []*pushtest.Resource{
		instructions("/home/dev/project/AGENTS.md", "# Working here\n\nRun the tests before you push.\nKeep functions short.\n"),
		instructions("/home/dev/.waymark/AGENTS.md", "# About me\n\nI like tables.\n"),
		{Kind: "mcp_config", Source: "/home/dev/project/.mcp.json", Status: waymark.Status_STATUS_OK, ContentHash: []byte("x"), SizeBytes: 812, Resolver: "waymark/mcp-config@1.0.0"},
		broken(skill("deploy-everything", ""), waymark.Status_STATUS_INVALID, `the name in the front matter, "deploy", is not that of the directory, "deploy-everything"`),
		broken(skill("huge", ""), waymark.Status_STATUS_OVERSIZE, "412.0 KiB, at most 64.0 KiB are taken"),
		broken(instructions("/home/dev/project/CLAUDE.md", ""), waymark.Status_STATUS_UNREADABLE, "permission denied"),
	}
	for i := len(list); i < 200; i++ {
		list = append(list, skill(fmt.Sprintf("skill-%03d", i), fmt.Sprintf("---\nname: skill-%03d\n---\nDo it %d times.\n", i, i)))
	}
	plugins := []*waymark.Plugin{
		{Name: "waymark", Version: "1.0.0", Digest: strings.Repeat("ab", 32), Path: "builtin", State: "ready", Resolvers: []string{"instructions", "skills", "mcp-config"}},
		{Name: "acme-rules", Version: "0.3.1", Digest: strings.Repeat("cd", 32), Path: "/etc/waymark/plugins/acme-rules.wasm", State: "quarantined", Error: "cursor-rules: exceeded its time of 2s, five times in a row", Resolvers: []string{"cursor-rules"}},
	}
	return list, plugins
}

// revoke revokes the reader's token, and so signs all browsers out from afar.
func (s *site) revoke() {
	s.t.Helper()
	token, err := s.store.TokenByHash(s.t.Context(), credential.HashOf(s.reader))
	if err == nil {
		err = s.store.RevokeToken(s.t.Context(), token.ID)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
