package fake

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/await"
)

// Root is the workspace's directory.
const Root = "/workspace"

// Home is the user's directory.
const Home = "/home/user"

// Options configure an agent. The zero value works.
type Options struct {
	// Programs are what processes run, by the whole command or by the program's name, which
	// is the first word. They take precedence over the fake's own programs: echo, true,
	// sleep, cat, which prints its input, and yes, which prints ten lines a second forever.
	Programs map[string]Program
	// MCP are the tools of MCP servers.
	MCP []MCPTool
	// Engine provides snapshots and skills. Nil means that of servertest.New.
	Engine *servertest.Backend
	// Rest answers the calls that the fake doesn't implement, such as WatchGit, for all
	// chats and tokens. Typically it is a type of the test that implements these methods
	// and embeds a client.Client for the others. Nil refuses such calls.
	Rest client.Client
}

// Agent is a fake agent as seen by a client with some token. It implements client.Client;
// its other methods control the fake.
type Agent struct {
	client.Client // Options.Rest, for calls that aren't methods of Agent

	state  *state
	caller agentapi.Caller
	token  *agentapi.MintedToken // nil if the client has none
}

// state is shared by all Agents from one New.
type state struct {
	programs map[string]Program
	engine   *servertest.Backend
	files    *Files
	changed  await.Signal   // signals every change of the fields below
	work     sync.WaitGroup // running processes

	mu        sync.Mutex      // guards the fields below; held during edits, too
	life      context.Context // ends with the agent
	endLife   context.CancelFunc
	instance  string
	processes []*process
	minted    map[string]*agentapi.MintedToken // by secret
	mcp       []MCPTool
	desktop   desktop
}

// New makes a running agent. Its client has the control token and no chat.
func New(opts Options) *Agent {
	rest := client.New("fake", client.Options{Dial: func(context.Context) (net.Conn, error) {
		return nil, errors.New("the fake agent doesn't do this: see fake.Options.Rest")
	}})
	dir := &fstest.MapFile{Mode: fs.ModeDir}
	s := &state{
		programs: opts.Programs, engine: cmp.Or(opts.Engine, servertest.New()), files: &Files{tree: fstest.MapFS{Root[1:]: dir, Home[1:]: dir, "tmp": dir}},
		instance: uuid.NewString(), minted: map[string]*agentapi.MintedToken{}, mcp: opts.MCP,
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	return &Agent{Client: cmp.Or(opts.Rest, rest), state: s, token: control()}
}

// Files returns the tree that the agent and its processes see.
func (a *Agent) Files() *Files { return a.state.files }

// Engine returns the source of snapshots and skills.
func (a *Agent) Engine() *servertest.Backend { return a.state.engine }

// For implements client.Client.
func (a *Agent) For(caller agentapi.Caller) client.Client {
	return &Agent{Client: a.Client, state: a.state, caller: caller, token: a.token}
}

// Stop implements client.Client. It doesn't wait for the programs of processes.
func (a *Agent) Stop(ctx context.Context) error {
	err := a.do(ctx, scopeStop, func(context.Context) error { return nil })
	if err == nil {
		a.state.change((*state).stop)
	}
	return err
}

// Close ends the agent and all processes, and waits for their programs.
func (a *Agent) Close() error {
	a.state.change((*state).stop)
	a.state.work.Wait()
	return nil
}

func (s *state) stop() {
	s.endLife()
	s.endAll(128+9, "")
}

// Break ends the agent as a crash would: waiting calls are cut off, later calls return
// client.ErrNotRunning. Processes keep running, and their output is kept.
func (a *Agent) Break() { a.state.change(func(s *state) { s.endLife() }) }

// Resume starts the agent again after Break, with all processes.
func (a *Agent) Resume() {
	a.state.change(func(s *state) { s.life, s.endLife = context.WithCancel(context.Background()) })
}

// Restart calls Break and Resume.
func (a *Agent) Restart() {
	a.Break()
	a.Resume()
}

// LoseSupervisor ends the supervisor as kill -9 would: running processes are lost, and
// there is a new instance.
func (a *Agent) LoseSupervisor() {
	a.state.change(func(s *state) {
		s.instance = uuid.NewString()
		s.endAll(0, "what held it has ended")
	})
}

// change modifies the state and wakes everyone who waits for a change.
func (s *state) change(how func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s)
	s.changed.Notify()
}

