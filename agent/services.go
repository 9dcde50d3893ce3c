package agent

import (
	"context"
	_ "embed" // the document
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"waymark/agent/hubcalls"
	"waymark/agent/server"
	"waymark/agentapi"
	"waymark/agentapi/status"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/workspace/access"
	"waymark/workspace/desktop"
	filesvc "waymark/workspace/files"
	"waymark/workspace/git"
	"waymark/workspace/launch"
	"waymark/workspace/mcpserver"
	procs "waymark/workspace/process"
	"waymark/workspace/supervisor"
)

// services is what a daemon does for chats, with the tokens that allow it.
type services struct {
	d      *Agent
	tokens *access.Tokens
	audit  *access.Log
	// config is the [services] table in force, screen the [desktop] table.
	config atomic.Pointer[config.Services]
	screen atomic.Pointer[config.Desktop]

	// inside connects this program to its own local API.
	inside *inside
	// remote lets chats at the hub call tools.
	remote *hubcalls.Service
	// endpoint serves MCP on the agent's address.
	endpoint *mcpserver.Endpoint

	held      *holding
	processes *procs.Service
	git       *git.Service
	desktop   *desktop.Service
	servers   *servers // nil if they are unavailable
	// The file service twice: without and with restriction to the workspace.
	files, filesWithin *filesvc.Service
}

// newServices makes the services, and the control token if it is missing. If the token
// can't be stored, chats can't act, and everything else works.
func newServices(d *Agent, all *config.Config) *services {
	c := &all.Services
	own := d.workspace.places.State
	state := own.Path()
	control, err := ensureControl(own, d.log)
	if err != nil {
		d.log.Warn("nobody can act through this agent", slog.Any("error", err))
	}
	s := &services{
		d: d, inside: newInside(), audit: access.OpenLog(state, int64(c.Audit), d.log),
		tokens: access.Open(access.Options{Dir: state, Control: control, Root: d.workspace.resolvedRoot, Logger: d.log}),
		held:   newHolding(d, spools(c)),
	}
	s.configureServices(c)
	s.screen.Store(&all.Desktop)
	s.remote, s.endpoint = s.newRemote(), s.newEndpoint()
	s.makeGit()
	s.makeFiles()
	s.desktop = desktop.New(desktop.Options{
		Supervisor: s.held, Root: d.workspace.resolvedRoot, Places: s.places,
		HideSecrets: func() bool { return s.config.Load().HideSecrets },
		Run:         filepath.Join(d.workspace.paths.Sockets, d.workspace.places.ID+"-d"), Dir: filepath.Join(state, "desktop"),
		Settings: func() desktop.Settings { return DesktopSettings(s.screen.Load(), d.workspace.paths) }, Logger: d.log,
	})
	s.processes = procs.New(procs.Options{
		Supervisor: s.held, Root: d.workspace.resolvedRoot, Tmp: filepath.Join(state, "tmp"),
		Places:      s.places,
		HideSecrets: func() bool { return s.config.Load().HideSecrets },
		Narrow:      s.developing, Display: s.desktop.Environ,
		Touched: s.git.Touched, Logger: d.log,
	})
	s.servers = s.makeServers(&all.MCP)
	return s
}

// DesktopSettings returns what the [desktop] table says.
func DesktopSettings(c *config.Desktop, paths *config.Paths) desktop.Settings {
	program := func(path string) string { path, _ = paths.Expand(path); return path }
	return desktop.Settings{Server: program(c.Server), Manager: program(c.WindowManager), Recorder: program(c.Recorder), Width: c.Width, Height: c.Height, Idle: c.Idle}
}

// developing reports whether a user develops an MCP server, whose files chats must leave
// alone. writes are paths that a chat may write: if they cover a developed server's files,
// developing it ends.
func (s *services) developing(writes ...string) bool {
	if s.servers == nil {
		return false
	}
	s.servers.Touched(writes...)
	until, _ := s.servers.trust.Developing("")
	return !until.IsZero()
}

// places returns the user's and the agent's own places, for profiles.
func (s *services) places() launch.Places {
	return launch.Places{Home: s.d.workspace.paths.Home, Own: s.d.workspace.paths.Own.Hidden()}
}

func (s *services) makeGit() {
	d := s.d
	opts := git.Options{
		Root: d.workspace.resolvedRoot, Home: d.workspace.paths.Home, ConfigHome: d.opts.Environment.Get("XDG_CONFIG_HOME"), Logger: d.log,
		Within: s.stays,
	}
	scratch := d.workspace.places.State.In("git").Path()
	if err := config.MakePrivate(scratch); err == nil {
		opts.StateDir = scratch
	}
	opts.Launcher, _ = launch.Find(d.opts.Self) // Unconfined reports if there is none
	s.git = git.New(opts)
	if err := s.git.Unconfined(); err != nil {
		d.log.Warn("git is not confined", slog.Any("error", err))
	}
}

