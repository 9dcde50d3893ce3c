package host

import (
	"context"

	"waymark/host/vfs"
	"waymark/host/watch"
)

// SetRoots replaces the roots from the next refresh on. Roots in both lists keep what is
// known of them. It changes nothing if a root that must exist can't be opened.
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
		if slot.open == nil { // it may exist by now
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

// closeNew closes the slots of next that aren't in before.
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

// forget closes slots and removes their watches. The caller holds h.turn.
func (h *Host) forget(gone []*rootSlot) {
	watcher, _ := h.watcher.get()
	for _, slot := range gone {
		slot.close()
		if watcher != nil {
			watcher.Set(slot.owner, nil)
		}
	}
}

// Reconfigure applies what a configuration file can say: modules and their restrictions,
// exclude patterns, limits, caps and the intervals of watching. On an error it changes
// nothing. Roots and the peer have methods of their own. The next refresh looks at everything
// anew.
//
// It interrupts running modules, which run again later. It waits at most Options.ReloadWithin
// for modules to load. Slower ones are shown as compiling and, if Run is active, come into
// use when they are ready.
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

// setWatching restarts watching if the intervals differ. The caller holds h.turn.
func (h *Host) setWatching(next watch.Options) {
	now, _ := h.watching.get()
	if now.Quiet == next.Quiet && now.MaxWait == next.MaxWait && now.Recheck == next.Recheck {
		return
	}
	now.Quiet, now.MaxWait, now.Recheck = next.Quiet, next.MaxWait, next.Recheck
	h.watching.set(now)
}
