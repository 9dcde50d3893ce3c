package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/host"
	"waymark/host/config"
	"waymark/test/testenv"
	"waymark/workspace/access"
)

// newTestServices makes the services of a workspace as a daemon does, without the
// engine.
func newTestServices(t *testing.T) (*services, *server.API) {
	t.Helper()
	home := t.TempDir()
	root := filepath.Join(home, "ws")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("WAYMARK_SOCKET", filepath.Join(testenv.SocketDir(t), "a.sock"))
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorkspace(paths, root, nil, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := config.MakePrivate(w.places.State.Path()); err != nil {
		t.Fatal(err)
	}
	d := &Agent{opts: Options{Program: &Program{}}, log: slog.New(slog.DiscardHandler), workspace: w, end: func() {}}
	if d.host, err = host.New(host.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.host.Close() })
	d.services = newServices(d, config.Default())
	t.Cleanup(func() {
		if err := d.services.close(); err != nil {
			t.Error(err)
		}
	})
	// What asks for a server waits until it is known which there are: none.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.services.servers.Run(ctx) }()
	d.services.servers.SetFiles(nil)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	opts := server.Options{Backend: servertest.New(), Token: listenToken}
	d.services.mount(&opts)
	return d.services, server.New(opts)
}

const listenToken = "the token of --listen-token-file"

// caller is who makes a call, by the token that is shown.
type caller struct{ name, token string }

