package host

import (
	"context"
	"errors"
	"slices"

	"waymark/host/plugin/approvals"
	"waymark/host/watch"
	"waymark/snapshot"
)

// pluginOwner is the owner of the module files' watches; roots are named by numbers.
const pluginOwner = "plugins"

// followPlugins applies every new list of the catalog, and keeps the watches on module files
// current, until ctx ends.
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

// publishPlugins publishes what the catalog's current list changes: the finds of other
// modules, or only the states of the same ones.
func (h *Host) publishPlugins(ctx context.Context) error {
	if current, err := h.amend(ctx); current || err != nil {
		return err
	}
	_, err := h.flights.join(ctx, everything(ReasonPlugins))
	return err
}

// amend publishes the current states of the modules and of watching, and the providers'
// current resources, together with the resolvers' previous finds. It runs no resolver. If the
// catalog's modules differ from the snapshot's, amend keeps the states of the latter and
// returns current as false; followPlugins then applies the new list. Before the first
// snapshot it does nothing.
func (h *Host) amend(ctx context.Context) (current bool, err error) {
	_, leave, err := h.turn.Take(ctx) // a refresh in progress may use the previous list
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
		list = report.plugins // the next refresh applies the new list
	}
	// Readers may keep a report, so it is copied.
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

// watchPlugins watches the places of module files.
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

// scopeOf returns the scope that a batch asks for, near its events if it names them; ok is
// false if it concerns no root.
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

// Approve lets a waiting module run, and returns once it is in use or has failed to load. An
// empty digest means the only waiting file of that name.
//
// # Errors
//
// plugin.ErrNotWaiting, plugin.ErrWhichModule, or an error from saving the approval.
func (h *Host) Approve(ctx context.Context, name, digest string) (*approvals.Pending, error) {
	defer h.catalog.Check()
	waits, err := h.catalog.Approve(ctx, name, digest)
	if waits != nil && ctx.Err() == nil {
		err = errors.Join(err, h.publishPlugins(ctx))
	}
	return waits, err
}

// RetryPlugins ends all quarantines, including those of earlier processes, tries modules
// again that couldn't be used, and runs everything that isn't fresh. While the first snapshot
// is held back it runs nothing and returns ErrHeld.
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
