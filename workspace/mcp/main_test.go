package mcp_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/snapshot"
	"waymark/test/openapitest"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/mcp"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
	"waymark/workspace/supervisor"
)

// fakeServer is what a server with that name as its argument, or as its host, does.
type fakeServer struct {
	mu        sync.Mutex
	tools     []catalog.Tool
	about     string // its instructions
	hang      bool   // it doesn't answer initialize
	refuse    error  // what connecting to it fails with
	exits     string // what it says on its standard error, ending at once
	deaf      bool   // it doesn't answer pings
	says      string // on its standard error, going on
	ends      bool   // at once, with code
	code      int
	older     bool   // it ignores server/discover
	changes   func() // called when it has started, before anything is said to it
	endless   bool   // its catalogue never comes
	call      func(ctx context.Context, c *session.Call) (*session.Result, error)
	offers    []string
	stubborn  bool // it takes its time to end
	running   map[*fakeProcess]bool
	most      int // that ran at the same time
	starts    []time.Time
	protocols []string
	ended     int
	pings     int
}

func (f *fakeServer) set(change func(f *fakeServer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// one returns a process that runs.
func (f *fakeServer) one() *fakeProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.running {
		return p
	}
	return nil
}

func (f *fakeServer) counts() (starts, running, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.starts), len(f.running), f.most
}

// fakeProcess is a process, or what stands for a server that was dialed.
type fakeProcess struct {
	of      *fakeServer
	done    chan struct{}
	once    sync.Once
	code    int
	changed chan struct{}
	stderr  *io.PipeReader
	write   *io.PipeWriter
	in      *fakeStdin
	env     []string
	why     error // of its session's end, if it isn't ErrClosed; guarded by of.mu
}

type fakeStdin struct {
	io.Writer
	p *fakeProcess
}

func (*fakeStdin) Close() error { return nil }

func (f *fakeServer) begin() *fakeProcess {
	p := &fakeProcess{of: f, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	p.stderr, p.write = io.Pipe()
	p.in = &fakeStdin{io.Discard, p}
	f.set(func(f *fakeServer) {
		if f.running == nil {
			f.running = map[*fakeProcess]bool{}
		}
		f.running[p] = true
		f.most = max(f.most, len(f.running))
		f.starts = append(f.starts, time.Now())
	})
	return p
}

// die ends it by itself.
func (p *fakeProcess) die(code int, last string) {
	p.once.Do(func() {
		p.code = code
		if last != "" {
			_, _ = io.WriteString(p.write, last+"\n")
		}
		p.of.set(func(f *fakeServer) {
			delete(f.running, p)
			f.ended++
		})
		_ = p.write.Close()
		close(p.done)
	})
}

// forget loses the session of every process that runs.
func (f *fakeServer) forget() error {
	f.mu.Lock()
	running := slices.Collect(maps.Keys(f.running))
	for _, p := range running {
		p.why = session.ErrSessionLost
	}
	f.mu.Unlock()
	for _, p := range running {
		p.die(0, "")
	}
	return session.ErrSessionLost
}

func (p *fakeProcess) Stdin() io.WriteCloser  { return p.in }
func (p *fakeProcess) Stdout() io.ReadCloser  { return io.NopCloser(strings.NewReader("")) }
func (p *fakeProcess) Stderr() io.ReadCloser  { return p.stderr }
func (p *fakeProcess) Signal(os.Signal) error { return nil }

func (p *fakeProcess) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.code, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (p *fakeProcess) Close() error {
	var stubborn bool
	p.of.set(func(f *fakeServer) { stubborn = f.stubborn })
	if stubborn {
		select {
		case <-p.done:
		case <-time.After(2300 * time.Millisecond): // as the supervisor does
		}
	}
	p.die(143, "")
	return nil
}

// fakeSession is a session with a fake server.
type fakeSession struct {
	p *fakeProcess
}

func (s *fakeSession) Catalogue(ctx context.Context) (*catalog.Catalogue, error) {
	var c *catalog.Catalogue
	var endless bool
	s.p.of.set(func(f *fakeServer) {
		c = &catalog.Catalogue{ServerName: "fake", ServerVersion: "1", Protocol: "2025-11-25", Instructions: f.about, Tools: slices.Clone(f.tools), Offers: f.offers}
		endless = f.endless
	})
	if endless {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c, nil
}

func (s *fakeSession) Call(ctx context.Context, c *session.Call) (*session.Result, error) {
	var call func(ctx context.Context, c *session.Call) (*session.Result, error)
	s.p.of.set(func(f *fakeServer) { call = f.call })
	if call == nil {
		call = func(context.Context, *session.Call) (*session.Result, error) {
			return &session.Result{Content: []session.Content{{Type: "text", Text: c.Tool + string(c.Arguments)}}}, nil
		}
	}
	type done struct {
		r   *session.Result
		err error
	}
	ends := make(chan done, 1)
	go func() {
		r, err := call(ctx, c)
		ends <- done{r, err}
	}()
	select {
	case d := <-ends:
		return d.r, d.err
	case <-s.Done():
		if errors.Is(s.Err(), session.ErrSessionLost) {
			d := <-ends
			return d.r, d.err
		}
		return nil, session.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Ask answers with what it is asked.
func (s *fakeSession) Ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"method": method, "params": params})
}

func (s *fakeSession) Ping(ctx context.Context) error {
	var deaf bool
	s.p.of.set(func(f *fakeServer) {
		deaf = f.deaf
		f.pings++
	})
	if !deaf {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return session.ErrClosed
	}
}

func (s *fakeSession) ToolsChanged() <-chan struct{} { return s.p.changed }
func (s *fakeSession) Done() <-chan struct{}         { return s.p.done }
func (s *fakeSession) Err() error {
	select {
	case <-s.p.done:
	default:
		return nil
	}
	s.p.of.mu.Lock()
	defer s.p.of.mu.Unlock()
	return cmp.Or(s.p.why, session.ErrClosed)
}
func (s *fakeSession) Protocol() string { return "2025-11-25" }
func (s *fakeSession) Close() error     { return nil }

// remoteSession ends its server with itself.
type remoteSession struct{ fakeSession }

func (s *remoteSession) Close() error { return s.p.Close() }

// fakes are all servers, by name. They start them, and speak with them.
type fakes struct {
	mu      sync.Mutex
	servers map[string]*fakeServer
}

func (f *fakes) server(name string) *fakeServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.servers[name] == nil {
		f.servers[name] = &fakeServer{tools: []catalog.Tool{tool("echo", "Say it again.")}}
	}
	return f.servers[name]
}

