package host

import (
	"context"

	"waymark/host/vfs"
	"waymark/host/watch"
)

// SetRoots looks at other roots from the next refresh on. Those that stay keep
// what is known of them. It changes nothing when a root that must exist can't
// be opened.
func (h *Host) SetRoots(ctx context.Context, specs []RootSpec) error {
	_, leave, err := h.turn.Urgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	before := h.slots
	next, gone := h.replaceSlots(specs)
	h.slots = next
	look := h.unknown()
	for _, slot := range next {
		if slot.open == nil { // by now it may be there
			look.owners[slot.owner] = true
		}
	}
	h.openRoots(look)
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

// forget lets go of slots and their watches. The caller has the turn.
func (h *Host) forget(gone []*rootSlot) {
	watcher, _ := h.watcher.get()
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
	change, err := h.catalog.Prepare(ctx, opts.catalogConfig())
	if err != nil {
		return err
	}
	defer change.Close()
	_, leave, err := h.turn.Urgent(ctx)
	if err != nil {
		return err
	}
	defer leave()
	change.Commit()
	before := h.config
	h.config = opts.config()
	if before.fileLimits != h.config.fileLimits || before.caps != h.config.caps {
		h.saveMemos(h.engine)
		h.engine = h.newEngine()
	}
	h.forgetOutcomes()
	h.setWatching(opts.Watch)
	return nil
}

// setWatching begins to watch anew if the paces differ. The caller has the turn.
func (h *Host) setWatching(next watch.Options) {
	now, _ := h.watching.get()
	if now.Quiet == next.Quiet && now.MaxWait == next.MaxWait && now.Recheck == next.Recheck {
		return
	}
	now.Quiet, now.MaxWait, now.Recheck = next.Quiet, next.MaxWait, next.Recheck
	h.watching.set(now)
}
