package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/internal/defaults"
	"waymark/internal/notify"
	"waymark/snapshot"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
	"waymark/workspace/supervisor"
)

// Starter starts processes that end with the agent; a supervisor.Client is one.
type Starter interface {
	StartOwned(ctx context.Context, spec *supervisor.Spec) (supervisor.Owned, error)
}

// Approvals say what may start, and which tools may be called; a trust.Store is
// one.
type Approvals interface {
	SetPolicy(p trust.Policy)
	Digest(ctx context.Context, e *entry.Entry, x *entry.Expanded, env []string) (*trust.Digests, error)
	Watch(d *trust.Digests) *trust.Watch
	Judge(e *entry.Entry, d *trust.Digests) trust.Verdict
	Approve(ctx context.Context, e *entry.Entry, d *trust.Digests, w launch.Widening) error
	Develop(ctx context.Context, e *entry.Entry, d *trust.Digests, w launch.Widening) error
	EndDevelop(paths ...string) bool
	Developing(except string) (time.Time, string)
	Deny(ctx context.Context, e *entry.Entry, d *trust.Digests) error
	Tools(e *entry.Entry, d *trust.Digests, c *catalog.Catalogue) (trust.ToolVerdict, error)
	ApproveTools(ctx context.Context, e *entry.Entry, d *trust.Digests, c *catalog.Catalogue) error
	SetSigned(list [][]byte) (changed bool)
}

// Options configure a Service. Home, Places, StateDir, CacheDir, Supervisor and Trust
// must be set.
type Options struct {
	// Settings are the first ones; see SetSettings.
	Settings Settings
	// Root returns the workspace's directory, absolute and without links; "" while
	// there is none. Nil means that there is never one.
	Root func() string
	// Home is the user's home directory.
	Home string
	// Places are the user's and the agent's own, for profiles. Root is set for each
	// start.
	Places func() launch.Places
	// StateDir is a directory of this agent's own, for what servers last offered and
	// for long results; CacheDir one in which servers get their caches and temporary
	// files. They are made.
	StateDir, CacheDir string
	// KeyDir is where the key lies that seals tokens of servers, which may be shared with
	// others; empty means beside the tokens, in StateDir.
	KeyDir string
	// Supervisor starts the servers. Its owner closes it, after the Service.
	Supervisor Starter
	// Getenv looks a variable up that an entry refers to; nil is os.LookupEnv.
	Getenv func(string) (string, bool)
	// Environ returns the agent's own environment; nil is os.Environ.
	Environ func() []string
	// Trust says what may start. The Service sets its policy.
	Trust Approvals
	// Alone calls store while no process starts that may write the workspace for a chat,
	// or says which one runs. It has a server be approved for development, which changes
	// what later ones may write. Nil approves none so.
	Alone func(ctx context.Context, store func() error) error
	// Logger gets what goes wrong beside a request, without any value of the
	// configuration. Nil means none.
	Logger *slog.Logger
	// Now is the time that people are told; nil is time.Now.
	Now func() time.Time

	// What tests replace.
	dialer dialer
}

// Service runs the servers. It is a host.Provider of their rows.
type Service struct {
	opts     Options
	log      *slog.Logger
	settings atomic.Pointer[Settings]
	results  results
	oauth    *session.OAuth
	// inputs wakes Run for files, settings and approvals; touched is of anything of
	// any server, and changed of what Resources and Discovery return.
	inputs, touched, changed notify.Signal

	writes atomic.Int64 // that Touched was told of

	life   context.Context //nolint:containedctx // it ends with Close, and what runs with it
	cancel context.CancelFunc
	ran    chan struct{}      // closed when Run has ended
	reader fileReader         // of Run's goroutine
	fitted map[string]*fitted // of the goroutine that publishes
	waits  chan struct{}      // holds a token for each request that waits
	gone   sync.WaitGroup     // what sees removed servers off

	mu      sync.Mutex // guards the fields below
	files   []entry.File
	given   bool // SetFiles has been called
	asked   int  // counts changes of the inputs
	applied int  // those that the servers know of
	servers map[string]*server
	leaving map[string]*server // removed ones that haven't ended
	hidden  []entry.Entry      // those whose name another entry has
	invalid []agentapi.MCPInvalid
	rows    []snapshot.Candidate
	sources snapshot.SourceOutcomes
	// published are the inputs that rows and sources are of: what isn't in them yet is
	// still to come.
	published int
	phase     snapshot.Phase // that was published last
	running   bool
}

