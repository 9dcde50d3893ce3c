package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/agent/server"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/metrics"
	"waymark/internal/httpapi"
)

// Options configure an [Agent].
type Options struct {
	Settings
	*Program

	// Root is the working directory; empty while it isn't known.
	Root string
	// Sources are additional paths to search for context.
	Sources []string
	// URL is the hub to push to, and TokenFile holds the agent's token for it. If both are
	// empty, the configuration decides; without one there, the agent uses the hub that the
	// user's agents share.
	URL, TokenFile string
	// Coder pushes to the Coder server named by CODER_AGENT_URL instead.
	Coder bool
	// Insecure allows plain http to another machine.
	Insecure bool
	// Listen is the address of the local API, unix:PATH or tcp:HOST:PORT; "" means the
	// workspace's socket. TCP requires ListenTokenFile, which is created if it is missing.
	Listen, ListenTokenFile string
	// WaitFor delays the first snapshot until this file exists; "" means no delay.
	WaitFor string
	// EndIdle ends the agent when for this time no client has asked anything, and no process is
	// held that runs; 0 means never.
	EndIdle time.Duration
	// Confirm asks the user whether to accept a configuration file that chats can write and
	// that has changed since it was approved. It is nil when there is no user to ask.
	Confirm func(changed error) (bool, error)
	// Log receives the agent's log.
	Log *slog.Logger
}

// Agent serves one workspace. Make one with [New].
type Agent struct {
	opts      Options
	log       *slog.Logger
	workspace *workspace
	host      *host.Host
	claim     *Claim // on the workspace; nil while there is none
	hub       *Hub   // nil when the agent pushes to a hub elsewhere
	peer      *peer  // the hub elsewhere; only follow changes it
	metrics   *metrics.Metrics
	started   time.Time
	stamp     string // of the configuration in force; only follow changes it

	refreshing sync.WaitGroup // counts refreshes after a reload; owned by follow

	mu          sync.Mutex // guards configError
	configError string

	// signed receives the signed approvals of a hub. While it is nil, none are accepted. It
	// is set before makeHost.
	signed      func(list [][]byte)
	approvalsMu sync.Mutex // guards approvals
	approvals   [][]byte   // the last ones received; nil before the first
	ids         agentIDs

	services      *services
	clients       clients
	silent        atomic.Bool // hubs aren't told what coding agents see
	listener      io.Closer
	serve         func(ctx context.Context) error
	end           context.CancelFunc // cancels Run, which sets it before anything is served
	stopRecording func()             // nil while nothing is recorded
	usualGC       func()             // undoes rareGC; nil when there is nothing to undo
}

// Run serves until ctx ends or one of the agent's essential parts fails. Call it once.
func (d *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.end = cancel
	var g errgroup.Group
	start := func(what string, f func(context.Context) error) {
		g.Go(func() error {
			defer cancel() // if one part ends, all end
			if err := f(ctx); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		})
	}
	start("local API", d.serve)
	if d.hub != nil {
		start("hub", func(ctx context.Context) error { d.hub.Run(ctx); return nil })
	}
	if d.opts.EndIdle > 0 {
		start("end", d.endIdle)
	}
	start("configuration", d.follow)
	if servers := d.services.servers; servers != nil {
		start("MCP servers", servers.Run)
		start("MCP configuration", func(ctx context.Context) error { return servers.followConfigs(ctx, d) })
	}
	start("agent", func(ctx context.Context) error {
		if err := d.host.Load(ctx); err != nil {
			return err
		}
		return d.host.Run(ctx)
	})
	return g.Wait()
}

// Close releases what New acquired, in reverse order. Call it after Run has returned.
func (d *Agent) Close() error {
	var errs []error
	if d.host != nil {
		errs = append(errs, d.host.Close())
	}
	if d.hub != nil {
		errs = append(errs, d.hub.Close())
	}
	if d.listener != nil {
		if err := d.listener.Close(); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, ignoreClosed(err))
		}
	}
	errs = append(errs, d.services.close(), d.claim.Release())
	if d.usualGC != nil {
		d.usualGC()
	}
	if d.stopRecording != nil {
		d.stopRecording()
	}
	return errors.Join(errs...)
}

// New makes an agent. It reports wrong flags, files and ports before anything is started.
func New(ctx context.Context, opts Options) (_ *Agent, err error) {
	d, err := prepare(ctx, opts)
	if d != nil && err != nil {
		err, d = errors.Join(err, d.Close()), nil
	}
	return d, err
}

