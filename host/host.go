package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/host/watch"
	"waymark/internal/notify"
	"waymark/internal/priolock"
	"waymark/snapshot"
)

// Host is the engine. Make one with New; see the package comment for its life.
//
// Whoever has the turn owns the fields below it; those above never change or
// guard themselves.
type Host struct {
	opts      Options // as they were given to New
	log       *slog.Logger
	life      context.Context //nolint:containedctx // the Host's own
	end       context.CancelCauseFunc
	closeOnce sync.Once

	catalog   *plugin.Catalog
	memos     *memoStore // nil keeps nothing
	published snapshot.Publisher
	flights   flights
	hints     hints
	hold      gate // of the first snapshot
	unchecked unchecked
	postponed postponed
	unsaved   notify.Wake // holds a token while there are memos to save
	peer      replaceable[*push.Pusher]
	watching  replaceable[watch.Options]
	watcher   replaceable[*watch.Watcher] // nil while nothing is watched
	report    atomic.Pointer[Report]      // of the last refresh; nil before the first
	looked    atomic.Pointer[lookedAt]    // which roots the last refresh looked at

	turn    *priolock.Turn
	config  engineConfig
	engine  *resolve.Engine
	plugins *plugin.List // whose resolvers the outcomes of slots are of
	slots   []*rootSlot
	named   int               // how many slots were given names
	logged  map[string]string // per resolver and root, what was last logged

	assembler snapshot.Assembler

	// asking is had by who looks at what a client sees: each such look has resolvers of
	// its own.
	asking *priolock.Turn
}

// New makes a Host and opens its roots. It fails when a root that must exist
// doesn't, and starts nothing.
func New(opts Options) (*Host, error) {
	opts.setDefaults()
	h := &Host{
		opts: opts, log: opts.Logger, config: opts.config(),
		hold: newGate(), unsaved: notify.NewWake(), logged: map[string]string{},
	}
	for _, spec := range opts.Roots {
		h.slots = append(h.slots, h.newSlot(spec))
	}
	if err := h.checkRequired(); err != nil {
		h.closeRoots()
		return nil, err
	}
	h.looked.Store(h.rootsNow(h.used()))
	if !opts.Hold {
		h.Ready()
	}
	h.watching.set(opts.Watch)
	if opts.Push != nil {
		h.peer.set(push.New(*opts.Push))
	}
	h.hints.wake = notify.NewWake()
	h.unchecked.wake = notify.NewWake()
	h.postponed.wake = notify.NewWake()
	h.life, h.end = context.WithCancelCause(context.Background())
	h.turn, h.asking = priolock.New(h.life), priolock.New(h.life)
	h.flights.work, h.flights.life = h.fly, h.life
	h.memos = openMemos(opts.MemoDir, opts.KeyDir, opts.Logger)
	h.engine = h.newEngine()
	h.catalog = plugin.New(h.life, h.catalogOptions(), opts.catalogConfig())
	return h, nil
}

func (h *Host) newEngine() *resolve.Engine {
	opts := resolve.Options{
		MaxResourceBytes: h.config.caps.MaxResourceBytes, MaxResources: h.config.caps.MaxResources, Limits: h.config.fileLimits,
		NoMemo: h.opts.NoMemo, Home: h.opts.Home,
	}
	if h.memos != nil {
		opts.Store, opts.Salt = h.memos, h.memos.salt
	}
	return resolve.New(opts)
}

// catalogOptions are those of the catalog.
func (h *Host) catalogOptions() plugin.Options {
	o := &h.opts
	opts := plugin.Options{
		Builtin: o.Builtin, BuiltinDigest: o.BuiltinDigest, BuiltinNative: o.BuiltinNative, BuiltinNames: o.BuiltinNames,
		Settle: o.PluginSettle, ReloadWithin: o.ReloadWithin, Approvals: o.Approvals,
		CacheDir: o.CacheDir, KeyDir: o.KeyDir, Compiler: o.Compiler, Running: o.Running,
		Progress: o.Progress, Logger: o.Logger, GuestOutput: o.GuestOutput,
	}
	if h.memos != nil {
		opts.Store, opts.Salt = h.memos, h.memos.salt
	}
	return opts
}

// Load finds out what the built-in module and every module file can do; see
// plugin.Catalog. A refresh waits for it; other roots and a reload don't.
func (h *Host) Load(ctx context.Context) error { return h.catalog.Load(ctx) }

// Ready lets the first snapshot be made, where Options.Hold holds it back.
func (h *Host) Ready() { h.hold.open() }

// Current returns the newest snapshot, never nil; version 0 is none yet.
func (h *Host) Current() *snapshot.Snapshot { return h.published.Current() }

// Wait returns a snapshot whose version is above after, as soon as there is
// one.
func (h *Host) Wait(ctx context.Context, after uint64) (*snapshot.Snapshot, error) {
	return h.published.Wait(ctx, after)
}

// Accepted waits until the peer has stored the given version, or a newer one.
func (h *Host) Accepted(ctx context.Context, version uint64) error {
	pusher, _ := h.peer.get()
	if pusher == nil {
		return errors.New("nothing is pushed: there is no peer")
	}
	return pusher.Accepted(ctx, version)
}

// Settle waits until every module is loaded and has its spare instances ready.
// Run does so after the first refresh; it is for measurements without Run.
func (h *Host) Settle(ctx context.Context) { h.catalog.Settle(ctx) }

// Close ends Run, waits for a refresh that is going on, keeps the memos and
// frees everything.
func (h *Host) Close() error {
	var err error
	h.closeOnce.Do(func() {
		h.end(ErrClosed)
		h.flights.close()
		h.turn.Close()
		if pusher, _ := h.peer.get(); pusher != nil {
			err = pusher.Close()
		}
		h.saveMemos(h.engine)
		h.catalog.Close()
		h.closeRoots()
	})
	return err
}

// saveMemos keeps the memos of an engine. Without them the next start is slower.
func (h *Host) saveMemos(engine *resolve.Engine) {
	if err := engine.Save(); err != nil {
		h.log.Warn("memos are not kept", slog.Any("error", err))
	}
}

func (h *Host) closeRoots() {
	for _, slot := range h.slots {
		slot.close()
	}
}