func (s *services) makeFiles() {
	opts := filesvc.Options{
		Root: s.d.workspace.resolvedRoot, Home: s.d.workspace.paths.Home, Own: s.d.workspace.paths.Own.Paths, Logger: s.d.log,
		Writing: func(paths ...string) { s.developing(paths...) },
		Touched: func(caller agentapi.Caller, paths ...string) {
			s.d.host.Hint(paths...)
			s.git.Touched(caller, paths...)
			s.developing(paths...) // again: it may have been approved for developing meanwhile
		},
	}
	s.files = filesvc.New(opts)
	opts.Within = true
	s.filesWithin = filesvc.New(opts)
}

// configure applies the parts of the configuration that concern services.
func (s *services) configure(c *config.Config) {
	s.configureServices(&c.Services)
	s.screen.Store(&c.Desktop)
	s.servers.configure(&c.MCP)
}

// configureServices applies the [services] table.
func (s *services) configureServices(c *config.Services) {
	now := *c
	if before := s.config.Swap(&now); before != nil && (before.Spool != now.Spool || before.SpoolTotal != now.SpoolTotal) {
		s.d.log.Info("services.spool and services.spool_total are those of the next supervisor: 'agent stop' ends this one")
	}
	s.audit.Bound(int64(now.Audit))
	s.held.bound(spools(c))
}

// spools returns the supervisor's limits from the [services] table.
func spools(c *config.Services) supervisor.Limits {
	return supervisor.Limits{Spool: int64(c.Spool), Spools: int64(c.SpoolTotal)}
}

// close releases the services. Processes keep running, MCP servers end.
func (s *services) close() error {
	if s == nil {
		return nil
	}
	s.endpoint.Close()
	var servers error
	if s.servers != nil {
		servers = s.servers.Close() // they end before the connection to what holds them is closed
	}
	return errors.Join(servers, s.desktop.Close(), s.processes.Close(), s.git.Close(), s.held.Close(), s.audit.Close())
}

// ControlFile returns the place of a workspace's control token.
func ControlFile(state places.Place) places.Place { return state.In("control.token") }

// ensureControl returns the control token of a workspace. It replaces one that is malformed
// or that others could have read.
func ensureControl(state places.Place, log *slog.Logger) (string, error) {
	return ensureSecret(ControlFile(state), "the control token", log)
}

// ensureSecret returns the content of one of the agent's own secret files. It creates the
// file if it is missing, and replaces it if others could have read it.
func ensureSecret(file places.Place, what string, log *slog.Logger) (string, error) {
	if err := EnsureToken(file); err != nil {
		return "", err
	}
	token, err := ReadToken(file)
	if err == nil {
		return token, nil
	}
	log.Warn(what+" is replaced", slog.Any("error", err))
	if err := os.Remove(file.Path()); err != nil {
		return "", err
	}
	return MakeToken(file)
}

// authenticate implements server.Options.Authenticate. It doesn't know the token of
// --listen-token-file; a client with that one becomes a reader.
func (s *services) authenticate(r *http.Request, token string) (context.Context, bool) {
	ctx := access.Audited(r.Context(), s.audit)
	grant := s.tokens.Authenticate(token)
	if grant == nil {
		return access.With(ctx, &access.Grant{ID: "listen"}), false
	}
	return access.With(ctx, grant), true
}

//go:generate go test -tags openapi -run ^TestDocument$ -count=1 . -update-openapi

//go:embed openapi.json
var document []byte

// mount adds all services and their description to the local API, including those that the
// configuration switches off.
func (s *services) mount(opts *server.Options) {
	opts.Document = document
	opts.Authenticate = s.authenticate
	opts.Guard = access.Guard
	always := func(*config.Services) bool { return true }
	opts.Services = append(opts.Services,
		s.own(),
		s.gated("", always, s.tokens.Service()),
		s.gated("", always, s.stopping()),
		s.gated("", always, s.serveMCP()),
		s.gated("processes", func(c *config.Services) bool { return c.Processes }, s.processes.Service()),
		s.gated("files", func(c *config.Services) bool { return c.Files }, s.fileService()),
		s.gated("desktop", func(c *config.Services) bool { return c.Desktop }, s.desktop.Service()),
		s.gated("git", func(c *config.Services) bool { return c.Git }, s.git.Service()),
	)
	if s.servers != nil {
		opts.Services = append(opts.Services, s.gated("", always, s.servers.Service.Service()))
	}
}

// fileService serves files as far as the configuration in force at the time of a call
// allows.
func (s *services) fileService() httpapi.Service {
	service, narrow := s.files.Service(), s.filesWithin.Service().Routes
	for i := range service.Routes {
		wide := service.Routes[i].Handle
		service.Routes[i].Handle = func(c *httpapi.Call) error {
			if s.stays(c.Context()) {
				return narrow[i].Handle(c)
			}
			return wide(c)
		}
	}
	return service
}

