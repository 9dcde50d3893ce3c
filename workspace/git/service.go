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
	"waymark/internal/await"
	"waymark/workspace/launch"
)

// Options configure a Service. Root and Home are required.
type Options struct {
	// Root returns the workspace's directory, absolute and without links; "" while it is
	// unknown.
	Root func() string
	// Home is the user's home directory, and ConfigHome the value of XDG_CONFIG_HOME, where
	// git finds the user's configuration; "" means ~/.config.
	Home, ConfigHome string
	// StateDir is an existing directory of this agent's own for temporary private
	// repositories. "" means the directory for temporary files.
	StateDir string
	// Launcher starts git under a profile; nil doesn't confine it.
	Launcher *launch.Program
	// Within reports whether a call of [Service.Diff] is restricted to the workspace. Nil
	// means never.
	Within func(context.Context) bool
	// Logger receives problems with repositories. Nil means no log.
	Logger *slog.Logger

	// Tests replace these.
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
	nested  func(dir string) []string
	// unconfined is why git runs without a profile; nil if it has one.
	unconfined error

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // goroutines of repositories
	slots   chan struct{}  // holds a token for each scan in progress

	touches touches
	changed await.Signal // signals a changed repository or a touch

	mu           sync.Mutex // guards repositories
	repositories map[string]*repository
}

// maxLooks limits the concurrent scans.
const maxLooks = 2

// New makes a Service. It scans nothing until somebody watches.
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
	if s.nested = nested; s.find == nil {
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

// privatePrefix is the prefix of private repositories.
const privatePrefix = "git-private-"

// sweep removes what a killed agent has left behind. It ignores errors, because leftovers
// do no harm.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(globbed(dir), privatePrefix+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// Unconfined returns why git runs without a profile that restricts it to the scanned
// repository; nil if it has one. git never executes anything in either case.
func (s *Service) Unconfined() error { return s.unconfined }

// Touched records that a caller has worked on paths, and makes their repositories be
// scanned for subscribers. It ignores relative paths, and returns at once.
func (s *Service) Touched(caller agentapi.Caller, paths ...string) {
	if s.touches.add(caller, paths) {
		s.changed.Notify()
	}
}

// Close ends all scans. Subscribers end with their requests. It may be called more than
// once.
func (s *Service) Close() error {
	s.cancel()
	s.running.Wait()
	return nil
}
