package main

import (
	"cmp"
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

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"waymark/agent/server"
	"waymark/cmd/internal/cli"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/metrics"
	"waymark/internal/httpapi"
)

// runSettings are the flags of run.
type runSettings struct {
	settings
	root      string
	sources   []string
	url       string
	tokenFile string
	coder     bool
	insecure  bool
	listen    listenSettings
	waitFor   string
}

func (a *app) runCommand() *cobra.Command {
	var s runSettings
	cmd := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Watch over a workspace and keep a hub informed",
		Long: `Run finds what coding agents need to know in the root directory (DIR, by default
the current one), in ~/.waymark, ~/.coder and the given sources, and pushes it
to a hub whenever it changes, until it is interrupted.

What agents read in your home directory, such as ~/.claude/CLAUDE.md, is found as well.
It stays on this machine, unless the configuration has [conventions] user = "pushed".
Repositories in directories of the root are looked into, too; what they have is for
their own files ([conventions] children).

Several can run, one for each root; 'agent list' shows them. Without --url, and
without a URL in the configuration, they share a hub of your own on this
machine: one of them serves it, on 127.0.0.1:7878 or a free port, with a
database in the state directory, and when that one ends another takes it over.

A Coder server is pushed to only with --coder, since the workspace's own agent
owns the same rows there.

The configuration is read again when one of its files changes, and on SIGHUP.

What a workspace holds decides nothing about other places: where a link in the root
leads out of it, or to what is secret, a source that goes through that link is not
looked at. Name what the link leads to instead.

Environment, for use in Coder workspaces; lists are separated by commas, and
relative paths are relative to the root:
  CODER_AGENT_EXP_INSTRUCTIONS_DIRS   directories with instruction files
  CODER_AGENT_EXP_INSTRUCTIONS_FILE   another name of an instruction file
  CODER_AGENT_EXP_SKILLS_DIRS         directories with skills
  CODER_AGENT_EXP_SKILL_META_FILE     another name for SKILL.md
  CODER_AGENT_EXP_MCP_CONFIG_FILES    MCP configuration files`,
		Example: `  agent run
  agent run ~/project --source ~/notes/AGENTS.md
  agent run --url https://hub.example.com --token-file ~/.config/waymark/token
  agent run --coder
  agent run --root "" --wait-for /tmp/cloned   # see 'agent root --help'`,
		Args: cli.Named("[DIR]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
			case cmd.Flags().Changed("root"):
				return cli.Usage("DIR and --root are the same: use one of them")
			case args[0] == "":
				return cli.Usage("an empty path names nothing; --root \"\" is for a root that comes later")
			default:
				s.root = args[0]
			}
			return a.daemon(cmd.Context(), &s)
		},
	}
	s.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.root, "root", ".", "working `directory` to look into, as DIR; empty when it isn't known yet")
	f.StringArrayVar(&s.sources, "source", nil, "another `path` to look into, a directory or a file, which may not exist yet; may be repeated")
	f.StringVar(&s.url, "url", "", "`URL` of the hub to push to: https://HOST, unix:PATH or tcp:HOST:PORT; without one it is your agents' own")
	f.StringVar(&s.tokenFile, "token-file", "", "`file` with the agent's token for --url")
	f.BoolVar(&s.coder, "coder", false, "push to the Coder server that CODER_AGENT_URL and CODER_AGENT_TOKEN (or _TOKEN_FILE) name")
	f.BoolVar(&s.insecure, "insecure", false, "allow a URL with http that leads to another machine")
	f.StringVar(&s.waitFor, "wait-for", "", "hold the first snapshot back until this `file` exists, at most 10 minutes")
	s.listen.addFlags(f)
	return cmd
}