// stays reports whether a call is restricted to the workspace's files.
func (s *services) stays(ctx context.Context) bool {
	grant := access.From(ctx)
	return s.config.Load().FilesWithin == config.FilesWorkspace || grant != nil && grant.Within
}

// gated wraps a service with the operator's switches: it is available while its key is
// true, and over TCP only while services.tcp is, too.
func (s *services) gated(key string, on func(*config.Services) bool, service httpapi.Service) httpapi.Service {
	service.Routes = slices.Clone(service.Routes)
	for i := range service.Routes {
		route := &service.Routes[i]
		next := route.Handle
		route.Handle = func(c *httpapi.Call) error {
			var off string
			switch now := s.config.Load(); {
			case !on(now):
				off = "services." + key + " is false in the agent's configuration"
			case !now.TCP && !access.OverSocket(c.Request):
				off = "services.tcp is false in the agent's configuration: use the agent's socket"
			default:
				return next(c)
			}
			return &problem.Error{Code: http.StatusForbidden, Message: c.Failed(), Detail: off}
		}
	}
	return service
}

// own returns the routes of the program itself.
func (s *services) own() httpapi.Service {
	return httpapi.Service{
		About: httpapi.AgentAbout("context", ""),
		Routes: []httpapi.Route{
			{Method: http.MethodGet, Pattern: agentapi.PathContextConfig, Handle: s.contextConfig, Failed: "the context configuration is not known", Operation: &httpapi.Operation{
				ID: "contextConfig", Summary: "Where context is looked for, by CODER_AGENT_EXP_*",
				Text:    "Resolved from the agent's environment at each call, with the defaults of Coder's agent where a variable isn't set. Relative paths are bound to the working directory; without one they are left out.",
				Answers: []httpapi.Answer{httpapi.OK("All of it.", agentapi.ContextConfig{})},
				Errors:  []int{http.StatusUnauthorized},
			}},
		},
	}
}

// stopWait limits how long ending the held processes may take. Those that ignore SIGTERM
// are killed after some seconds.
const stopWait = time.Minute

func (s *services) stopping() httpapi.Service {
	return httpapi.Service{About: httpapi.AgentAbout("agent", ""), Routes: []httpapi.Route{
		{Method: http.MethodPost, Pattern: agentapi.PathStop, Scope: string(access.ScopeStop), Effect: httpapi.Acts, Handle: s.stop, Failed: "the agent was not stopped", Timeout: stopWait, Operation: &httpapi.Operation{
			ID: "stop", Summary: "End the agent and everything that it holds",
			Text:    "Processes that chats have started are ended with it, detached ones included, which SIGTERM and a restart don't do. The answer comes when they have ended; the agent ends after it. The body is empty, or an empty object. Needs the scope `stop`.",
			Answers: []httpapi.Answer{{Code: http.StatusNoContent, Text: "It ends now."}},
		}},
	}}
}

// contextConfig answers GET /api/v0/context-config.
func (s *services) contextConfig(c *httpapi.Call) error {
	found, err := s.d.workspace.contextConfig(s.d.opts.Environment.Get)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, found)
}

// stop answers POST /api/v0/stop. It ends what the agent holds, answers, and then ends the
// agent. If something can't be ended, the agent keeps running, so that the user can look
// into it.
func (s *services) stop(c *httpapi.Call) error {
	if err := c.DecodeNothing(); err != nil {
		return err
	}
	if err := s.held.Stop(c.Context()); err != nil {
		return fmt.Errorf("what it holds doesn't end: %w", err)
	}
	c.Done(func(status int) {
		if status == http.StatusNoContent {
			s.d.end()
		}
	})
	return c.NoContent()
}

// askSupervisor limits how long a status waits for the supervisor.
const askSupervisor = time.Second

// status returns the status of the services.
func (s *services) status() *status.Services {
	c := s.config.Load()
	answer := &status.Services{
		Processes: c.Processes, Files: c.Files, Git: c.Git, TCP: c.TCP, Hub: c.Hub, State: s.d.workspace.places.State.Path(),
		Secrets: status.SecretsHidden, Supervisor: status.SupervisorNone,
	}
	for _, p := range s.d.workspace.paths.Own.All() {
		answer.Own = append(answer.Own, status.OwnPlace{Kind: string(p.Kind()), Path: p.Path()})
	}
	abi, err := launch.Supported()
	switch answer.Landlock = abi; {
	case !c.HideSecrets:
		answer.Secrets = status.SecretsOff
	case err != nil:
		answer.Secrets = status.SecretsAdvisory
	}
	if !s.held.inUse() {
		return answer
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(askSupervisor, s.d.opts.Timeout))
	defer cancel()
	list, err := s.held.List(ctx)
	if err != nil {
		answer.Supervisor, answer.Error = status.SupervisorFailed, errtext.Of(err)
		return answer
	}
	answer.Supervisor, answer.Held = status.SupervisorRunning, len(list)
	for i := range list {
		if list[i].Running {
			answer.Running++
		}
	}
	return answer
}
