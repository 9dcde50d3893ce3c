package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"waymark/agentapi"
	"waymark/internal/defaults"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

const (
	// maxWait bounds ?wait= and ?wait_ms=, as in Coder's agent.
	maxWait = 5 * time.Minute
	// maxWaits bounds the calls that wait at the same time. With those that wait
	// for snapshots they leave some of the server's connections to the others.
	maxWaits = 160
	// actWithin is how long the supervisor may take for what it does at once.
	actWithin = 30 * time.Second
	// niceness is added to a process's, so that the agent comes first.
	niceness = 5
)

// Options configure a Service. Supervisor must be set.
type Options struct {
	// Supervisor holds the processes. Its owner closes it, after the Service.
	Supervisor supervisor.Client
	// Root returns the workspace's directory, absolute and without links; "" while
	// there is none. Nil means that there is never one.
	Root func() string
	// Places are the user's home directory and the agent's own, for profiles. Root,
	// Tmp and Granted are set for each start.
	Places func() launch.Places
	// Tmp is where processes under a plan get their private temporary directories;
	// nothing else is in it. Empty refuses them.
	Tmp string
	// HideSecrets says whether processes of tokens without a grant for all secrets
	// are kept from the others. Nil means that they are.
	HideSecrets func() bool
	// Narrow reports whether processes of chats and minted tokens write nothing of the
	// workspace for now but these files, their plan. Nil means that they do what their tokens allow.
	Narrow func(writes ...string) bool
	// Environ returns the agent's own environment; nil is os.Environ.
	Environ func() []string
	// Touched is told the working directories; nil means nobody.
	Touched agentapi.Touched
	// Logger gets what goes wrong beside a request. Nil means none.
	Logger *slog.Logger
}

// Service is the API of processes.
type Service struct {
	opts  Options
	score int // of a process for the kernel's choice when memory is short
	// waits holds a token for each call that waits.
	waits chan struct{}
	// ctx ends with Close, and with it what watches wait for.
	ctx     context.Context
	cancel  context.CancelFunc
	watches sync.WaitGroup

	swept, unconfined sync.Once
	// starting is held for reading from when it is decided what a process may write until
	// the supervisor has it.
	starting sync.RWMutex
}

// New makes a Service.
func New(opts Options) *Service {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Environ: os.Environ, HideSecrets: func() bool { return true },
		Narrow: func(...string) bool { return false }, Touched: func(agentapi.Caller, ...string) {}, Logger: slog.New(slog.DiscardHandler),
	})
	s := &Service{opts: opts, score: outOfMemoryScore(), waits: make(chan struct{}, maxWaits)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends what the Service does beside requests. Processes run on.
func (s *Service) Close() error {
	s.cancel()
	s.watches.Wait()
	return nil
}

// Alone calls do while nothing is started, and while no process runs that may write the
// workspace for somebody else than the agent's user. Starts wait meanwhile. Processes whose
// starter has ended may be anybody's: none may run.
//
// # Errors
//
// Those of do, that the supervisor doesn't answer, and which process runs.
func (s *Service) Alone(ctx context.Context, do func() error) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	list, err := s.opts.Supervisor.List(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if p := &list[i]; p.Running && !strings.HasPrefix(p.Fence, userFence) && !writesNothing(p.Fence) {
			return fmt.Errorf("a process runs that may write its files: see 'agent ps', and 'agent kill %s'", p.ID)
		}
	}
	detached, err := s.opts.Supervisor.Detached(ctx)
	if err != nil {
		return err
	}
	if len(detached) > 0 {
		return fmt.Errorf("a process runs that may write its files, and that is left of one that has ended: see 'ps -fp %[1]d', and 'kill %[1]d'", detached[0])
	}
	return do()
}

// Service returns the routes and their description.
func (s *Service) Service() httpapi.Service {
	routes := s.routes()
	for i := range routes {
		// Coder's client names no Content-Type. What takes a body needs a token.
		routes[i].Untyped = true
		routes[i].Handle = answered(routes[i].Handle)
	}
	about := httpapi.AgentAbout("processes", "What chats run in the workspace. It outlives the agent: something of its own holds it. Paths, fields and codes are those of Coder's agent; what only Waymark has says so. `Coder-Chat-Id` says for which chat a request is made, which is information and no authority: what acts needs a token, on the socket too.")
	about.Errors = map[int]string{
		http.StatusBadRequest:      "The request can't be understood, or what it asks for can't be; `detail` says why.",
		http.StatusNotFound:        "There is no such process, or it belongs to another chat.",
		http.StatusTooManyRequests: "No more processes can be held, or 160 requests wait already; come again after `Retry-After`.",
	}
	return httpapi.Service{
		About:  about,
		Routes: routes,
	}
}

// own returns the process that a call names, if its caller may know of it.
func (s *Service) own(ctx context.Context, c *httpapi.Call, who agentapi.Caller) (supervisor.Info, error) {
	info, err := s.opts.Supervisor.Get(ctx, c.Arg("id"))
	if err == nil && !who.Owns(info.Chat) {
		err = supervisor.ErrNotFound
	}
	return info, err
}

// live is own for what is done to a process that runs; who is fenced in does it to one
// that was started so.
func (s *Service) live(c *httpapi.Call, who agentapi.Caller) (supervisor.Info, error) {
	info, err := s.own(c.Context(), c, who)
	if g := access.From(c.Context()); err == nil && g != nil && g.Plan != "" {
		err = s.reach(c, &info)
	}
	if err == nil && !info.Running {
		err = supervisor.ErrExited
	}
	return info, err
}

// caller returns who calls. Headers that say nothing are the caller's mistake.
func caller(c *httpapi.Call) (agentapi.Caller, error) {
	who, err := agentapi.CallerOf(c.Header)
	if err != nil {
		return who, refused(c, err.Error())
	}
	return who, nil
}

// refused is a mistake of the caller's.
func refused(c *httpapi.Call, detail string) error {
	return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: detail}
}

// waiting lets do wait for as long as d, of those calls that may wait.
func (s *Service) waiting(c *httpapi.Call, d time.Duration, do func(ctx context.Context) error) error {
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: "too many calls wait already: ask again later, or without waiting"}
	}
	return c.Within(cmp.Or(d, actWithin), do)
}
