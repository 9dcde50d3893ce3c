package host

import (
	"context"
	"log/slog"

	"waymark/host/plugin"
	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/internal/await"
)

// New makes a Host and opens its roots. It starts nothing, and fails if a root that must
// exist doesn't.
func New(opts Options) (*Host, error) {
	opts.setDefaults()
	if opts.Shared == nil {
		opts.Shared = &plugin.Shared{}
	}
	h := &Host{
		opts: opts, log: opts.Logger, hold: newGate(),
		pending: pending{unsaved: await.NewWake()},
		owned:   owned{config: opts.config(), logged: map[string]string{}},
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
	h.hints.wake = await.NewWake()
	h.unchecked.wake = await.NewWake()
	h.postponed.wake = await.NewWake()
	h.life, h.end = context.WithCancelCause(context.Background())
	h.turn, h.asking = await.NewTurn(h.life), await.NewTurn(h.life)
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

// catalogOptions returns the options of the catalog.
func (h *Host) catalogOptions() plugin.Options {
	o := &h.opts
	opts := plugin.Options{
		Builtin: o.Builtin, BuiltinDigest: o.BuiltinDigest, BuiltinNative: o.BuiltinNative, Shared: o.Shared, BuiltinNames: o.BuiltinNames,
		Settle: o.PluginSettle, ReloadWithin: o.ReloadWithin, Approvals: o.Approvals,
		CacheDir: o.CacheDir, KeyDir: o.KeyDir, Compiler: o.Compiler, Running: o.Running,
		Progress: o.Progress, Logger: o.Logger, GuestOutput: o.GuestOutput,
	}
	if h.memos != nil {
		opts.Store, opts.Salt = h.memos, h.memos.salt
	}
	return opts
}

// Close ends Run, waits for a refresh in progress, saves the memos and frees everything.
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

// saveMemos saves the memos of an engine. Without them only the next start is slower.
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