// prepare does New's work. If it returns both an agent and an error, the caller closes the
// agent.
func prepare(ctx context.Context, opts Options) (_ *Agent, err error) {
	s, log := &opts, opts.Log
	paths, err := config.FindPaths(s.Environment)
	if err != nil {
		return nil, err
	}
	if places, err := paths.Workspace(s.Root); err == nil { // otherwise newWorkspace reports why
		paths.ConfigFiles = append(paths.ConfigFiles, places.ConfigFile())
		if err := paths.Own.Work(places.Root); err != nil {
			return nil, err
		}
		if path := s.Environment.Get("CODER_AGENT_TOKEN_FILE"); path != "" {
			if _, err := paths.Token(path); err != nil { // --coder refuses such a file
				log.Warn("what runs for chats can read the token of the workspace's own agent", slog.Any("error", err))
			}
		}
		if err := s.trustConfig(paths, places); err != nil {
			return nil, err
		}
	}
	stamp := s.stamp(paths) // before loading, so that later changes trigger a reload
	c, err := s.Load(paths)
	if err != nil {
		return nil, err
	}
	warnIgnored(log, c)
	w, err := newWorkspace(paths, s.Root, s.Sources, s.Environment.Get)
	if err != nil {
		return nil, err
	}
	w.configure(&c.Conventions)
	if err := w.sources.Load(); err != nil {
		log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	d := &Agent{
		opts: opts, log: log, started: time.Now(), workspace: w, stamp: stamp,
		metrics: metrics.New(metrics.Options{Version: s.Version}),
	}
	d.setConfigError(s.unapproved())
	if err := d.choosePeer(c); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.Root); s.Root != "" && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("root %s does not exist: name an existing directory with --root", s.Root)
	}
	d.rareGC()
	if err := d.claimWorkspace(ctx); err != nil {
		return d, err
	}
	if err := paths.Own.Share(w.places.State.In("own.json"), paths.State.In("w", "*", "own.json").Path()); err != nil {
		log.Warn("chats of other workspaces may change what this agent trusts", slog.Any("error", err))
	}
	d.services = newServices(d, c)
	d.silent.Store(!c.Push.Clients)
	if servers := d.services.servers; servers != nil {
		d.signed = servers.SetSigned
	}
	if err := d.listen(ctx); err != nil {
		return d, err
	}
	d.stopRecording = s.RecordRuns(ctx, paths, log)
	return d, d.makeHost(ctx, c)
}

// startGC is GOGC while the agent starts. With Go's default of 100, two or three
// collections of a heap of 3 to 6 MB take processor time while somebody waits. With this
// value there is at most one, and the peak of the heap stays the same.
const startGC = 200

// rareGC makes the collector run rarely until the agent has settled, unless the user has
// set GOGC.
func (d *Agent) rareGC() {
	if os.Getenv("GOGC") == "" {
		usual := debug.SetGCPercent(startGC)
		d.usualGC = sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	}
}

// settled is called after the first push, before memory is returned to the system.
func (d *Agent) settled() {
	if d.usualGC != nil {
		d.usualGC()
	}
	if d.opts.Release != nil {
		d.opts.Release()
	}
}

// choosePeer determines where to push to.
func (d *Agent) choosePeer(c *config.Config) (err error) {
	d.peer, err = remotePeer(&d.opts, c, d.workspace.paths, d.log)
	return err
}

// claimWorkspace makes this the only agent of the workspace. If the claim can't be written,
// for example because the home is read-only, the agent runs without one.
func (d *Agent) claimWorkspace(ctx context.Context) (err error) {
	d.claim, err = ClaimWorkspace(ctx, d.workspace.places)
	if err == nil || errors.Is(err, server.ErrRunning) || ctx.Err() != nil {
		return err
	}
	d.log.Warn("commands don't find this agent without --listen or WAYMARK_SOCKET, and another one for the same root isn't refused", slog.Any("error", err))
	return nil
}

// listen opens the local API's address.
func (d *Agent) listen(ctx context.Context) error {
	l, opts, err := d.opts.open(ctx, d.workspace.paths, d.workspace.places)
	if err != nil {
		return err
	}
	d.listener = l
	if err := d.claim.announce(l, d.opts.EndIdle > 0); err != nil {
		return err
	}
	timeout := d.opts.Timeout
	opts.Backend, opts.Metrics, opts.Logger, opts.WriteTimeout = d, d.metricsHandler(), d.log, timeout
	d.services.mount(&opts)
	handler := d.clients.count(server.New(opts))
	server := &httpapi.Server{Handler: handler, Logger: d.log, HeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout}
	d.serve = d.serveInside(handler, func(ctx context.Context) error { return server.Serve(ctx, l) })
	return nil
}

// makeHost makes the engine, and opens or joins the shared hub unless the agent pushes
// elsewhere.
func (d *Agent) makeHost(ctx context.Context, c *config.Config) (err error) {
	opts := d.hostOptions(c)
	opts.Roots = d.workspace.specs()
	if d.services.servers != nil {
		opts.Providers = append(opts.Providers, d.services.servers)
	}
	opts.Hold = d.opts.WaitFor != ""
	opts.Settled = d.settled
	opts.Observe, opts.ObserveWatch, opts.Amended = d.observe, d.observeWatch, d.metrics.Snapshot
	if d.peer != nil {
		opts.Push = d.prepare(&d.peer.options)
	} else {
		if d.hub, err = openHub(ctx, d.workspace.paths, d.workspace.places, d.log); err != nil {
			return err
		}
		opts.Push = d.prepare(d.hub.peer(d.log))
	}
	d.ids.set(c, d.hub)
	d.host, err = host.New(opts)
	return err
}

// hostOptions returns the engine's options for a configuration, without roots and push.
func (d *Agent) hostOptions(c *config.Config) host.Options {
	opts := d.opts.HostOptions(&d.opts.Settings, c, d.workspace.paths, d.log)
	d.workspace.env.configure(&opts)
	return opts
}

// Instance returns where the agent listens and where its control token is. It is nil if the
// claim couldn't be written.
func (d *Agent) Instance() *Instance {
	if d.claim == nil {
		return nil
	}
	d.claim.mu.Lock()
	defer d.claim.mu.Unlock()
	now := d.claim.now
	now.State = d.claim.state
	return &now
}

// Base returns the directory that tables leave out at the beginning of paths.
func (d *Agent) Base() string { return d.workspace.base() }

// Accepted waits until the control plane has stored this version of the snapshot, a newer
// one, or one with equal content.
func (d *Agent) Accepted(ctx context.Context, version uint64) error {
	return d.host.Accepted(ctx, version)
}

// Hub returns the hub that the user's agents share; nil when this agent pushes elsewhere.
func (d *Agent) Hub() *Hub { return d.hub }