func tool(name, description string) catalog.Tool {
	return catalog.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
}

func (f *fakes) StartOwned(_ context.Context, spec *supervisor.Spec) (supervisor.Owned, error) {
	s := f.server(spec.Argv[1])
	p := s.begin()
	p.env = spec.Env
	var changes func()
	var exits string
	s.set(func(s *fakeServer) { changes, exits = s.changes, s.exits })
	if changes != nil {
		changes()
	}
	s.mu.Lock()
	ends, code, says := s.ends, s.code, s.says
	s.mu.Unlock()
	switch {
	case exits != "":
		go p.die(3, exits)
	case ends:
		go p.die(code, says)
	case says != "":
		go func() { _, _ = io.WriteString(p.write, says+"\n") }()
	}
	return p, nil
}

func (f *fakes) Stdio(ctx context.Context, in io.WriteCloser, _ io.ReadCloser, opts session.Options) (session.Session, error) {
	stdin, _ := in.(*fakeStdin)
	return stdin.p.connect(ctx, opts, true)
}

func (p *fakeProcess) connect(ctx context.Context, opts session.Options, stdio bool) (session.Session, error) {
	var hang, older, exits bool
	var refuse error
	p.of.set(func(f *fakeServer) {
		f.protocols = append(f.protocols, opts.Protocol)
		hang, older, refuse, exits = f.hang, f.older, f.refuse, f.exits != "" || f.ends
	})
	if exits {
		<-p.done
	}
	switch {
	case older && opts.Protocol == "" && stdio:
		return nil, session.ErrDiscover
	case hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case refuse != nil:
		return nil, refuse
	}
	select {
	case <-p.done:
		return nil, session.ErrClosed
	default:
	}
	if !stdio {
		return &remoteSession{fakeSession{p: p}}, nil
	}
	return &fakeSession{p: p}, nil
}

func (f *fakes) HTTP(ctx context.Context, url string, _ http.Header, opts session.Options) (session.Session, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ".")
	p := f.server(name).begin()
	s, err := p.connect(ctx, opts, false)
	if err != nil {
		_ = p.Close()
	}
	go func() { _, _ = io.Copy(io.Discard, p.stderr) }()
	return s, err
}

