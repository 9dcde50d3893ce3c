package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waymark/abi"
	"waymark/hub/api"
	"waymark/hub/server"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
	"waymark/internal/credential"
	"waymark/internal/httpapi/problem"
	"waymark/snapshot"
	"waymark/test/openapitest"
)

// timeout is for what another goroutine does, on a slow machine.
const timeout = 5 * time.Minute

// fixture is an API, served over HTTP, with a reader's token.
type fixture struct {
	backups sync.Mutex
	testing.TB
	api    *server.API
	store  store.Store
	server *httptest.Server
	reader string
	doc    *openapitest.Checker
	// transport is how it is asked.
	transport http.RoundTripper
	// sessions are the generations of agents.
	sessions map[string]int64
	versions map[string]uint64
	// online are the agents that are connected.
	online []string
	// ahead is how far the API's clock is, in nanoseconds.
	ahead atomic.Int64
}

// later moves the API's clock.
func (f *fixture) later(d time.Duration) { f.ahead.Add(int64(d)) }

func newFixture(t testing.TB, limits server.Limits) *fixture {
	t.Helper()
	return newFixtureOn(t, limits, openSQLite(t, sqlite.Options{}))
}

func openSQLite(t testing.TB, opts sqlite.Options) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func newFixtureOn(t testing.TB, limits server.Limits, st store.Store) *fixture {
	t.Helper()
	f := newUnserved(t, limits, st)
	f.server, f.transport = httptest.NewServer(f.api), http.DefaultTransport
	f.Cleanup(f.stop)
	return f
}

// described is the API's document, which takes a moment to make.
var described struct {
	sync.Once

	document []byte
}

// newUnserved is a fixture whose API nobody serves yet.
func newUnserved(t testing.TB, limits server.Limits, st store.Store) *fixture {
	t.Helper()
	f := &fixture{TB: t, store: st, sessions: map[string]int64{}, versions: map[string]uint64{}}
	opts := server.Options{Store: f.store, Lookup: f.lookup, ClientContext: askedAgent, Coverage: askedCoverage, Backup: f.backup, Limits: limits,
		Now: func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) }}
	described.Do(func() { described.document = openapitest.Document(t, server.New(opts).Services()...) })
	f.doc, opts.Document = openapitest.Load(t, described.document), described.document
	f.api = server.New(opts)
	f.reader = f.token(store.RoleReader, "")
	return f
}

// askedAgent answers for agents: a client's name is the status.
func askedAgent(_ context.Context, _, client string) (*api.ClientContext, error) {
	if code, err := strconv.Atoi(client); err == nil {
		return nil, &problem.Error{Code: code, Message: "the agent was not asked", Detail: "since " + client}
	}
	return &api.ClientContext{Client: client, Name: "Codex", Version: "1", Root: "/w", Project: "/w", Items: []snapshot.ClientItem{}, Known: []api.KnownClient{}}, nil
}

func askedCoverage(_ context.Context, agentID string) (*api.Coverage, error) {
	if code := map[string]int{"silent": http.StatusServiceUnavailable, "late": http.StatusConflict, "busy": http.StatusTooManyRequests}[agentID]; code != 0 {
		return nil, &problem.Error{Code: code, Message: "the agent was not asked", Detail: "since " + agentID}
	}
	return &api.Coverage{Groups: []api.CoverageGroup{{
		Reason: "no_kind", Text: "2 files", Files: []api.CoverageFile{{Path: "/w/x", Readers: []string{"claude"}}}, LeftOff: 1,
	}}}, nil
}

// backup writes what isn't a database, when nobody holds it up.
func (f *fixture) backup(_ context.Context, file string) error {
	f.backups.Lock()
	defer f.backups.Unlock()
	return os.WriteFile(file, []byte("the database"), 0o600)
}

func (f *fixture) stop() {
	if err := f.api.Close(); err != nil { // and with it the streams, for which the server waits
		f.Error(err)
	}
	f.server.Close()
}

func (f *fixture) lookup(ctx context.Context, text string) (store.Token, error) {
	token, err := f.store.TokenByHash(ctx, credential.HashOf(text))
	if errors.Is(err, store.ErrNotFound) || err == nil && token.Revoked() {
		err = server.ErrUnauthorized
	}
	return token, err
}

// connect makes the agents the ones that are connected.
func (f *fixture) connect(ids ...string) {
	f.Helper()
	ctx := context.Background()
	if _, err := f.store.Lease(ctx, store.PresentHub{ID: f.Name()}, time.Hour); err != nil {
		f.Fatal(err)
	}
	var ended []store.EndedSession
	for _, id := range f.online {
		if !slices.Contains(ids, id) {
			ended = append(ended, store.EndedSession{AgentID: id, Generation: math.MaxInt64, Last: true})
		}
	}
	f.online = ids
	if err := f.store.EndSessions(ctx, f.Name(), ended); err != nil {
		f.Fatal(err)
	}
	if err := f.store.KeepAgents(ctx, f.Name(), ids); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) token(role store.Role, agentID string) string {
	f.Helper()
	text := role.Kind().New()
	_, err := f.store.CreateToken(context.Background(), store.NewToken{Role: role, AgentID: agentID, Hash: credential.HashOf(text)})
	if err != nil {
		f.Fatal(err)
	}
	return text
}

