package why

import (
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/installed"
	"waymark/snapshot"
)

// isOfUnloadedPlugin holds if the path lies where agents keep plugins, but in none that is
// loaded.
func (p *pathInRoot) isOfUnloadedPlugin() (facts, bool) {
	if p.entry.state != present || p.q.in.Snapshot == nil || p.q.in.Home == "" && !p.isUsers() {
		return facts{}, false
	}
	agent, ok := installed.Keeper(p.rel)
	if !ok {
		return facts{}, false
	}
	loaded := false
	for i := range p.q.in.Snapshot.Resources {
		r := &p.q.in.Snapshot.Resources[i]
		dir := r.Attributes["directory"].Text
		if r.Kind != abi.KindPlugin || r.Scope != snapshot.ScopeUser || dir == "" || p.rel != dir && !strings.HasPrefix(p.rel, dir+"/") {
			continue
		}
		if slices.ContainsFunc(r.Findings, func(f snapshot.Finding) bool { return f.Code == abi.FindingSwitchedOff }) {
			return about(nil, "part of the plugin "+r.Key+", which is installed and switched off: "+agent+" loads nothing of it")
		}
		loaded = true
	}
	if loaded || p.isDir() && p.isLookedInto() {
		return facts{}, false
	}
	return about(nil, agent+" keeps plugins there, and loads those that are installed and switched on: this belongs to none of them, or to an old version")
}

// isUsers reports whether the root is a home directory.
func (p *pathInRoot) isUsers() bool {
	return slices.ContainsFunc(p.q.in.Snapshot.Resources, func(r snapshot.Resource) bool {
		return r.Scope == snapshot.ScopeUser && strings.HasPrefix(r.Source, p.fs.Path()+"/")
	})
}