// New makes a Service. It starts nothing until Run.
func New(opts Options) (*Service, error) {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Getenv: os.LookupEnv, Environ: os.Environ, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if opts.dialer == nil {
		opts.dialer = sessions{}
	}
	s := &Service{
		opts: opts, log: opts.Logger, ran: make(chan struct{}), waits: make(chan struct{}, maxWaits),
		fitted: make(map[string]*fitted), servers: make(map[string]*server), leaving: make(map[string]*server),
	}
	for _, dir := range []string{s.cacheDir(), s.resultDir(), opts.CacheDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	s.results.dir = s.resultDir()
	if err := errors.Join(s.results.clear(), s.sweepCatalogues()); err != nil {
		return nil, err
	}
	var err error
	if s.oauth, err = session.NewOAuth(session.OAuthOptions{Dir: filepath.Join(opts.StateDir, "oauth"), KeyDir: opts.KeyDir, Logger: opts.Logger}); err != nil {
		return nil, err
	}
	s.life, s.cancel = context.WithCancel(context.Background())
	s.SetSettings(opts.Settings)
	return s, nil
}

func (s *Service) resultDir() string { return filepath.Join(s.opts.StateDir, "results") }

// current returns the settings.
func (s *Service) current() Settings { return *s.settings.Load() }

// Run keeps the servers as the files and settings say, until ctx ends or Close is
// called; then it ends all of them. It is called once.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running || s.life.Err() != nil {
		s.mu.Unlock()
		return errors.New("the MCP servers have been run already")
	}
	s.running = true
	s.mu.Unlock()
	defer close(s.ran)
	defer s.endAll()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	var publishing sync.WaitGroup
	defer publishing.Wait()
	publishing.Go(func() { s.publish(ctx) })
	for ctx.Err() == nil {
		changed := s.inputs.Changed()
		s.reload(ctx)
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// endAll ends all servers at the same time.
func (s *Service) endAll() {
	s.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(s.servers)), maps.Values(s.leaving))
	s.mu.Unlock()
	for _, srv := range all {
		srv.cancel()
	}
	for _, srv := range all {
		<-srv.done
	}
	s.gone.Wait()
}

// Close ends all servers, and waits until they have ended. It may be called more
// than once, and before Run.
func (s *Service) Close() error {
	s.mu.Lock()
	running := s.running
	s.cancel()
	s.mu.Unlock()
	s.oauth.Close()
	if running {
		<-s.ran
	}
	return s.results.clear()
}

// SetFiles says which configuration files there are now. What has changed in them is
// taken in the background, and what servers are is looked at again; it returns at
// once.
func (s *Service) SetFiles(files []entry.File) {
	s.input(func() { s.files, s.given = files, true })
}

// SetSettings replaces the settings, as SetFiles does the files.
func (s *Service) SetSettings(settings Settings) {
	settings = settings.WithDefaults()
	s.opts.Trust.SetPolicy(settings.policy())
	s.settings.Store(&settings)
	s.results.limit(settings.ResultSpool)
	s.input(func() {})
}

// Touched is told of files that somebody has the agent change, before it is done and after:
// it ends the development of servers that cover one.
func (s *Service) Touched(paths ...string) {
	if len(paths) == 0 {
		return
	}
	s.writes.Add(1)
	if s.opts.Trust.EndDevelop(paths...) {
		s.input(func() {})
	}
}