// callers returns one of each kind. All tokens but that of --listen-token-file were
// minted, or are the control token.
func callers(t *testing.T, s *services) []caller {
	t.Helper()
	control := s.tokens.Authenticate(readFile(t, ControlFile(s.d.workspace.places.State).Path()))
	if control == nil {
		t.Fatal("the control token isn't valid")
	}
	mint := func(want agentapi.NewToken) *agentapi.MintedToken {
		made, err := s.tokens.Mint(t.Context(), control, true, want)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	every := func(but access.Scope) (list []string) {
		for _, scope := range access.Scopes() {
			if scope != but {
				list = append(list, string(scope))
			}
		}
		return list
	}
	soon := time.Now().Add(time.Millisecond)
	expired := mint(agentapi.NewToken{Scopes: every(""), ExpiresAt: &soon})
	<-time.After(time.Until(soon.Add(time.Millisecond)))
	revoked := mint(agentapi.NewToken{Scopes: every("")})
	if err := s.tokens.Revoke(t.Context(), control, revoked.ID); err != nil {
		t.Fatal(err)
	}
	list := []caller{
		{"no token", ""}, {"wrong", "wm_WRONG"}, {"expired", expired.Secret}, {"revoked", revoked.Secret},
		{"control", readFile(t, ControlFile(s.d.workspace.places.State).Path())}, {"listen", listenToken},
		{"capability", mint(agentapi.NewToken{Scopes: []string{"processes", "files", "mcp"}, Hub: &agentapi.Capability{}}).Secret},
		{"fenced", mint(agentapi.NewToken{Scopes: every(""), Plan: filepath.Join(s.d.workspace.root, "PLAN.md")}).Secret},
	}
	for _, scope := range access.Scopes() {
		list = append(list, caller{"without " + string(scope), mint(agentapi.NewToken{Scopes: every(scope)}).Secret})
	}
	return list
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// service says which part of [services] has a route: "" for the context API, which
// is always there, "owner" for what is there and follows services.tcp.
type guarded struct {
	service string
	scope   access.Scope // "" reads
	fence   string       // "" reads, "refuses" who is fenced in, "holds" itself to the fence
}

// guards has every route that a daemon serves. One that is missing here fails the
// test: whoever adds a route says who may call it.
var guards = map[string]guarded{
	"GET /healthz": {}, "GET /metrics": {}, "GET /api/v0/openapi.json": {}, "GET /api/v0/status": {},
	"GET /api/v0/plugins": {}, "POST /api/v0/plugins/retry": {fence: "refuses"}, "GET /api/v0/plugins/waiting": {},
	"POST /api/v0/plugins/approve": {scope: access.ScopeApprove, fence: "refuses"},
	"GET /api/v0/context/snapshot": {}, "POST /api/v0/context/resync": {}, "GET /api/v0/context/resources/{id}": {},
	"GET /api/v0/context/why": {}, "GET /api/v0/context/for": {}, "GET /api/v0/context/client": {}, "GET /api/v0/context/coverage": {}, "GET /api/v0/context/skill-files": {}, "GET /api/v0/context/skill-file": {}, "PUT /api/v0/context/root": {fence: "refuses"}, "POST /api/v0/context/ready": {fence: "refuses"},
	"GET /api/v0/context/sources": {}, "POST /api/v0/context/sources": {fence: "refuses"}, "GET /api/v0/context/sources/{path}": {},
	"DELETE /api/v0/context/sources/{path}": {fence: "refuses"}, "GET /api/v0/context-config": {},

	"GET /api/v0/tokens": {"owner", access.ScopeTokens, ""}, "POST /api/v0/tokens": {"owner", access.ScopeTokens, "holds"},
	"DELETE /api/v0/tokens/{id}": {"owner", access.ScopeTokens, "holds"}, "POST /api/v0/stop": {"owner", access.ScopeStop, "refuses"},

	"POST /api/v0/processes/start": {"processes", access.ScopeProcesses, "holds"}, "GET /api/v0/processes/list": {"processes", "", ""},
	"GET /api/v0/processes/tokens/{token}": {"processes", "", ""}, "POST /api/v0/processes/cancel-tracked": {"processes", access.ScopeProcesses, "holds"},
	"GET /api/v0/processes/{id}/output": {"processes", "", ""}, "POST /api/v0/processes/{id}/signal": {"processes", access.ScopeProcesses, "holds"},
	"POST /api/v0/processes/{id}/stdin": {"processes", access.ScopeProcesses, "holds"}, "POST /api/v0/processes/{id}/resize": {"processes", access.ScopeProcesses, "holds"},

	"GET /api/v0/read-file": {"files", "", ""}, "GET /api/v0/read-file-lines": {"files", "", ""}, "POST /api/v0/list-directory": {"files", "", ""},
	"POST /api/v0/find-files": {"files", "", ""}, "POST /api/v0/search-files": {"files", "", ""},
	"POST /api/v0/write-file": {"files", access.ScopeFiles, "holds"}, "POST /api/v0/edit-files": {"files", access.ScopeFiles, "holds"},

	"GET /api/v0/desktop": {"desktop", access.ScopeDesktopView, "refuses"}, "GET /api/v0/desktop/vnc": {"desktop", access.ScopeDesktopView, "refuses"},
	"POST /api/v0/desktop/start": {"desktop", access.ScopeDesktop, "refuses"}, "POST /api/v0/desktop/stop": {"desktop", access.ScopeDesktop, "refuses"},
	"POST /api/v0/desktop/action":          {"desktop", access.ScopeDesktop, "refuses"},
	"POST /api/v0/desktop/recording/start": {"desktop", access.ScopeDesktop, "refuses"}, "POST /api/v0/desktop/recording/stop": {"desktop", access.ScopeDesktop, "refuses"},

	"GET /api/v0/git/watch": {"git", "", ""}, "POST /api/v0/git/diff": {"git", "", ""},

	// Who may come: what a token allows there is what its calls ask of the routes above.
	"POST /api/v0/mcp": {"owner", "", ""}, "GET /api/v0/mcp": {"owner", "", ""}, "DELETE /api/v0/mcp": {"owner", "", ""},

	"GET /api/v0/mcp/tools": {"owner", "", ""}, "GET /api/v0/mcp/search": {"owner", "", ""}, "GET /api/v0/mcp/results/{id}": {"owner", "", ""},
	"GET /api/v0/mcp/servers": {"owner", "", ""}, "GET /api/v0/mcp/servers/{name}": {"owner", "", ""}, "GET /api/v0/mcp/servers/{name}/logs": {"owner", "", ""},
	"POST /api/v0/mcp/call-tool": {"owner", access.ScopeMCP, "refuses"}, "POST /api/v0/mcp/request": {"owner", access.ScopeMCP, "refuses"}, "POST /api/v0/mcp/servers/{name}/restart": {"owner", access.ScopeMCP, "refuses"},
	"POST /api/v0/mcp/servers/{name}/approve": {"owner", access.ScopeApprove, "refuses"}, "POST /api/v0/mcp/servers/{name}/deny": {"owner", access.ScopeApprove, "refuses"},
	"POST /api/v0/mcp/servers/{name}/login": {"owner", access.ScopeApprove, "refuses"},
}

// want is what must become of a call: the status where it is refused before its
// handler sees it, 0 where it isn't.
func (g guarded) want(c *config.Services, path string, tcp bool, who string) int {
	valid := !slices.Contains([]string{"no token", "wrong", "expired", "revoked", "capability"}, who)
	reader := valid || who == "no token" && !tcp
	on := map[string]bool{"": true, "owner": true, "processes": c.Processes, "files": c.Files, "git": c.Git, "desktop": c.Desktop}[g.service]
	switch {
	case path == "/healthz":
		return 0
	case !reader, g.scope != "" && who == "no token":
		return http.StatusUnauthorized
	case g.scope != "" && (who == "listen" || who == "without "+string(g.scope) && g.scope != access.ScopeDesktopView), // which ScopeDesktop includes
		g.fence == "refuses" && who == "fenced",
		!on, g.service != "" && tcp && !c.TCP:
		return http.StatusForbidden
	}
	return 0
}

// refused is the status of a refusal by who calls, and 0 for every other answer: a
// handler that doesn't like an empty body, say. Where a route holds itself to a fence,
// that refusal is its handler's.
func refused(w *httptest.ResponseRecorder) int {
	body := w.Body.String()
	for _, words := range []string{"it lacks the scope", "fenced in to a plan", "in the agent's configuration"} {
		if w.Code == http.StatusForbidden && strings.Contains(body, words) {
			return w.Code
		}
	}
	if w.Code == http.StatusUnauthorized {
		return w.Code
	}
	return 0
}

// TestWhoMayCall goes through every route of the document, with every kind of
// caller, over the socket and over TCP, with the services on and off.
func TestWhoMayCall(t *testing.T) {
	s, handler := newTestServices(t)
	all := callers(t, s)
	routes := documented(t, handler)
	known := map[string]bool{}
	configs := map[string]config.Services{"default": config.Default().Services}
	for _, name := range []string{"tcp", "processes", "files", "git"} {
		c := config.Default().Services
		c.TCP = true
		*map[string]*bool{"tcp": new(bool), "processes": &c.Processes, "files": &c.Files, "git": &c.Git}[name] = false
		configs[name] = c
	}
	on := config.Default().Services
	on.Desktop, on.TCP = true, true
	configs["desktop"] = on
	s.screen.Store(&config.Desktop{Server: "/nowhere/Xvnc"}) // so that nothing starts
	calls := 0
	for name, c := range configs {
		s.configureServices(&c)
		for route := range routes {
			method, path, _ := strings.Cut(route, " ")
			known[route] = true
			g, ok := guards[route]
			if !ok {
				t.Fatalf("%s is served, and it isn't written down who may call it", route)
			}
			for _, who := range all {
				for _, tcp := range []bool{false, true} {
					calls++
					want := g.want(&c, path, tcp, who.name)
					if got := refused(call(t, handler, method, path, who.token, tcp)); got != want {
						t.Errorf("%s, %s, TCP %v, configuration %s: %d, want %d", route, who.name, tcp, name, got, want)
					}
				}
			}
		}
	}
	for route := range guards {
		if !known[route] {
			t.Errorf("%s is not served", route)
		}
	}
	t.Logf("%d calls", calls)
}

// call makes one call that changes nothing: what its handler would need is missing.
func call(t *testing.T, handler http.Handler, method, path, token string, tcp bool) *httptest.ResponseRecorder {
	t.Helper()
	var body io.Reader = strings.NewReader("{")
	if method == http.MethodGet || method == http.MethodDelete {
		body = http.NoBody
	}
	target := strings.NewReplacer("{id}", "none", "{path}", "none", "{token}", "none", "{name}", "none").Replace(path)
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+target, body)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	var local net.Addr = &net.UnixAddr{Name: "a.sock", Net: "unix"}
	if tcp {
		local = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7879}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
	return w
}

// documented has the description of every route that is mounted. That the document is
// valid is tested in test/e2e: what that takes would be part of every agent
// under test here.
func documented(t *testing.T, handler http.Handler) map[string]operation {
	t.Helper()
	w := call(t, handler, http.MethodGet, "/api/v0/openapi.json", "", false)
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%v, %d %s", err, w.Code, w.Body)
	}
	routes := map[string]operation{}
	for path, methods := range document.Paths {
		delete(methods, "parameters")
		for method, described := range methods {
			var o operation
			if err := json.Unmarshal(described, &o); err != nil {
				t.Fatal(err)
			}
			routes[strings.ToUpper(method)+" "+path] = o
		}
	}
	return routes
}