// push pushes everything that an agent has, as the agent would, and returns
// the revision.
func (f *fixture) push(agentID string, resources ...snapshot.Resource) int64 {
	f.Helper()
	return f.pushDiscovery(agentID, snapshot.Discovery{}, resources...)
}

// pushDiscovery does the same for an agent that says what is still to come.
func (f *fixture) pushDiscovery(agentID string, discovery snapshot.Discovery, resources ...snapshot.Resource) int64 {
	f.Helper()
	if _, known := f.sessions[agentID]; !known {
		f.session(agentID)
	}
	f.versions[agentID]++
	result, err := f.store.Push(context.Background(), agentID, f.sessions[agentID], store.Push{
		Initial: f.versions[agentID] == 1,
		Snapshot: snapshot.Snapshot{
			Version: f.versions[agentID], AggregateHash: snapshot.Aggregate(resources), Resources: resources, Discovery: discovery,
		},
	})
	if err != nil || !result.Accepted {
		f.Fatalf("push of %s: %+v, %v", agentID, result, err)
	}
	return result.Revision
}

// session is a new start of the agent: versions begin anew.
func (f *fixture) session(agentID string) {
	f.Helper()
	f.token(store.RoleAgent, agentID)
	generation, _, err := f.store.BeginSession(context.Background(), agentID, map[bool]string{true: f.Name()}[slices.Contains(f.online, agentID)])
	if err != nil {
		f.Fatal(err)
	}
	f.sessions[agentID], f.versions[agentID] = generation, 0
}

// text is an instruction file.
func text(source, content string) snapshot.Resource {
	sum := credential.HashOf(content)
	return snapshot.Resource{
		Kind: abi.KindInstructionFile, Source: source, Status: snapshot.StatusOK, ContentHash: sum[:],
		SizeBytes: int64(len(content)), Payload: []byte(content), Resolver: "waymark/context@1.0.0",
	}
}

func mcpServer(name, description string) snapshot.Resource {
	return snapshot.Resource{
		Kind: abi.KindMCPServer, Source: "/w/.mcp.json", Key: name, Name: name, Description: description, Status: snapshot.StatusOK,
	}
}

// template matches the path of a request with one of the document.
func template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	for pattern := range server.Routes() {
		expression := regexp.QuoteMeta(pattern)
		expression = strings.ReplaceAll(expression, `\{rid\}`, ".+")
		expression = strings.NewReplacer(`\{id\}`, "[^/]+", `\{client\}`, "[^/]+").Replace(expression)
		if regexp.MustCompile("^" + expression + "$").MatchString(path) {
			return pattern
		}
	}
	return ""
}

// request makes a request. Headers are pairs.
func (f *fixture) request(method, path, body string, headers ...string) *http.Request {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	f.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, f.server.URL+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do asks and compares the answer with the document. Headers are pairs.
func (f *fixture) do(method, path, body string, headers ...string) *http.Response {
	f.Helper()
	resp, err := f.ask(f.request(method, path, body, headers...))
	if err != nil {
		f.Fatal(err)
	}
	return resp
}

// ask is do for goroutines, which must not end the test.
func (f *fixture) ask(r *http.Request) (*http.Response, error) {
	resp, err := f.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	f.Cleanup(func() { _ = resp.Body.Close() })
	if pattern := template(r.URL.EscapedPath()); pattern != "" && resp.Header.Get("Content-Type") != "text/event-stream" {
		f.doc.Check(f, r, pattern, resp)
	}
	return resp, nil
}

// want asks, requires the status, and returns the body.
func (f *fixture) want(code int, method, path, body string, headers ...string) string {
	f.Helper()
	resp := f.do(method, path, body, headers...)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	if resp.StatusCode != code {
		f.Fatalf("%s %s: %s, want %d: %s", method, path, resp.Status, code, data)
	}
	return string(data)
}

// get asks for JSON.
func get[T any](f *fixture, path string) (v T) {
	f.Helper()
	if err := json.Unmarshal([]byte(f.want(200, "GET", path, "")), &v); err != nil {
		f.Fatal(err)
	}
	return v
}

// pin is a pin in an answer.
type pin struct {
	ID            string  `json:"id"`
	AgentID       string  `json:"agent_id"`
	Name          string  `json:"name"`
	Revision      int64   `json:"revision"`
	Hash          string  `json:"aggregate_hash"`
	PinnedAt      *string `json:"pinned_at"`
	DriftedAt     *string `json:"drifted_at"`
	DriftRevision int64   `json:"drift_revision"`
	AgentGone     bool    `json:"agent_gone"`
	Deleted       bool    `json:"deleted"`
}

func (f *fixture) pin(agentID string) pin {
	f.Helper()
	var p pin
	data := f.want(201, "POST", "/api/v0/pins", fmt.Sprintf(`{"agent_id":%q,"name":"chat"}`, agentID))
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		f.Fatal(err)
	}
	return p
}
