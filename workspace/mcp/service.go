package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waymark/agentapi"
	"waymark/internal/await"
	"waymark/internal/defaults"
	"waymark/snapshot"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/session"
	"waymark/workspace/mcp/trust"
	"waymark/workspace/supervisor"
)

// Starter starts processes that end with the agent. A supervisor.Client is one.
type Starter interface {
	StartOwned(ctx context.Context, spec *supervisor.Spec) (supervisor.Owned, error)
}

// Approvals decide which servers may start and which tools may be called. A trust.Store is
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

// Options configure a Service. Home, Places, StateDir, CacheDir, Supervisor and Trust are
// required.
type Options struct {
	// Settings are the initial settings; see SetSettings.
	Settings Settings
	// Root returns the workspace's directory, absolute and without links; "" while there is
	// none. Nil means that there is never one.
	Root func() string
	// Home is the user's home directory.
	Home string
	// Places returns the user's and the agent's own places, for profiles. The Service sets
	// Root.
	Places func() launch.Places
	// StateDir is this agent's own directory for catalogues and long results. CacheDir is
	// the directory for caches and temporary files of servers. Both are created.
	StateDir, CacheDir string
	// KeyDir is the directory of the key that encrypts tokens of servers. Others may share
	// it. Empty means StateDir.
	KeyDir string
	// Supervisor starts the servers. The caller closes it after the Service.
	Supervisor Starter
	// Getenv looks up a variable that an entry refers to; nil means os.LookupEnv.
	Getenv func(string) (string, bool)
	// Environ returns the agent's own environment; nil means os.Environ.
	Environ func() []string
	// Trust decides what may start. The Service sets its policy.
	Trust Approvals
	// Alone calls store while no process of a chat that may write the workspace can start,
	// or returns an error that names a running one. It guards approvals for development,
	// which restrict what later processes may write. If it is nil, there are no such
	// approvals.
	Alone func(ctx context.Context, store func() error) error
	// Logger receives problems that belong to no request, without values from the
	// configuration. Nil means no log.
	Logger *slog.Logger
	// Now is the clock for times that people see; nil means time.Now.
	Now func() time.Time

	// Tests replace it.
	dialer dialer
}

// minStarting is how many servers may start at the same time at least. Starting one takes a
// second of CPU, if it is Node's.
const minStarting = 4

// Service runs the servers. It is a host.Provider of their rows.
type Service struct {
	opts     Options
	log      *slog.Logger
	settings atomic.Pointer[Settings]
	results  results
	parked   parked
	oauth    *session.OAuth
	// inputs wakes Run for changed files, settings and approvals. touched signals a change
	// of any server, changed one of what Resources and Discovery return.
	inputs, touched, changed await.Signal

	writes atomic.Int64 // counts calls of Touched

	life   context.Context //nolint:containedctx // it ends with Close, and what runs with it
	cancel context.CancelFunc
	ran    chan struct{}      // closed when Run has ended
	reader fileReader         // belongs to Run's goroutine
	fitted map[string]*fitted // belongs to the publishing goroutine
	waits  chan struct{}      // holds a token for each waiting request
	// starting holds a token for each server that is starting; see turn.
	starting chan struct{}
	gone     sync.WaitGroup // goroutines that wait for removed servers

	mu      sync.Mutex // guards the fields below
	files   []entry.File
	given   bool // SetFiles has been called
	asked   int  // number of changes of the inputs
	applied int  // number of changes that the servers have received
	servers map[string]*server
	leaving map[string]*server // removed servers that haven't ended
	hidden  []entry.Entry      // entries whose name another entry has won
	invalid []agentapi.MCPInvalid
	rows    []snapshot.Candidate
	sources snapshot.SourceOutcomes
	// published is the number of input changes that rows and sources include. While it lags
	// behind asked, the phase is pending.
	published int
	phase     snapshot.Phase // phase of the last published state
	running   bool
}

// New makes a Service. It starts nothing before Run.
func New(opts Options) (*Service, error) {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Getenv: os.LookupEnv, Environ: os.Environ, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if opts.dialer == nil {
		opts.dialer = sessions{}
	}
	s := &Service{
		opts: opts, log: opts.Logger, ran: make(chan struct{}), waits: make(chan struct{}, maxWaits),
		starting: make(chan struct{}, max(minStarting, 2*runtime.GOMAXPROCS(0))),
		fitted:   make(map[string]*fitted), servers: make(map[string]*server), leaving: make(map[string]*server),
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

// Run keeps the servers in line with files and settings until ctx ends or Close is called.
// Then it ends all of them. Call it once.
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

// endAll ends all servers in parallel.
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

// Close ends all servers and waits for that. It may be called more than once, and before
// Run.
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

// SetFiles replaces the configuration files. It returns at once; changes are applied in the
// background, and all servers are judged again.
func (s *Service) SetFiles(files []entry.File) {
	s.input(func() { s.files, s.given = files, true })
}

// SetSettings replaces the settings, in the same way as SetFiles.
func (s *Service) SetSettings(settings Settings) {
	settings = settings.WithDefaults()
	s.opts.Trust.SetPolicy(settings.policy())
	s.settings.Store(&settings)
	s.results.limit(settings.ResultSpool)
	s.input(func() {})
}

// Touched reports files that the agent changes for a chat, before and after the change. It
// ends the development of servers that cover one of them.
func (s *Service) Touched(paths ...string) {
	if len(paths) == 0 {
		return
	}
	s.writes.Add(1)
	if s.opts.Trust.EndDevelop(paths...) {
		s.input(func() {})
	}
}

// SetSigned replaces the signed approvals. Servers that lose their approval are stopped in
// the background.
func (s *Service) SetSigned(list [][]byte) {
	if s.opts.Trust.SetSigned(list) {
		s.input(func() {})
	}
}

// input changes the inputs and wakes Run.
func (s *Service) input(change func()) {
	s.mu.Lock()
	change()
	s.asked++
	s.mu.Unlock()
	s.inputs.Notify()
	s.touched.Notify()
}

// reload applies files and settings to the servers. Servers with unchanged entries only
// check whether they are still allowed.
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

// take gives a server its entry. The caller holds mu.
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

// remove ends a server in the background. The caller holds mu.
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

// server returns a server by name; nil if there is none. It waits up to patience for
// pending changes of the files.
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

// refresh makes all servers that may run list their tools again, including failed ones, and
// waits for that. Concurrent calls share the work; a caller that gives up only stops
// waiting.
func (s *Service) refresh(ctx context.Context) error {
	all, _ := s.all()
	var group sync.WaitGroup
	for _, srv := range all {
		group.Go(func() { _ = srv.ask(ctx, func(w *wants) { w.refresh = true }) })
	}
	group.Wait()
	return ctx.Err()
}

// policy returns the settings that concern Trust.
func (s *Settings) policy() trust.Policy {
	return trust.Policy{Workspace: s.Trust == TrustWorkspace, Approved: s.Approved, Keys: s.Keys, HoldNewTools: s.HoldNewTools}
}