type operation struct {
	OperationID string `json:"operationId"`
	Responses   map[string]json.RawMessage
}

// TestWholeDocument: in the description of everything that a daemon serves what acts
// says which token it needs.
func TestWholeDocument(t *testing.T) {
	_, handler := newTestServices(t)
	for route, described := range documented(t, handler) {
		if described.OperationID == "" { // that no two are the same is tested there, too
			t.Errorf("%s has no operationId", route)
		}
		for _, code := range []string{"401", "403"} {
			if (guards[route].scope != "" || code == "403" && guards[route].fence != "") && described.Responses[code] == nil {
				t.Errorf("%s says nothing of %s", route, code)
			}
		}
	}
}

// TestAuditOfCalls: what acted is recorded, with what is known of it and nothing
// else.
func TestAuditOfCalls(t *testing.T) {
	s, handler := newTestServices(t)
	control := readFile(t, ControlFile(s.d.workspace.places.State).Path())
	const secret = "hunter2"
	path := filepath.Join(s.d.workspace.root, "a.txt")
	for _, c := range []struct{ token, target, body string }{
		{control, "/api/v0/write-file?path=" + path, secret},
		{"", "/api/v0/write-file?path=" + path, secret},
		{listenToken, "/api/v0/write-file?path=" + path, secret},
		{control, "/api/v0/processes/none/signal", `{"signal":"kill"}`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.target, strings.NewReader(c.body))
		r.Header.Set("Coder-Chat-Id", "7f8a2d6c-1c1e-4bb0-8a7c-3d7f1d7d1a11")
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.UnixAddr{})))
	}
	list, _, err := access.ReadLog(s.d.workspace.places.State.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, strings.Join(append([]string{r.Token, r.Action, http.StatusText(r.Code), r.Chat[:4]}, r.On...), " | "))
	}
	want := []string{
		"control | POST /api/v0/write-file | OK | 7f8a | " + path,
		"listen | POST /api/v0/write-file | Forbidden | 7f8a | " + path,
		"control | POST /api/v0/processes/none/signal | Not Found | 7f8a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	data := auditText(t, s.d.workspace.places.State.Path())
	if bytes.Contains(data, []byte(secret)) || bytes.Contains(data, []byte(control)) {
		t.Errorf("the log has a content or a token:\n%s", data)
	}
}

// auditText is all that is in the files of an audit log.
func auditText(t *testing.T, dir string) (data []byte) {
	t.Helper()
	for _, name := range access.AuditFiles() {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		data = append(data, text...)
	}
	return data
}
