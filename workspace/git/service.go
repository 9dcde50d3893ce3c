package git

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"waymark/agentapi"
	"waymark/internal/notify"
	"waymark/workspace/launch"
)

// Options configure a Service. Root and Home must be set.
type Options struct {
	// Root returns the workspace's directory, absolute and without links; "" while
	// it isn't known.
	Root func() string
	// Home is the user's home directory, and ConfigHome what XDG_CONFIG_HOME says:
	// git finds the user's configuration there. "" is ~/.config.
	Home, ConfigHome string
	// StateDir is a directory of this agent's own, in which private copies of
	// indexes are made and removed. It exists. "" means that for temporary files.
	StateDir string
	// Launcher starts git under a profile; nil doesn't confine it.
	Launcher *launch.Program
	// Within reports whether a call of [Service.Diff] is to stay in the workspace. Nil
	// never does.
	Within func(context.Context) bool
	// Logger gets what goes wrong with repositories. Nil means none.
	Logger *slog.Logger

	// What tests replace.
	poll, pause, ping time.Duration
	untracked         int
	scanner           scanner
	find              func(path string) string
}

// Service watches repositories for chats.
type Service struct {
	opts    Options
	log     *slog.Logger
	scanner scanner
	find    func(path string) string
	// unconfined is why git runs without a profile; nil when it has one.
	unconfined error

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // the goroutines of repositories
	slots   chan struct{}  // holds a token for each look that goes on

	touches touches
	changed notify.Signal // a repository or a touch

	mu           sync.Mutex // guards repositories
	repositories map[string]*repository
}

// maxLooks bounds how many repositories are looked at at a time.
const maxLooks = 2

// New makes a Service. It looks at nothing until somebody watches.
func New(opts Options) *Service {
	if opts.StateDir == "" {
		opts.StateDir = os.TempDir()
	} else {
		sweep(opts.StateDir)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.poll = cmp.Or(opts.poll, pollEvery)
	opts.pause = cmp.Or(opts.pause, pause)
	opts.ping = cmp.Or(opts.ping, pingEvery)
	opts.untracked = cmp.Or(opts.untracked, maxUntracked)
	s := &Service{
		opts: opts, log: opts.Logger, scanner: opts.scanner, find: opts.find,
		slots: make(chan struct{}, maxLooks), repositories: make(map[string]*repository),
	}
	if s.find == nil {
		s.find = findTop
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	launcher := opts.Launcher
	if s.unconfined = confinement(launcher); s.unconfined != nil {
		launcher = nil
	}
	if s.scanner == nil {
		s.scanner = &scan{
			run:  &runner{program: findGit(), launcher: launcher, home: opts.Home, config: opts.ConfigHome},
			root: opts.Root, temp: opts.StateDir, untracked: opts.untracked,
		}
	}
	return s
}

// privatePrefix begins the names of private repositories.
const privatePrefix = "git-private-"

// sweep removes what an agent that was killed has left behind. What can't be
// removed is in nobody's way.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(globbed(dir), privatePrefix+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// Unconfined says why git runs without a profile that holds it to the repository
// it looks at; nil means that it has one. It executes nothing either way.
func (s *Service) Unconfined() error { return s.unconfined }

// Touched remembers that a caller has worked on paths, and has their repositories
// looked at for whoever watches. What isn't absolute is ignored. It returns at
// once.
func (s *Service) Touched(caller agentapi.Caller, paths ...string) {
	if s.touches.add(caller, paths) {
		s.changed.Notify()
	}
}

// Close ends all looks. Subscribers end with their requests. It may be called more
// than once.
func (s *Service) Close() error {
	s.cancel()
	s.running.Wait()
	return nil
}
