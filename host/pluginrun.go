package host

import (
	"context"
	"errors"
	"time"

	"waymark/host/watch"
)

// pluginOwner is the name of the plugin files among the watches; roots have
// numbers.
const pluginOwner = "plugins"

// followPlugins keeps the list of modules true to the plugin files, until ctx
// ends.
func (h *Host) followPlugins(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.pluginNews:
		case <-timer.C:
		}
		next, err := h.lookAtPlugins(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// lookAtPlugins takes over what has changed in the plugin files, as far as it
// has settled, and returns when to look again even if nothing happens.
func (h *Host) lookAtPlugins(ctx context.Context) (next time.Time, err error) {
	h.pluginHurry.wait(ctx)
	h.hurry.wait(ctx)
	ctx, leave, err := h.enterPlugins(ctx)
	if err != nil {
		return next, err
	}
	defer leave()
	if !h.stocked {
		return next, nil // Load will look at them
	}
	return h.restock(ctx, false)
}

// restock is a look at the plugin files, from the first stat to the last module
// that is closed. The caller holds the plugins. What somebody in a hurry
// interrupts is left to followPlugins.
func (h *Host) restock(ctx context.Context, atOnce bool) (time.Time, error) {
	ctx, end := h.pluginHurry.begin(ctx)
	defer end()
	next, err := h.restockAll(ctx, atOnce)
	if errors.Is(err, errHurry) {
		h.pluginsChanged()
		return time.Time{}, nil
	}
	return next, err
}

func (h *Host) restockAll(ctx context.Context, atOnce bool) (time.Time, error) {
	v := h.shelf.survey(&h.opts, time.Now(), atOnce)
	h.watchPlugins()
	for _, f := range v.due {
		f.take(v.now, atOnce)
		h.recognize(f.newest)
		v.again(f.verify)
		v.again(f.retry)
		if !f.took {
			v.again(v.now.Add(h.opts.PluginSettle))
		}
	}
	h.forgetGone(v)
	defer h.sweep()
	if err := h.install(ctx, h.arrange(&h.opts, false)); err != nil { // what is to be compiled is shown so
		return v.next, err
	}
	if err := h.describeAll(ctx, &h.opts); err != nil {
		return v.next, err
	}
	list, err := h.arrangeReady(ctx, &h.opts, func(*plugin) bool { return true }, true)
	if err != nil {
		return v.next, err
	}
	if err := h.install(ctx, list); err != nil {
		return v.next, err
	}
	for _, f := range v.due {
		v.again(f.retry)
	}
	h.saveApprovals()
	return v.next, nil
}

// saveApprovals keeps what is used now, and says once why that doesn't work.
func (h *Host) saveApprovals() {
	text := ""
	if err := h.approvals.Save(); err != nil {
		text = err.Error()
	}
	if text != "" && text != h.unsavedApprovals {
		h.log.Warn(text)
	}
	h.unsavedApprovals = text
}

// forgetGone lets the names of files that exist no more be used anew.
func (h *Host) forgetGone(v *survey) {
	for _, path := range v.gone {
		h.approvals.Gone(path)
	}
}

// watchPlugins has the places of plugin files watched: the directories, whether
// they exist or not, and every link that leads to one of them or to a file.
func (h *Host) watchPlugins() {
	h.mu.Lock()
	watcher := h.watcher
	h.mu.Unlock()
	if watcher == nil {
		return // it asks for this when it begins
	}
	set := watchSet{}
	follow := func(path string) string {
		links, target := route(path)
		for _, link := range links {
			set.name(link)
		}
		set.name(target)
		return target
	}
	for _, place := range h.shelf.places {
		if place.dir != "" {
			set.dir(follow(place.dir)).any = true
		}
		for _, f := range place.files {
			if f.named || isLink(f.path) {
				follow(f.path)
			}
		}
	}
	watcher.Set(pluginOwner, set.dirs())
}

// pluginsChanged has the plugin files looked at.
func (h *Host) pluginsChanged() {
	select {
	case h.pluginNews <- struct{}{}:
	default: // that is going to happen already
	}
}

// scopeOf is what a batch asks to be looked at; ok is false when that is no
// root.
func (h *Host) scopeOf(batch watch.Batch) (want scope, ok bool) {
	want = scope{all: batch.All, owners: map[string]bool{}, reason: batch.Reason}
	for _, owner := range batch.Owners {
		if owner != pluginOwner {
			want.owners[owner] = true
		}
	}
	if batch.All || len(want.owners) < len(batch.Owners) {
		h.pluginsChanged()
	}
	return want, want.all || len(want.owners) > 0
}

// RetryPlugins ends all quarantines, those of earlier processes too, tries modules again that couldn't be used,
// and runs everything that isn't fresh.
func (h *Host) RetryPlugins(ctx context.Context) (*Report, error) {
	if err := h.opts.Running.Release(); err != nil {
		return nil, err
	}
	if err := h.retryFiles(ctx); err != nil {
		return nil, err
	}
	_, leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	h.engine.Retry()
	leave()
	return h.Refresh(ctx)
}

func (h *Host) retryFiles(ctx context.Context) error {
	ctx, leave, err := h.enterPlugins(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !h.stocked {
		return nil
	}
	_, err = h.restock(ctx, true)
	h.pluginsChanged() // for the times of later looks
	return err
}
