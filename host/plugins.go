package host

import (
	"context"
	"errors"
	"slices"

	"waymark/host/plugin/approvals"
	"waymark/host/watch"
	"waymark/snapshot"
)

// pluginOwner is the name of the module files among the watches; roots have
// numbers.
const pluginOwner = "plugins"

// followPlugins has every new list of the catalog used, and module files
// watched where they are now, until ctx ends.
func (h *Host) followPlugins(ctx context.Context) error {
	for {
		changed := h.catalog.Changed()
		watcher, replaced := h.watcher.get()
		if watcher != nil {
			h.watchPlugins(watcher)
		}
		if err := h.publishPlugins(ctx); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-changed:
		case <-replaced:
		case <-ctx.Done():
			return nil
		}
	}
}

// publishPlugins publishes what the catalog's current list changes: what other
// modules find, or only the states of the same ones.
func (h *Host) publishPlugins(ctx context.Context) error {
	if current, err := h.amend(ctx); current || err != nil {
		return err
	}
	_, err := h.flights.join(ctx, everything(ReasonPlugins))
	return err
}

// amend publishes the states of the modules and of watching, and what providers
// have, as they are now, beside what resolvers found, as it was: it runs none. Where
// the catalog has other modules than the snapshot is made with, it says of those
// only what it did before, and reports that; followPlugins has them used. Before the
// first snapshot it does nothing: that is yet to come, and is made with the modules of
// that time.
func (h *Host) amend(ctx context.Context) (current bool, err error) {
	_, leave, err := h.turn.Take(ctx) // a refresh that is going on may have begun with the list before
	if err != nil {
		return false, err
	}
	defer leave()
	report := h.report.Load()
	if report == nil {
		return true, nil
	}
	list := h.catalog.Current()
	if current = list.SameModules(report.plugins); !current {
		list = report.plugins // the refresh that follows uses the others
	}
	// Whoever has a report may read it for ever.
	next := *report
	var content snapshot.Content
	content, next.Notes = h.content(report, list)
	var changed bool
	next.Snapshot, changed = h.published.Amend(content)
	h.report.Store(&next)
	if changed {
		h.opts.Amended(next.Snapshot)
	}
	return current, nil
}

// watchPlugins has the places of module files watched.
func (h *Host) watchPlugins(watcher *watch.Watcher) {
	set := watchSet{}
	watched := h.catalog.Watched()
	for _, path := range watched.Paths {
		set.name(path, !slices.Contains(watched.Dirs, path))
	}
	for _, path := range watched.Dirs {
		set.dir(path).any = true
	}
	watcher.Set(pluginOwner, set.dirs())
}

// scopeOf is what a batch asks to be looked at, near its events at first where it
// names them; ok is false when that is no root.
func (h *Host) scopeOf(batch watch.Batch) (want scope, ok bool) {
	want = scope{all: batch.All, owners: map[string]bool{}, near: map[string][]string{}, reason: batch.Reason}
	for _, owner := range batch.Owners {
		switch {
		case owner == pluginOwner:
		case len(batch.Paths) > 0:
			want.near[owner] = batch.Paths
		default:
			want.owners[owner] = true
		}
	}
	owners := len(want.owners) + len(want.near)
	if batch.All || owners < len(batch.Owners) {
		h.catalog.Check()
	}
	return want, want.all || owners > 0
}

// WaitingPlugins lists the modules that wait for Approve.
func (h *Host) WaitingPlugins() []approvals.Pending { return h.catalog.Waiting() }

// Approve lets a module run that waits for it, and returns when it is in use,
// or can't be. An empty digest means the one file of that name that waits.
//
// # Errors
//
// plugin.ErrNotWaiting, plugin.ErrWhichModule, or that the approval couldn't be
// kept.
func (h *Host) Approve(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	defer h.catalog.Check()
	waits, err := h.catalog.Approve(ctx, name, digest)
	if waits != nil && ctx.Err() == nil {
		err = errors.Join(err, h.publishPlugins(ctx))
	}
	return waits, err
}

// RetryPlugins ends all quarantines, those of earlier processes too, tries
// modules again that couldn't be used, and runs everything that isn't fresh.
// While the first snapshot is held back it doesn't run anything, and says ErrHeld.
func (h *Host) RetryPlugins(ctx context.Context) (*Report, error) {
	if err := h.catalog.Retry(ctx); err != nil {
		return nil, err
	}
	_, leave, err := h.turn.Take(ctx)
	if err != nil {
		return nil, err
	}
	h.engine.Retry()
	leave()
	return h.Refresh(ctx)
}