func (f *fakes) SSE(ctx context.Context, url string, header http.Header, opts session.Options) (session.Session, error) {
	return f.HTTP(ctx, url, header, opts)
}

// world is a Service with fake servers and everything else as it is.
type world struct {
	t       testing.TB
	fakes   *fakes
	root    string
	state   string
	policy  mcp.Settings
	change  []func(o *mcp.Options)
	env     map[string]string
	service *mcp.Service
	trust   *trust.Store
	handler http.Handler
	doc     *openapitest.Checker
	busy    error         // why no server may be developed
	waits   func()        // what happens before it is known that one may
	grant   *access.Grant // of every call, in place of what X-Grant says
	stop    func()
}

// settings are those of most tests: whatever the workspace configures is started.
var settings = mcp.Settings{Trust: mcp.TrustWorkspace, Unconfined: true}

func newWorld(t testing.TB, settings mcp.Settings, change ...func(o *mcp.Options)) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, fakes: &fakes{servers: map[string]*fakeServer{}}, root: filepath.Join(dir, "root"), state: filepath.Join(dir, "state"),
		policy: settings, change: change, env: map[string]string{"TOKEN": "hunter2-is-a-secret-value"},
	}
	for _, dir := range []string{w.root, w.state} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("server", "#!/bin/sh\nexec sleep 1000\n", 0o700)
	w.begin()
	return w
}

// begin makes a Service over the state that there is.
func (w *world) begin() {
	w.t.Helper()
	root := func() string { return w.root }
	var err error
	w.trust, err = trust.Open(trust.Options{Dir: w.state, Key: []byte("a key of thirty-two bytes, or so"), Root: root})
	if err != nil {
		w.t.Fatal(err)
	}
	opts := mcp.Options{
		Settings: w.policy, Root: root, Home: w.root, Places: func() launch.Places { return launch.Places{Home: w.root, Own: []string{w.state}} }, StateDir: filepath.Join(w.state, "mcp"),
		CacheDir: filepath.Join(w.state, "cache"), Supervisor: w.fakes, Trust: w.trust,
		Alone: func(_ context.Context, store func() error) error {
			if w.busy != nil {
				return w.busy
			}
			if w.waits != nil {
				w.waits()
			}
			return store()
		},
		Getenv:  func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Environ: func() []string { return []string{"PATH=/usr/bin:/bin", "HOME=" + w.root} },
	}
	opts.SetDialer(w.fakes)
	for _, change := range w.change {
		change(&opts)
	}
	if w.service, err = mcp.New(opts); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := w.service.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-ran
		if err := w.service.Close(); err != nil {
			w.t.Error(err)
		}
	})
	service := w.service.Service()
	w.doc = openapitest.Load(w.t, openapitest.Document(w.t, service))
	own := server.New(server.Options{Backend: servertest.New(), Guard: access.Guard, Services: []httpapi.Service{service}})
	w.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if grant := cmp.Or(w.grant, grants[r.Header.Get("X-Grant")]); grant != nil {
			r = r.WithContext(access.With(r.Context(), grant))
		}
		own.ServeHTTP(rw, r)
	})
}

// grants are what callers may do, by the name in the header X-Grant.
var grants = map[string]*access.Grant{
	"":      {ID: "all", Scopes: access.Scopes()},
	"none":  nil,
	"other": {ID: "other", Scopes: []access.Scope{access.ScopeFiles}},
	"plan":  {ID: "plan", Scopes: access.Scopes(), Plan: "/plan.md"},
}

func (w *world) write(name, text string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// definition is an entry of a configuration file.
type definition map[string]any

// stdio is a server that is started, with more arguments than its name.
func stdio(name string, more ...string) definition {
	return definition{"command": "./server", "args": append([]string{name}, more...)}
}

func remote(name string) definition { return definition{"url": "https://" + name + ".example.com/mcp"} }

// configure writes .mcp.json, and tells the Service of it.
func (w *world) configure(servers map[string]definition) {
	w.t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		w.t.Fatal(err)
	}
	w.service.SetFiles([]entry.File{w.file(".mcp.json", string(data))})
}

// file writes a configuration file, as the host would have found it.
func (w *world) file(name, text string) entry.File {
	w.t.Helper()
	sum := sha256.Sum256([]byte(text))
	return entry.File{Path: w.write(name, text, 0o600), Origin: entry.OriginWorkspace, Hash: hex.EncodeToString(sum[:])}
}

