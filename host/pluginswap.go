package host

import (
	"context"
	"slices"

	"waymark/host/plugin/approvals"
)

// enterPlugins takes the plugins: who has them owns what is known of plugin
// files, and may take the turn afterwards, not the other way around. It is as
// enter otherwise.
func (h *Host) enterPlugins(ctx context.Context) (context.Context, func(), error) {
	return h.take(ctx, h.pluginTurn)
}

// install puts a list in force. Resolvers are never changed while they run: it
// waits for its turn, and what is found by the new ones is published as one
// snapshot, so that none mixes two versions or lacks what both find.
func (h *Host) install(ctx context.Context, list []*plugin) error {
	if slices.EqualFunc(list, h.plugins, samePlugin) && !h.owing {
		return nil
	}
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	resolvers := h.owing || !slices.EqualFunc(list, h.plugins, func(a, b *plugin) bool { return a.module == b.module })
	h.replacePlugins(list)
	if h.Current().Version == 0 {
		return nil // the first snapshot is yet to come, and is made with these
	}
	if !resolvers {
		h.showPlugins()
		return nil
	}
	h.forgetOutcomes()
	h.owing = true // if who waits for it gives up, somebody else has to do it
	ctx, end := h.hurry.begin(ctx)
	defer end()
	_, err = h.refresh(ctx, everything(ReasonPlugins))
	h.owing = err != nil
	return err
}

// ReasonPlugins is the reason of refreshes after modules were added, replaced
// or removed.
const ReasonPlugins = "plugins"

// samePlugin reports whether two rows say and do the same.
func samePlugin(a, b *plugin) bool {
	waits := func(p *plugin) string {
		if p.waits == nil {
			return ""
		}
		return p.waits.Digest
	}
	return a.module == b.module && waits(a) == waits(b) && a.note == b.note && a.noteState == b.noteState &&
		slices.Equal(a.state.Resolvers, b.state.Resolvers) &&
		a.state.Name == b.state.Name && a.state.Version == b.state.Version && a.state.Path == b.state.Path &&
		a.state.Digest == b.state.Digest && a.state.State == b.state.State && a.state.Error == b.state.Error
}

// forgetOutcomes makes the next refresh look at all roots, since the outcomes
// of each are in order of the resolvers. The caller holds the turn.
func (h *Host) forgetOutcomes() {
	for _, slot := range h.slots {
		slot.outcomes, slot.known = nil, false
	}
}

// replacePlugins puts a list in force. The caller holds the plugins and the
// turn, and has the resolvers looked after.
func (h *Host) replacePlugins(list []*plugin) {
	h.tellPlugins(list)
	var waits []approvals.Pending
	for _, p := range list {
		if p.waits != nil {
			waits = append(waits, *p.waits)
		}
		if p.file == nil || p.module == nil {
			continue
		}
		p.file.used = p.version
		if !p.file.named {
			h.approvals.Use(moduleOf(p.file, p.version, &PluginOptions{}))
		}
	}
	h.dropUsed(list)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins, h.waits = list, waits
	if h.report == nil {
		h.shown = pluginStates(list, nil)
	}
}

// dropUsed takes back the word of files that nothing is used of any more.
func (h *Host) dropUsed(list []*plugin) {
	for _, f := range h.shelf.files {
		if f.used != nil && !slices.ContainsFunc(list, func(p *plugin) bool { return p.version == f.used && p.module != nil }) {
			f.used = nil
		}
	}
}
