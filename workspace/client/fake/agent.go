package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"waymark/host/api/apitest"
	"waymark/internal/notify"
	"waymark/workspace"
	"waymark/workspace/client"
)

// Options configure an agent. The zero value works.
type Options struct {
	// Run is what a process does; what it returns is the exit code. Its context ends
	// when the process is ended; what it does after that is not seen. Nil is
	// [Shell].
	Run func(ctx context.Context, p *Process) int
	// Root is the workspace's directory, Home the user's. Defaults "/workspace" and
	// "/home/user".
	Root, Home string
	// Spool is how many bytes of a process's output are kept: what is older is
	// omitted. Default 16 MiB.
	Spool int
	// Engine is what the agent finds: its snapshots, sources and plugins. Nil is
	// that of apitest.New.
	Engine *apitest.Backend
	// Config is what ContextConfig returns; nil is what an agent without any
	// CODER_AGENT_EXP_* has.
	Config *workspace.ContextConfig
}

// Agent is a fake agent, as a client with some token sees it. It implements
// client.Client; the other methods are what a test does to it.
type Agent struct {
	state  *state
	caller workspace.Caller
	grant  *grant // nil: the client has no token
}

var _ client.Client = (*Agent)(nil)

// state is what all Agents share that come from one New.
type state struct {
	opts   Options
	files  *Files
	engine *apitest.Backend
	// changed tells that something below has.
	changed notify.Signal
	work    sync.WaitGroup // processes that run

	editing   sync.Mutex // one call edits files at a time
	mu        sync.Mutex // guards what follows
	life      context.Context
	endLife   context.CancelCauseFunc
	stopped   bool
	instance  string
	processes []*process
	starts    map[string]*started // by client token
	tracked   map[string]*receipt // by process id
	minted    []minted
	git       []workspace.GitRepository
	gitDiffs  map[string]workspace.GitDiff // by repository
	touched   map[uuid.UUID][]string       // repositories, by the chat that they count for
	gitAsked  int                          // how often somebody wanted a look

	mcp        []*mcpServer      // in order of names
	mcpResults map[string]string // those that were too long, by id
}

// New makes an agent that runs. Its client has the control token, and is for no
// chat.
func New(opts Options) *Agent {
	opts.Root = cmp.Or(opts.Root, "/workspace")
	opts.Home = cmp.Or(opts.Home, "/home/user")
	opts.Spool = cmp.Or(opts.Spool, 16<<20)
	if opts.Run == nil {
		opts.Run = Shell
	}
	if opts.Engine == nil {
		opts.Engine = apitest.New()
	}
	s := &state{
		opts: opts, engine: opts.Engine, files: newFiles(time.Now, opts.Root, opts.Home, "/tmp"), instance: uuid.NewString(),
		starts: map[string]*started{}, tracked: map[string]*receipt{}, touched: map[uuid.UUID][]string{}, gitDiffs: map[string]workspace.GitDiff{}, mcpResults: map[string]string{},
	}
	s.life, s.endLife = context.WithCancelCause(context.Background())
	return &Agent{state: s, grant: controlGrant()}
}

// Files is the tree that the agent and its processes see.
func (a *Agent) Files() *Files { return a.state.files }

// Engine is what the agent finds.
func (a *Agent) Engine() *apitest.Backend { return a.state.engine }

// For implements client.Client.
func (a *Agent) For(caller workspace.Caller) client.Client {
	return &Agent{state: a.state, caller: caller, grant: a.grant}
}

// Close ends the agent and all processes, and waits for what they run.
func (a *Agent) Close() error {
	a.Break()
	a.state.endAll()
	a.state.work.Wait()
	return nil
}

// Stop implements client.Client. It doesn't wait for what processes run.
func (a *Agent) Stop(ctx context.Context) error {
	_, leave, err := a.act(ctx, scopeStop)
	if err != nil {
		return err
	}
	leave()
	a.Break()
	a.state.endAll()
	return nil
}

// endAll ends all processes, as SIGKILL does.
func (s *state) endAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		code := 137
		s.end(p, &code)
	}
}

// errBroken is what calls see that an agent's end interrupts.
var errBroken = errors.New("agent at fake: the connection was lost")

// Break ends the agent, as a crash does: calls that wait are cut off, later ones
// get client.ErrNotRunning. Processes run on, and what they write is kept.
func (a *Agent) Break() {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	a.state.stopped = true
	a.state.endLife(errBroken)
}

// Resume starts the agent again after Break. It has all processes.
func (a *Agent) Resume() {
	a.state.mu.Lock()
	defer a.state.mu.Unlock()
	a.state.stopped = false
	a.state.life, a.state.endLife = context.WithCancelCause(context.Background())
	a.state.changed.Notify()
}

// Restart is Break and Resume.
func (a *Agent) Restart() {
	a.Break()
	a.Resume()
}

// LoseSupervisor ends what holds the processes, as kill -9 of it does: those that
// run are lost, and there is another instance afterwards.
func (a *Agent) LoseSupervisor() {
	s := a.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instance = uuid.NewString()
	for _, p := range s.processes {
		if p.running() {
			p.lost = "what held it has ended"
			s.end(p, nil)
		}
	}
}

// enter begins a call. The context that it returns ends with the agent, too;
// leave must be called.
func (a *Agent) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	s := a.state
	s.mu.Lock()
	life, stopped := s.life, s.stopped
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, ended(ctx)
	case stopped:
		return nil, nil, fmt.Errorf("%w (the fake is stopped)", client.ErrNotRunning)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errBroken) {
		return cause
	}
	return fmt.Errorf("no answer from the agent at fake: %w", cause)
}

// act is enter for what needs a scope.
func (a *Agent) act(ctx context.Context, scope string) (context.Context, func(), error) {
	ctx, leave, err := a.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case a.grant == nil:
		err = refuse(http.StatusUnauthorized, "this needs a token, on the socket too", "see Agent.WithToken")
	case !a.known():
		err = refuse(http.StatusUnauthorized, "unauthorized", "there is no such token, or it has ended")
	case !slices.Contains(a.grant.scopes, scope):
		err = refuse(http.StatusForbidden, "this token doesn't allow it", "it lacks the scope "+scope)
	case a.grant.plan != "" && slices.Contains([]string{scopeMCP, scopeApprove, scopeStop}, scope):
		err = refuse(http.StatusForbidden, "this token doesn't allow it", "it is fenced in to a plan: it changes nothing else")
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return ctx, leave, nil
}

// refuse is the agent's "no".
func refuse(code int, message, detail string) error {
	return &client.Error{Code: code, Message: message, Detail: detail}
}

// await waits until ok, which is called with the lock held, for as long as d. It
// is no error that the time passes.
func (s *state) await(ctx context.Context, d time.Duration, ok func() bool) error {
	var late <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		late = timer.C
	}
	for {
		changed := s.changed.Changed()
		s.mu.Lock()
		done := ok()
		s.mu.Unlock()
		if done || d <= 0 {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return nil
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}
