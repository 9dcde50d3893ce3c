package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"waymark/host/plugin/approvals"
	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/watch"
	"waymark/snapshot"
)

// Host is the engine. Make one with New; see the package comment for its life.
type Host struct {
	log     *slog.Logger
	sandbox *sandbox.Host
	blobs   *blobs

	progress     func(line string)
	settled      func()
	observe      func(*Report)
	observeWatch func(watch.Batch)

	published snapshot.Publisher
	flights   flights
	// Who is in a hurry for the turn, and for the plugins.
	hurry, pluginHurry hurry
	ready              chan struct{} // closed when the first snapshot isn't held back
	unsaved            chan struct{} // holds a token while there are memos to save

	approvals  *approvals.Store
	pluginNews chan struct{} // holds a token while plugin files are to be looked at

	// pluginTurn holds a token while nobody changes the modules: who takes it
	// owns the fields up to turn. It is taken before turn, never after.
	pluginTurn chan struct{}
	shelf      shelf
	handles    map[*handle]struct{}
	builtin    *plugin // the row of the built-in module; nil when there is none
	// builtinDigest is that of the built-in module; empty until it is needed.
	builtinDigest string
	stocked       bool // Load has been there
	owing         bool // plugins are in force that no snapshot is made with yet
	// unsavedApprovals is why approvals weren't kept when it was tried last.
	unsavedApprovals string

	// turn holds a token while nobody refreshes: who takes it owns the fields
	// up to mu. What of opts is about modules is changed by who has both.
	turn      chan struct{}
	opts      Options
	engine    *resolve.Engine
	slots     []*rootSlot
	slotNames int
	said      map[string]string // per resolver and root, what was last logged

	mu        sync.Mutex          // guards the fields below; nothing is read or run under it
	plugins   []*plugin           // replaced by who has both turns, who may read it without mu
	shown     []snapshot.Plugin   // the states of plugins that go with the snapshot
	waits     []approvals.Pending // of plugins
	paths     []string            // of the roots at the last refresh
	refused   []RefusedRoot       // at the last refresh
	report    *Report             // of the last refresh; nil before the first
	pusher    *push.Pusher
	repush    chan struct{} // closed when pusher is replaced
	watcher   *watch.Watcher
	watching  watch.Options
	rewatch   chan struct{} // closed when watching has changed
	readyOnce sync.Once

	closing   context.Context //nolint:containedctx // the Host's life
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// New makes a Host and opens its roots. It fails when a root that must exist
// doesn't, and starts nothing.
func New(opts Options) (*Host, error) {
	opts.setDefaults()
	h := &Host{
		opts: opts, log: opts.Logger, watching: opts.Watch,
		progress: opts.Progress, settled: opts.Settled, observe: opts.Observe, observeWatch: opts.ObserveWatch,
		turn: make(chan struct{}, 1), pluginTurn: make(chan struct{}, 1), pluginNews: make(chan struct{}, 1), said: map[string]string{}, unsaved: make(chan struct{}, 1),
		ready: make(chan struct{}), repush: make(chan struct{}), rewatch: make(chan struct{}),
	}
	for _, spec := range opts.Roots {
		h.slots = append(h.slots, h.newSlot(spec))
	}
	if err := h.checkRequired(); err != nil {
		h.closeRoots()
		return nil, err
	}
	h.paths, h.refused = rootPaths(h.used()), h.refusedRoots()
	if !opts.Hold {
		h.Ready()
	}
	h.sandbox = sandbox.New(sandbox.Options{
		CacheDir: opts.CacheDir, KeyDir: opts.KeyDir, Compiler: opts.Compiler, Logger: opts.Logger,
		Running: opts.Running.Begin,
	})
	h.approvals = approvals.Open(opts.Approvals, opts.Logger)
	h.blobs = openBlobs(opts.MemoDir, opts.KeyDir, opts.Logger)
	h.engine = h.newEngine()
	if opts.Push != nil {
		h.pusher = push.New(*opts.Push)
	}
	h.closing, h.cancel = context.WithCancel(context.Background())
	h.flights.work, h.flights.closing = h.fly, h.closing
	h.turn <- struct{}{}
	h.pluginTurn <- struct{}{}
	return h, nil
}

func (h *Host) newEngine() *resolve.Engine {
	opts := resolve.Options{
		MaxResourceBytes: h.opts.Caps.MaxResourceBytes, MaxResources: h.opts.Caps.MaxResources, Limits: h.opts.FileLimits,
		NoMemo: h.opts.NoMemo,
	}
	if h.blobs != nil {
		opts.Store, opts.Salt = h.blobs, h.blobs.salt
	}
	return resolve.New(opts)
}

// Ready lets the first snapshot be made, where Options.Hold holds it back.
func (h *Host) Ready() { h.readyOnce.Do(func() { close(h.ready) }) }

// Current returns the newest snapshot, never nil; version 0 is none yet.
func (h *Host) Current() *snapshot.Snapshot { return h.published.Current() }

// Wait returns a snapshot whose version is above after, as soon as there is
// one.
func (h *Host) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	return h.published.Wait(ctx, after)
}

// Accepted waits until the peer has stored the given version, or a newer one.
func (h *Host) Accepted(ctx context.Context, version uint64) error {
	h.mu.Lock()
	pusher := h.pusher
	h.mu.Unlock()
	if pusher == nil {
		return errors.New("nothing is pushed: there is no peer")
	}
	return pusher.Accepted(ctx, version)
}

// Settle waits until every module is loaded and has its spare instances ready.
// Only measurements need it.
func (h *Host) Settle(ctx context.Context) {
	h.mu.Lock()
	plugins := h.plugins
	h.mu.Unlock()
	for _, p := range plugins {
		if p.module == nil {
			continue
		}
		if m, err := p.module.get(ctx); err == nil {
			m.Settle(ctx)
		}
	}
}

// Close ends Run, waits for a refresh that is going on, keeps the memos and
// frees everything.
func (h *Host) Close() error {
	var errs []error
	h.closeOnce.Do(func() {
		h.cancel()
		h.flights.close()
		<-h.pluginTurn // neither is given back: who wants one ends with the closing context
		<-h.turn
		h.mu.Lock()
		pusher := h.pusher
		h.mu.Unlock()
		if pusher != nil {
			errs = append(errs, pusher.Close())
		}
		if err := h.engine.Save(); err != nil {
			h.log.Warn("memos are not kept", slog.Any("error", err))
		}
		for hd := range h.handles {
			hd.close()
		}
		h.closeRoots()
	})
	return errors.Join(errs...)
}

func (h *Host) closeRoots() {
	for _, slot := range h.slots {
		slot.close()
	}
}