// SetSigned replaces the signed approvals. Servers whose approval is no longer among
// them are stopped in the background.
func (s *Service) SetSigned(list [][]byte) {
	if s.opts.Trust.SetSigned(list) {
		s.input(func() {})
	}
}

// input changes what the servers are made of.
func (s *Service) input(change func()) {
	s.mu.Lock()
	change()
	s.asked++
	s.mu.Unlock()
	s.inputs.Notify()
	s.touched.Notify()
}

// reload has the servers be what the files and settings say. Those whose entries
// haven't changed only look whether they are still allowed.
func (s *Service) reload(ctx context.Context) {
	s.mu.Lock()
	files, given, asked := s.files, s.given, s.asked
	s.mu.Unlock()
	if !given {
		return
	}
	s.reader.begin()
	entries := entry.Load(ctx, files, s.reader.read, entry.Options{From: s.current().From, Root: s.opts.Root()})
	s.reader.end()
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied = asked
	s.hidden, s.invalid = nil, s.reader.invalid(files, entries)
	shadows := map[string][]string{}
	wanted := map[string]*entry.Entry{}
	for i := range entries {
		e := &entries[i]
		if e.Shadowed != "" {
			s.hidden = append(s.hidden, *e)
			shadows[e.Name] = append(shadows[e.Name], e.Source)
			continue
		}
		wanted[e.Name] = e
	}
	for name, srv := range s.servers {
		if wanted[name] == nil {
			s.remove(name, srv)
		}
	}
	for name, e := range wanted {
		s.take(ctx, name, e, shadows[name])
	}
	s.touched.Notify()
}

// take tells a server its entry; mu is held.
func (s *Service) take(ctx context.Context, name string, e *entry.Entry, shadows []string) {
	srv := s.servers[name]
	if srv == nil {
		var before <-chan struct{}
		if old := s.leaving[name]; old != nil {
			before = old.done
		}
		srv = s.newServer(ctx, name, before)
		s.servers[name] = srv
	}
	problem := s.reader.problem(e.Source)
	if problem != "" {
		problem = "its file can't be used any more (" + problem + "): what it said before counts"
	}
	srv.update(func() { srv.shadows, srv.problem = shadows, problem })
	srv.want(func(w *wants) {
		if w.entry == nil || !reflect.DeepEqual(w.entry, e) {
			w.entry = e
		}
		w.judge = true
	})
}

// remove ends a server in the background; mu is held.
func (s *Service) remove(name string, srv *server) {
	delete(s.servers, name)
	s.leaving[name] = srv
	srv.cancel()
	s.gone.Go(func() {
		<-srv.done
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leaving[name] == srv {
			delete(s.leaving, name)
		}
	})
}

// server returns a server by its name; nil where there is none. What the newest
// files say may be about to be known: it waits a little for that.
func (s *Service) server(ctx context.Context, name string) *server {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		touched := s.touched.Changed()
		s.mu.Lock()
		srv, newest := s.servers[name], s.given && s.asked == s.applied
		s.mu.Unlock()
		if newest {
			return srv
		}
		select {
		case <-touched:
		case <-timer.C:
			return srv
		case <-ctx.Done():
			return srv
		}
	}
}

// refresh has all servers that may run asked again what they offer, those that have
// failed included, and waits for that. Callers share what goes on; one that gives up
// ends only its waiting.
func (s *Service) refresh(ctx context.Context) error {
	all, _ := s.all()
	var group sync.WaitGroup
	for _, srv := range all {
		group.Go(func() { _ = srv.ask(ctx, func(w *wants) { w.refresh = true }) })
	}
	group.Wait()
	return ctx.Err()
}

// policy is what Trust has to know of the settings.
func (s *Settings) policy() trust.Policy {
	return trust.Policy{Workspace: s.Trust == TrustWorkspace, Approved: s.Approved, Keys: s.Keys, HoldNewTools: s.HoldNewTools}
}