// call makes a request, and checks that the answer is as documented.
func (w *world) call(method, target, body string, headers ...string) *http.Response {
	w.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r = overSocket(r)
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	resp := rec.Result()
	w.doc.Check(w.t, r, w.documented(r.URL.EscapedPath()), resp)
	return resp
}

// overSocket is a request as it comes over the socket.
func overSocket(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.UnixAddr{Name: "@", Net: "unix"}))
}

// documented is the path of the document for a request's.
func (w *world) documented(path string) string {
	for pattern := range w.doc.Routes() {
		if matches(strings.Split(pattern, "/"), strings.Split(path, "/")) {
			return pattern
		}
	}
	return path
}

func matches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") })
}

// text is what a request is answered with.
func (w *world) text(method, target, body string, headers ...string) (int, string) {
	w.t.Helper()
	resp := w.call(method, target, body, headers...)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// get decodes the answer of a request.
func get[T any](w *world, target string) *T {
	w.t.Helper()
	code, text := w.text(http.MethodGet, target, "")
	if code != http.StatusOK {
		w.t.Fatalf("GET %s: %d %s", target, code, text)
	}
	v := new(T)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// tools lists the tools that there are now, and how the servers are doing.
func (w *world) tools(query string) (phase snapshot.Phase, tools, servers string) {
	w.t.Helper()
	list := get[agentapi.MCPTools](w, agentapi.PathMCPTools+query)
	var names, outcomes []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	for _, s := range list.Servers {
		outcomes = append(outcomes, s.Name+" "+string(s.Outcome))
	}
	return list.Phase, strings.Join(names, " "), strings.Join(outcomes, ", ")
}

// expect compares what there is now with what there should be.
func (w *world) expect(when string, phase snapshot.Phase, tools, servers string) {
	w.t.Helper()
	synctest.Wait()
	gotPhase, gotTools, gotServers := w.tools("")
	if gotPhase != phase || gotTools != tools || gotServers != servers {
		w.t.Errorf("%s: %s, tools %q, servers %q\nwant %s, %q, %q", when, gotPhase, gotTools, gotServers, phase, tools, servers)
	}
}

// say calls the tool echo of a server.
func (w *world) say(server, text string, headers ...string) (int, string) {
	w.t.Helper()
	return w.text(http.MethodPost, agentapi.PathMCPCallTool, fmt.Sprintf(`{"tool_name":%q,"arguments":{"text":%q}}`, server+"__echo", text), headers...)
}

// detail returns everything about a server.
func (w *world) detail(name string) *agentapi.MCPServerDetail {
	w.t.Helper()
	return get[agentapi.MCPServerDetail](w, agentapi.PathMCPServers+"/"+name)
}

// approve approves a server as it is.
func (w *world) approve(name string) {
	w.t.Helper()
	d := w.detail(name)
	body := fmt.Sprintf(`{"definition":%q,"local":%q,"held":%q}`, d.Definition, d.Local, d.HeldDigest)
	if code, text := w.text(http.MethodPost, agentapi.PathMCPServers+"/"+name+"/approve", body); code != http.StatusNoContent {
		w.t.Fatalf("approve %s: %d %s", name, code, text)
	}
}

// bubble runs a test in its own time, and sees that nothing is left.
func bubble(t *testing.T, settings mcp.Settings, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, settings)
		defer func() {
			w.stop()
			for _, name := range slices.Sorted(maps.Keys(w.fakes.servers)) {
				if _, running, _ := w.fakes.server(name).counts(); running != 0 {
					t.Errorf("%s: %d are left running", name, running)
				}
			}
		}()
		test(w)
	})
}

var errRefused = errors.New("nobody answers")

// block is a call that ends with its caller alone.
func block(ctx context.Context, _ *session.Call) (*session.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// row returns a server's row, when there has been time to make it.
func (w *world) row(name string) *snapshot.Resource {
	w.t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	for _, c := range w.service.Resources() {
		if c.Key == name && c.Attributes["outcome"].Text != string(snapshot.OutcomeListed) {
			return &c.Resource
		}
	}
	w.t.Fatalf("there is no row of %s", name)
	return nil
}

func filepathWalk(dir string, visit func(path string, info os.FileInfo)) error {
	return filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			visit(path, info)
		}
		return err
	})
}
