package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/internal/httpapi"
	"waymark/internal/reexec"
	"waymark/test/openapitest"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/process"
	"waymark/workspace/supervisor"
)

var program *reexec.Program

// TestMain lets the test binary be what holds processes, and what confines them.
func TestMain(m *testing.M) {
	program = reexec.Main(append(supervisor.Roles(), launch.Role())...)
	os.Exit(m.Run())
}

// patience is for what happens at once, on a machine that stands still.
const patience = 20 * time.Second

// world is a service over a real supervisor.
type world struct {
	t       testing.TB
	held    supervisor.Client
	service *process.Service
	handler http.Handler
	doc     *openapitest.Checker
	root    string // the workspace's directory
	home    string
	state   string // the agent's own directory
	narrow  func(writes ...string) bool

	mu      sync.Mutex // guards touched
	touched []string
}

// grants are what callers may do, by the name in the header X-Grant.
var grants = map[string]*access.Grant{
	"":        {ID: "all", Scopes: []access.Scope{access.ScopeProcesses}, Secrets: []string{"*"}},
	"none":    nil,
	"other":   {ID: "other", Scopes: []access.Scope{access.ScopeFiles}, Secrets: []string{"*"}},
	"usual":   {ID: "usual", Scopes: []access.Scope{access.ScopeProcesses}},
	"control": {ID: access.ControlID, Scopes: access.Scopes()},
	"ssh":     {ID: "ssh", Scopes: []access.Scope{access.ScopeProcesses}, Secrets: []string{".ssh/**"}},
}

// newSupervisor opens a supervisor of the test's own, and stops it in the end.
func newSupervisor(t testing.TB, limits supervisor.Limits) supervisor.Client {
	t.Helper()
	line, err := program.CommandLine(supervisor.RoleSupervise)
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "wm") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	held, err := supervisor.Open(t.Context(), supervisor.Options{
		Dir: filepath.Join(t.TempDir(), "state"), Socket: filepath.Join(sockets, "s"), Program: line, Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := held.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("stop: %v", err)
		}
		_ = held.Close()
	})
	return held
}

func newWorld(t testing.TB, held supervisor.Client) *world {
	t.Helper()
	w := &world{t: t, held: held, root: t.TempDir(), home: t.TempDir()}
	w.state = filepath.Join(w.home, ".state")
	if err := os.Mkdir(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	w.service = process.New(process.Options{
		Supervisor: held, Root: func() string { return w.root }, Places: func() launch.Places { return launch.Places{Home: w.home, Own: []string{w.state}} }, Tmp: filepath.Join(w.state, "tmp"),
		Narrow: func(writes ...string) bool { return w.narrow != nil && w.narrow(writes...) },
		Touched: func(who agentapi.Caller, paths ...string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, path := range paths {
				w.touched = append(w.touched, who.Chat.String()[:4]+" "+path)
			}
		},
	})
	t.Cleanup(func() { _ = w.service.Close() })
	service := w.service.Service()
	w.doc = openapitest.Load(t, openapitest.Document(t, service))
	own := server.New(server.Options{Backend: servertest.New(), Guard: access.Guard, Services: []httpapi.Service{service}})
	w.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		name := r.Header.Get("X-Grant")
		grant := grants[name]
		if strings.HasSuffix(name, ".md") { // a fence around a file of the workspace
			grant = &access.Grant{ID: name, Scopes: []access.Scope{access.ScopeProcesses}, Plan: filepath.Join(w.root, name)}
		}
		if grant != nil {
			ctx = access.With(ctx, grant)
		}
		own.ServeHTTP(rw, r.WithContext(ctx))
	})
	return w
}

// call makes a request as it comes over the socket, and checks that the answer is
// as documented. Headers are pairs.
func (w *world) call(method, target, body string, headers ...string) (int, string) {
	w.t.Helper()
	return w.callAs(w.t.Context(), method, target, body, headers...)
}

func (w *world) callAs(ctx context.Context, method, target, body string, headers ...string) (int, string) {
	w.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r = r.WithContext(context.WithValue(ctx, http.LocalAddrContextKey, &net.UnixAddr{Name: "a.sock", Net: "unix"}))
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	resp := recorder.Result()
	path, _, _ := strings.Cut(strings.TrimPrefix(target, agentapi.PathProcesses), "?")
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 3 && parts[1] == "tokens":
		path = "/tokens/{token}"
	case len(parts) == 3:
		path = "/{id}/" + parts[2]
	}
	w.doc.Check(w.t, r, agentapi.PathProcesses+path, resp)
	return resp.StatusCode, strings.TrimSuffix(recorder.Body.String(), "\n")
}

// into makes a request that must succeed, and reads its answer.
func into[T any](w *world, method, target, body string, headers ...string) T {
	w.t.Helper()
	var v T
	code, text := w.call(method, target, body, headers...)
	if code != http.StatusOK {
		w.t.Fatalf("%s %s %s: %d %s", method, target, body, code, text)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// start starts a process that must start, and returns its id.
func (w *world) start(body agentapi.StartProcess, headers ...string) string {
	w.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return into[agentapi.StartedProcess](w, "POST", agentapi.PathStart, string(data), headers...).ID
}

// sh starts a command.
func (w *world) sh(command string, headers ...string) string {
	w.t.Helper()
	return w.start(agentapi.StartProcess{Command: command}, headers...)
}

// output waits for a process's end and returns its view.
func (w *world) output(id string, headers ...string) agentapi.ProcessOutput {
	w.t.Helper()
	return into[agentapi.ProcessOutput](w, "GET", path(id, "output?wait=true"), "", headers...)
}

// run runs a command to its end, and returns what it writes.
func (w *world) run(body agentapi.StartProcess, headers ...string) string {
	w.t.Helper()
	return w.output(w.start(body, headers...), headers...).Output
}

func path(id, what string) string { return agentapi.PathProcesses + "/" + id + "/" + what }

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-timer.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