// await waits until ok returns true. It calls ok with the lock held.
func (s *state) await(ctx context.Context, ok func() bool) error {
	for {
		changed := s.changed.Changed()
		s.mu.Lock()
		done := ok()
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// call makes a call. The context of do also ends with the agent. scope is what the client's
// token must have; "" needs no token.
func call[T any](ctx context.Context, a *Agent, scope string, do func(ctx context.Context) (T, error)) (answer T, err error) {
	a.state.mu.Lock()
	life := a.state.life
	a.state.mu.Unlock()
	if ctx.Err() == nil && life.Err() != nil {
		return answer, fmt.Errorf("%w (the fake is stopped)", client.ErrNotRunning)
	}
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	if err = a.allowed(scope); err == nil && ctx.Err() == nil {
		answer, err = do(calling)
	}
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer from the agent at fake: %w", context.Cause(ctx))
	case calling.Err() != nil:
		err = errors.New("agent at fake: the connection was lost")
	}
	return answer, err
}

// do is like call, for calls without a result.
func (a *Agent) do(ctx context.Context, scope string, what func(ctx context.Context) error) error {
	_, err := call(ctx, a, scope, func(ctx context.Context) (struct{}, error) { return struct{}{}, what(ctx) })
	return err
}

// refuse returns a refusal of the agent.
func refuse(code int, format string, args ...any) error {
	return &client.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// The scopes of tokens.
const (
	scopeProcesses, scopeFiles, scopeMCP, scopeTokens, scopeStop = "processes", "files", "mcp", "tokens", "stop"
	scopeDesktop, scopeView                                      = "desktop", "desktop-view"
)

// control returns the control token, which never expires.
func control() *agentapi.MintedToken {
	return &agentapi.MintedToken{Token: agentapi.Token{ID: "control", Scopes: []string{scopeProcesses, scopeFiles, scopeMCP, scopeTokens, scopeStop, scopeDesktop, scopeView}}}
}

// allowed checks the client's token.
func (a *Agent) allowed(scope string) error {
	switch {
	case scope == "":
		return nil
	case a.token == nil || !a.token.ExpiresAt.IsZero() && !time.Now().Before(a.token.ExpiresAt):
		return refuse(http.StatusUnauthorized, "this needs a token that hasn't ended, on the socket too: see Agent.WithToken")
	case !slices.Contains(a.token.Scopes, scope) && (scope != scopeView || !slices.Contains(a.token.Scopes, scopeDesktop)), a.token.Plan != "" && scope != scopeFiles && scope != scopeProcesses:
		return refuse(http.StatusForbidden, "this token lacks the scope %s, or is fenced in to a plan", scope)
	}
	return nil
}

// WithToken returns a client with another token: one from CreateToken, or "" for none.
func (a *Agent) WithToken(secret string) *Agent {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	return &Agent{Client: a.Client, state: a.state, caller: a.caller, token: a.state.minted[secret]}
}

// CreateToken implements client.Client.
func (a *Agent) CreateToken(ctx context.Context, want agentapi.NewToken) (*agentapi.MintedToken, error) {
	return call(ctx, a, scopeTokens, func(context.Context) (*agentapi.MintedToken, error) {
		now := time.Now().UTC()
		t := &agentapi.MintedToken{Secret: "wm_" + rand.Text(), Token: agentapi.Token{
			ID: rand.Text()[:10], Scopes: want.Scopes, Plan: want.Plan, CreatedAt: now, ExpiresAt: *cmp.Or(want.ExpiresAt, new(now.Add(8*time.Hour))), MintedBy: a.token.ID,
		}}
		if len(t.Scopes) == 0 {
			t.Scopes = []string{scopeProcesses, scopeFiles, scopeMCP}
		}
		if t.Plan != "" && !strings.HasPrefix(path.Clean(t.Plan), Root+"/") || !t.ExpiresAt.After(now) || slices.Contains(t.Scopes, scopeTokens) {
			return nil, refuse(http.StatusBadRequest, "a plan lies in the workspace, a token ends in the future, and the fake's mint no others")
		}
		a.state.change(func(s *state) { s.minted[t.Secret] = t })
		return t, nil
	})
}