// daemon runs the agent. Everything that can be wrong with flags, files and
// ports is found before anything is started.
func (a *app) daemon(ctx context.Context, s *runSettings) (err error) {
	d, err := a.prepare(ctx, s)
	if d != nil {
		defer func() { err = errors.Join(err, d.close()) }()
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to end before it had begun, which is no failure
	}
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// daemon is a running agent and what it is made of.
type daemon struct {
	app       *app
	log       *slog.Logger
	settings  *runSettings
	workspace *workspace
	host      *host.Host
	claim     *claim       // on the workspace; nil while there is none
	hub       *embeddedHub // nil when there is one elsewhere
	peer      *peer        // the one elsewhere; only follow changes it
	metrics   *metrics.Metrics
	started   time.Time
	stamp     string // of the configuration in force; only follow changes it

	refreshing sync.WaitGroup // after reloads; follow's

	mu          sync.Mutex // guards configError
	configError string

	// signed takes the signed approvals of a hub; nil while nothing does, and then none
	// are taken. It is set before makeHost.
	signed      func(list [][]byte)
	approvalsMu sync.Mutex // guards approvals
	approvals   [][]byte   // the last ones; nil: none have come
	ids         agentIDs

	services      *services
	silent        atomic.Bool // no hub is told what coding agents see
	listener      io.Closer
	serve         func(ctx context.Context) error
	end           context.CancelFunc // ends run, which sets it before anything is served
	stopRecording func()             // nil while nothing is recorded
	usualGC       func()             // ends what rareGC has begun; nil when there is nothing to end
}

// run serves until ctx ends.
func (d *daemon) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.end = cancel
	var g errgroup.Group
	start := func(what string, f func(context.Context) error) {
		g.Go(func() error {
			defer cancel() // one that ends ends all
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
	g.Go(func() error { return d.printFirst(ctx) })
	return g.Wait()
}

// close releases what prepare took, in the reverse order.
func (d *daemon) close() error {
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
	errs = append(errs, d.services.close(), d.claim.release())
	if d.usualGC != nil {
		d.usualGC()
	}
	if d.stopRecording != nil {
		d.stopRecording()
	}
	return errors.Join(errs...)
}

// storedWithin is how long printFirst waits for the first push before it says
// that it goes on waiting.
const storedWithin = 10 * time.Second

// printFirst prints what was found first, and where it was stored. After that the agent
// is silent but for its log.
func (d *daemon) printFirst(ctx context.Context) error {
	s, err := d.host.Wait(ctx, 0)
	if err != nil {
		return nil // interrupted before there was anything to show
	}
	if err := printSnapshot(d.app.stdout, s, d.workspace.base()); err != nil {
		return err
	}
	soon, done := context.WithTimeout(ctx, min(time.Second, cmp.Or(d.app.timeout, storedWithin)))
	_ = d.host.Accepted(soon, s.Version) // which is waited for more than what follows
	done()
	if unused, err := d.host.Coverage(ctx); err == nil { // else it is interrupted
		if err := printCoverage(d.app.stdout, unused); err != nil {
			return err
		}
	}
	wait, cancel := context.WithTimeout(ctx, cmp.Or(d.app.timeout, storedWithin))
	defer cancel()
	err = d.host.Accepted(wait, s.Version)
	switch p := d.host.Status().Push; {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		return d.printStored(ctx, p.Peer, s.Version)
	default:
		_, err = fmt.Fprintf(d.app.stdout, "not stored yet: %s is %s; the newest snapshot is sent as soon as it can be, see 'agent status'\n", p.Peer, p.State)
		if err != nil {
			return err
		}
	}
	if err := d.host.Accepted(ctx, s.Version); err != nil {
		return nil // interrupted, or configured to push to another peer
	}
	p := d.host.Status().Push
	if last := p.LastAccepted; last != nil { // by now it may be a later one
		return d.printStored(ctx, p.Peer, last.Version)
	}
	return nil
}

func (d *daemon) printStored(ctx context.Context, peer string, version uint64) error {
	if d.hub == nil {
		_, err := fmt.Fprintf(d.app.stdout, "stored: %s has version %d\n", peer, version)
		return err
	}
	return d.hub.printStored(ctx, d.app.stdout, version)
}

// prepare makes everything that a daemon is made of, and finds what is wrong
// with flags, files and ports. The daemon it returns with an error is to be
// closed.
func (a *app) prepare(ctx context.Context, s *runSettings) (_ *daemon, err error) {
	log, err := a.logger()
	if err != nil {
		return nil, err
	}
	paths, err := config.FindPaths(config.Environment{})
	if err != nil {
		return nil, err
	}
	if places, err := paths.Workspace(s.root); err == nil { // else newWorkspace says why
		paths.ConfigFiles = append(paths.ConfigFiles, places.ConfigFile())
		if err := paths.Own.Work(places.Root); err != nil {
			return nil, err
		}
		if path := os.Getenv("CODER_AGENT_TOKEN_FILE"); path != "" {
			if _, err := paths.Token(path); err != nil { // --coder refuses it
				log.Warn("what runs for chats can read the token of the workspace's own agent", slog.Any("error", err))
			}
		}
		if err := a.trustConfig(&s.settings, paths, places, log); err != nil {
			return nil, err
		}
	}
	stamp := s.stamp(paths) // first, so that what changes from here on is reloaded
	c, err := s.load(paths)
	if err != nil {
		return nil, err
	}
	warnIgnored(log, c)
	w, err := newWorkspace(paths, s.root, s.sources, os.Getenv)
	if err != nil {
		return nil, err
	}
	w.configure(&c.Conventions)
	if err := w.sources.Load(); err != nil {
		log.Warn("not all persistent sources are there", slog.Any("error", err))
	}
	d := &daemon{
		app: a, log: log, started: time.Now(), settings: s, workspace: w, stamp: stamp,
		metrics: metrics.New(metrics.Options{Version: cli.CurrentVersion().Version}),
	}
	d.setConfigError(s.unapproved())
	if err := d.choosePeer(c); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.root); s.root != "" && errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("root %s does not exist: name an existing directory with --root", s.root)
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
	d.stopRecording = a.recordRuns(ctx, paths, log)
	return d, d.makeHost(ctx, c)
}

// startGC is how far the heap may grow between collections while the agent starts,
// in percent. With Go's 100, two or three collections of a heap of 3 to 6 MB take the
// processors from what somebody waits for; with this there is one at most, and the
// heap's peak is that of the last of those.
const startGC = 200

// rareGC has the collector run rarely until the agent has settled, unless
// the user has chosen how often it runs.
func (d *daemon) rareGC() {
	if os.Getenv("GOGC") == "" {
		usual := debug.SetGCPercent(startGC)
		d.usualGC = sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	}
}

// settled is called when the first push is over, before memory is given back.
func (d *daemon) settled() {
	if d.usualGC != nil {
		d.usualGC()
	}
	if d.app.release != nil {
		d.app.release()
	}
}

// choosePeer finds out where to push to.
func (d *daemon) choosePeer(c *config.Config) (err error) {
	d.peer, err = remotePeer(d.settings, c, d.workspace.paths, d.log)
	return err
}

// claimWorkspace makes this the one agent of the workspace. Where that can't be
// written down, as in a home that is read-only, it goes on.
func (d *daemon) claimWorkspace(ctx context.Context) (err error) {
	d.claim, err = claimWorkspace(ctx, d.workspace.places)
	if err == nil || errors.Is(err, server.ErrRunning) || ctx.Err() != nil {
		return err
	}
	d.log.Warn("commands don't find this agent without --listen or WAYMARK_SOCKET, and another one for the same root isn't refused", slog.Any("error", err))
	return nil
}

// listen takes the local API's address.
func (d *daemon) listen(ctx context.Context) error {
	l, opts, err := d.settings.listen.open(ctx, d.workspace.paths, d.workspace.places)
	if err != nil {
		return err
	}
	d.listener = l
	if err := d.claim.announce(l); err != nil {
		return err
	}
	timeout := d.app.timeout
	opts.Backend, opts.Metrics, opts.Logger, opts.WriteTimeout = d, d.metricsHandler(), d.log, timeout
	d.services.mount(&opts)
	handler := server.New(opts)
	server := &httpapi.Server{Handler: handler, Logger: d.log, HeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout}
	d.serve = d.serveInside(handler, func(ctx context.Context) error { return server.Serve(ctx, l) })
	return nil
}

// makeHost makes the engine, and joins the hub if there is none elsewhere.
func (d *daemon) makeHost(ctx context.Context, c *config.Config) (err error) {
	opts := d.app.hostOptions(&d.settings.settings, c, d.workspace.paths, d.workspace.env, d.log)
	opts.Roots = d.workspace.specs()
	if d.services.servers != nil {
		opts.Providers = append(opts.Providers, d.services.servers)
	}
	opts.Hold = d.settings.waitFor != ""
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
