package host

import (
	"log/slog"
	"strings"

	"waymark/snapshot"
)

// tellPlugins logs what a new list changes.
func (h *Host) tellPlugins(list []*plugin) {
	before := map[string]*plugin{}
	for _, p := range h.plugins {
		before[p.state.Path] = p
	}
	for _, p := range list {
		old := before[p.state.Path]
		delete(before, p.state.Path)
		if old != nil && samePlugin(p, old) {
			continue
		}
		attrs := []any{slog.String("path", p.state.Path)}
		if p.state.Name != "" {
			attrs = append(attrs, slog.String("name", p.state.Name), slog.String("version", p.state.Version))
		}
		switch {
		case p.module == nil && p.state.State != snapshot.PluginCompiling:
			h.log.Warn("plugin not used", append(attrs, slog.String("state", string(p.state.State)), slog.String("error", p.state.Error))...)
		case p.note != "" && p.noteState != snapshot.PluginCompiling:
			h.log.Warn("new version of a plugin not used", append(attrs, slog.String("reason", p.note))...)
		case p.module != nil && h.stocked && (old == nil || old.state.Digest != p.state.Digest):
			h.log.Info("plugin taken", append(attrs, slog.String("digest", p.state.Digest))...)
		}
	}
	for _, p := range before {
		h.log.Info("plugin gone", slog.String("path", p.state.Path), slog.String("name", p.state.Name))
	}
}

// showPlugins publishes the states of the modules as they are now, beside the
// resources as they were. The caller holds the turn.
func (h *Host) showPlugins() {
	h.mu.Lock()
	h.shown = pluginStates(h.plugins, h.report)
	states := h.shown
	h.mu.Unlock()
	h.published.Amend(states, h.watchProblem())
}

// pluginStates is what is shown of a list, given the last outcomes.
func pluginStates(list []*plugin, report *Report) []snapshot.Plugin {
	states := make([]snapshot.Plugin, len(list))
	for i, p := range list {
		states[i] = p.shown(report)
	}
	return states
}

// shown works the outcomes, and what is said of a newer version, into the state
// of one module.
func (p *plugin) shown(report *Report) snapshot.Plugin {
	state := p.state
	if p.module == nil {
		return state
	}
	if report != nil {
		for i := range report.Outcomes {
			o := &report.Outcomes[i]
			if module, _, _ := strings.Cut(o.Resolver, "/"); module == p.state.Name && o.Err != nil {
				state.State, state.Error = snapshot.PluginFailing, o.Err.Error()
				if o.Quarantined {
					state.State = snapshot.PluginQuarantined
				}
				break
			}
		}
	}
	if p.noteState != "" && state.State == snapshot.PluginReady {
		state.State = p.noteState
	}
	if p.note != "" && state.Error != "" {
		state.Error += "; "
	}
	state.Error += p.note
	return state
}
