package host

import (
	"context"
	"log/slog"

	"waymark/host/vfs"
)

// SetRoots looks at other roots from the next refresh on. Those that stay keep
// what is known of them. It changes nothing when a root that must exist can't
// be opened.
func (h *Host) SetRoots(ctx context.Context, specs []RootSpec) error {
	defer h.hurry.enter()()
	_, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	before := h.slots
	next, gone := h.replaceSlots(specs)
	h.slots = next
	h.openRoots(scope{})
	for _, slot := range next {
		if err := slot.required(); err != nil {
			h.slots = before
			closeNew(next, before)
			return err
		}
	}
	h.forget(gone)
	return nil
}

// closeNew closes the slots that aren't in before.
func closeNew(next, before []*rootSlot) {
	old := make(map[*rootSlot]bool, len(before))
	for _, slot := range before {
		old[slot] = true
	}
	for _, slot := range next {
		if !old[slot] {
			slot.close()
		}
	}
}

// forget lets go of slots and their watches. The caller holds the turn.
func (h *Host) forget(gone []*rootSlot) {
	h.mu.Lock()
	watcher := h.watcher
	h.mu.Unlock()
	for _, slot := range gone {
		slot.close()
		if watcher != nil {
			watcher.Set(slot.owner, nil)
		}
	}
}

// Reconfigure takes over what a configuration file can say: modules and what
// narrows them, exclude patterns, limits, caps and the paces of watching. It
// changes nothing on an error. Roots and the peer have methods of their own.
// The next refresh looks at everything anew.
//
// It waits neither for modules that run, which are interrupted and run again
// later, nor, for longer than Options.ReloadWithin, for modules that are
// loaded: those are shown as being compiled, and come into use when they are
// ready, if Run is there to do it.
func (h *Host) Reconfigure(ctx context.Context, opts Options) error {
	if err := vfs.CheckExclude(opts.Exclude); err != nil {
		return err
	}
	calm := h.pluginHurry.enter()
	defer calm()
	ctx, leavePlugins, err := h.enterPlugins(ctx)
	if err != nil {
		return err
	}
	defer leavePlugins()
	calm() // who comes now waits for the plugins anyway
	next := h.opts
	next.DisableBuiltin, next.BuiltinConfig = opts.DisableBuiltin, opts.BuiltinConfig
	next.PluginFiles, next.PluginDirs, next.Plugins = opts.PluginFiles, opts.PluginDirs, opts.Plugins
	next.Only, next.Exclude, next.Limits, next.FileLimits, next.Caps = opts.Only, opts.Exclude, opts.Limits, opts.FileLimits, opts.Caps
	list, err := h.stockSoon(ctx, &next)
	defer h.sweep()
	if err != nil {
		return err
	}
	defer h.hurry.enter()()
	_, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	before := h.opts
	h.opts = next
	h.replacePlugins(list)
	h.stocked = true
	if before.FileLimits != h.opts.FileLimits || before.Caps != h.opts.Caps {
		if err := h.engine.Save(); err != nil {
			h.log.Warn("memos are not kept", slog.Any("error", err))
		}
		h.engine = h.newEngine()
	}
	h.forgetOutcomes()
	h.pluginsChanged()
	h.setWatching(opts)
	return nil
}

// stockSoon is stock, but for modules that can't be loaded in time. They are
// left to followPlugins.
func (h *Host) stockSoon(ctx context.Context, opts *Options) ([]*plugin, error) {
	soon, cancel := context.WithTimeout(ctx, opts.ReloadWithin)
	defer cancel()
	list, err := h.stock(soon, opts, func(*version) bool { return false })
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		h.log.Info("configuration in force before all modules are loaded", slog.Duration("after", opts.ReloadWithin))
		return h.arrange(opts, false), nil
	}
	return list, err
}

// setWatching begins to watch anew if the paces differ.
func (h *Host) setWatching(opts Options) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, next := &h.watching, opts.Watch
	if now.Quiet == next.Quiet && now.MaxWait == next.MaxWait && now.Recheck == next.Recheck {
		return
	}
	now.Quiet, now.MaxWait, now.Recheck = next.Quiet, next.MaxWait, next.Recheck
	close(h.rewatch)
	h.rewatch = make(chan struct{})
}
