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
	// maxWait limits ?wait= and ?wait_ms=, as in Coder's agent.
	maxWait = 5 * time.Minute
	// maxWaits limits the concurrent calls that wait, so that connections remain for other
	// requests.
	maxWaits = 160
	// actWithin limits how long the supervisor may take for an immediate action.
	actWithin = 30 * time.Second
	// niceness lowers the priority of processes below the agent's.
	niceness = 5
)

// Options configure a Service. Supervisor is required.
type Options struct {
	// Supervisor holds the processes. The caller closes it after the Service.
	Supervisor supervisor.Client
	// Root returns the workspace's directory, absolute and without links; "" while there is
	// none. Nil means that there is never one.
	Root func() string
	// Places returns the user's home directory and the agent's own places, for profiles.
	// The Service sets Root, Tmp and Granted.
	Places func() launch.Places
	// Tmp is a directory only for the private temporary directories of processes under a
	// plan. If it is empty, such processes are refused.
	Tmp string
	// HideSecrets reports whether processes are kept from secrets that their token doesn't
	// grant. Nil means true.
	HideSecrets func() bool
	// Narrow reports whether processes of chats and minted tokens may currently write only
	// these files of the workspace, their plan. Nil means that only their tokens restrict
	// them.
	Narrow func(writes ...string) bool
	// Display returns the variables of a process that may show something on the desktop, and
	// the directory that it then reads; nothing if it may not, or there is none. It may be nil.
	Display func(*access.Grant) (env []string, dir string)
	// Environ returns the agent's own environment; nil means os.Environ.
	Environ func() []string
	// Touched is called with working directories; it may be nil.
	Touched agentapi.Touched
	// Logger receives problems that belong to no request. Nil means no log.
	Logger *slog.Logger
}

// Service is the API of processes.
type Service struct {
	opts  Options
	score int // out-of-memory score of processes
	// waits holds a token for each waiting call.
	waits chan struct{}
	// ctx ends with Close, and with it the watches.
	ctx     context.Context
	cancel  context.CancelFunc
	watches sync.WaitGroup

	swept, unconfined sync.Once
	// starting is read-locked from the decision about what a process may write until the
	// supervisor holds it.
	starting sync.RWMutex
}

// New makes a Service.
func New(opts Options) *Service {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Environ: os.Environ, HideSecrets: func() bool { return true },
		Narrow: func(...string) bool { return false }, Touched: func(agentapi.Caller, ...string) {}, Display: func(*access.Grant) ([]string, string) { return nil, "" }, Logger: slog.New(slog.DiscardHandler),
	})
	s := &Service{opts: opts, score: outOfMemoryScore(), waits: make(chan struct{}, maxWaits)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends the Service's goroutines. Processes keep running.
func (s *Service) Close() error {
	s.cancel()
	s.watches.Wait()
	return nil
}

// Alone calls do while no process is being started, and no process is running that may
// write to the workspace for anybody but the agent's user. Starts wait meanwhile. There
// must be no processes whose starter has ended, because they may belong to anybody.
//
// # Errors
//
// Those of do; that the supervisor doesn't answer; which process is running.
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

// Service returns the routes and their documentation.
func (s *Service) Service() httpapi.Service {
	routes := s.routes()
	for i := range routes {
		// Coder's client sends no Content-Type. Routes with a body need a token.
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

// own returns the process that a call names, if its caller may see it.
func (s *Service) own(ctx context.Context, c *httpapi.Call, who agentapi.Caller) (supervisor.Info, error) {
	info, err := s.opts.Supervisor.Get(ctx, c.Arg("id"))
	if err == nil && !who.Owns(info.Chat) {
		err = supervisor.ErrNotFound
	}
	return info, err
}

// live is like own, for acting on a running process, or on what one has left running. A caller with a fence may only act on
// processes with the same confinement.
func (s *Service) live(c *httpapi.Call, who agentapi.Caller) (supervisor.Info, error) {
	info, err := s.own(c.Context(), c, who)
	if g := access.From(c.Context()); err == nil && g != nil && g.Plan != "" {
		err = s.reach(c, &info)
	}
	if err == nil && !info.Running && len(info.Left) == 0 {
		err = supervisor.ErrExited
	}
	return info, err
}

// caller returns the caller. Invalid headers are its mistake.
func caller(c *httpapi.Call) (agentapi.Caller, error) {
	who, err := agentapi.CallerOf(c.Header)
	if err != nil {
		return who, refused(c, err.Error())
	}
	return who, nil
}

// refused returns an error for a mistake of the caller.
func refused(c *httpapi.Call, detail string) error {
	return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: detail}
}

// waiting runs do, which may wait up to d. At most maxWaits calls wait at a time.
func (s *Service) waiting(c *httpapi.Call, d time.Duration, do func(ctx context.Context) error) error {
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return &problem.Error{Code: http.StatusTooManyRequests, Message: c.Failed(), Detail: "too many calls wait already: ask again later, or without waiting"}
	}
	return c.Within(cmp.Or(d, actWithin), do)
}
