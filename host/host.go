package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/snapshot"
)

// Host is the engine. Make one with New; see the package comment for its life.
type Host struct {
	opts    Options
	log     *slog.Logger
	sandbox *sandbox.Host
	engine  *resolve.Engine
	pusher  *push.Pusher // nil when nothing is pushed

	published snapshot.Publisher

	// turn holds a token while nobody refreshes: who takes it owns slots and
	// what is said about outcomes.
	turn  chan struct{}
	slots []*rootSlot
	said  map[string]string // per resolver and root, what was last logged

	mu      sync.Mutex // guards the fields below; nothing is read or run under it
	plugins []*plugin  // set by Load
	paths   []string   // of the roots at the last refresh

	closing   context.Context
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// New makes a Host and opens its roots. It fails when a root that must exist
// doesn't, and starts nothing.
func New(opts Options) (*Host, error) {
	opts.setDefaults()
	h := &Host{opts: opts, log: opts.Logger, turn: make(chan struct{}, 1), said: map[string]string{}}
	for _, spec := range opts.Roots {
		h.slots = append(h.slots, &rootSlot{spec: spec})
	}
	if err := h.checkRequired(); err != nil {
		h.closeRoots()
		return nil, err
	}
	h.paths = rootPaths(h.roots())
	h.sandbox = sandbox.New(sandbox.Options{
		CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Logger: opts.Logger,
	})
	h.engine = resolve.New(resolve.Options{
		MaxResourceBytes: opts.Caps.MaxResourceBytes, MaxResources: opts.Caps.MaxResources, Limits: opts.FileLimits,
		NoMemo: opts.NoMemo,
	})
	if opts.Push != nil {
		h.pusher = push.New(*opts.Push)
	}
	h.closing, h.cancel = context.WithCancel(context.Background())
	h.turn <- struct{}{}
	return h, nil
}

// Run refreshes at once and then every Options.Recheck, and pushes, until ctx
// ends or the Host is closed. It returns nil then.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.closing, cancel)()
	var g errgroup.Group
	if h.pusher != nil {
		g.Go(func() error { return ignoreEnd(ctx, h.pusher.Run(ctx)) })
		g.Go(func() error { return ignoreEnd(ctx, h.forward(ctx)) })
	}
	g.Go(func() error { return ignoreEnd(ctx, h.recheck(ctx)) })
	return g.Wait()
}

// forward hands every new snapshot to the pusher; it skips those that were
// replaced meanwhile.
func (h *Host) forward(ctx context.Context) error {
	for version := uint64(0); ; {
		s, err := h.published.Wait(ctx, version)
		if err != nil {
			return err
		}
		version = s.Version
		h.pusher.Publish(s)
	}
}

func (h *Host) recheck(ctx context.Context) error {
	tick := time.NewTicker(h.opts.Recheck)
	defer tick.Stop()
	for {
		if _, err := h.Refresh(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Current returns the newest snapshot, never nil; version 0 is none yet.
func (h *Host) Current() *snapshot.Snapshot { return h.published.Current() }

// Wait returns a snapshot whose version is above after, as soon as there is
// one.
func (h *Host) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	return h.published.Wait(ctx, after)
}

// Accepted waits until the peer has stored the given version, or a newer one.
func (h *Host) Accepted(ctx context.Context, version uint64) error {
	if h.pusher == nil {
		return errors.New("nothing is pushed: there is no peer")
	}
	return h.pusher.Accepted(ctx, version)
}

// Status is the state of a Host, as the local API shows it.
type Status struct {
	Roots   []string          `json:"roots"`
	Version uint64            `json:"version"`
	Push    *push.Status      `json:"push"` // null when nothing is pushed
	Watch   string            `json:"watch"`
	Plugins []snapshot.Plugin `json:"plugins"`
}

// Status returns the state as it is now.
func (h *Host) Status() Status {
	h.mu.Lock()
	s := Status{Roots: h.paths, Plugins: pluginStates(h.plugins)}
	h.mu.Unlock()
	s.Version = h.Current().Version
	s.Watch = "polling every " + h.opts.Recheck.String()
	if h.pusher != nil {
		p := h.pusher.Status()
		s.Push = &p
	}
	return s
}

// Settle waits until every module has its spare instances ready again. Only
// measurements need it.
func (h *Host) Settle(ctx context.Context) {
	h.mu.Lock()
	plugins := h.plugins
	h.mu.Unlock()
	for _, p := range plugins {
		if p.module != nil {
			p.module.Settle(ctx)
		}
	}
}

// Close ends Run, waits for a refresh that is going on and frees everything.
func (h *Host) Close() error {
	var err error
	h.closeOnce.Do(func() {
		h.cancel()
		<-h.turn // never given back: later refreshes end with the closing context
		if h.pusher != nil {
			err = h.pusher.Close()
		}
		h.mu.Lock()
		plugins := h.plugins
		h.mu.Unlock()
		closePlugins(plugins)
		h.closeRoots()
	})
	return err
}

func (h *Host) closeRoots() {
	for _, slot := range h.slots {
		if slot.open != nil {
			_ = slot.open.Close()
			slot.open = nil
		}
	}
}

func pluginStates(list []*plugin) []snapshot.Plugin {
	states := make([]snapshot.Plugin, len(list))
	for i, p := range list {
		states[i] = p.state
	}
	return states
}

// ignoreEnd drops an error that only says that the context or the Host ended.
func ignoreEnd(ctx context.Context, err error) error {
	ended := ctx.Err() != nil || errors.Is(err, errClosed)
	if ended {
		return nil
	}
	return err
}
