package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"waymark/host/plugin/approvals"
	"waymark/snapshot"
)

// refusal is why a version isn't used, or not yet.
type refusal struct {
	state snapshot.PluginState
	text  string
	waits *approvals.Pending
}

// arrange puts the list of modules together: the built-in one, then the files
// in order. Of several modules of one name the first one is used. Of a file the
// newest version is used, else the one that was used before. Unless hopeful, a
// version that isn't known to work counts as being compiled.
func (h *Host) arrange(opts *Options, hopeful bool) []*plugin {
	var list []*plugin
	a := arranger{h, opts, hopeful, map[string]string{}}
	add := func(p *plugin) {
		if p.module != nil {
			a.names[p.state.Name] = p.state.Path
		}
		list = append(list, p)
	}
	if h.builtin != nil {
		add(h.builtin)
	}
	for _, place := range h.shelf.places {
		if place.err != nil {
			add(rejected(place.dir, place.err))
		}
		for _, f := range place.files {
			if f.newest != nil {
				add(a.choose(f))
			}
		}
	}
	for _, f := range h.shelf.held {
		if f.used == nil {
			continue // another file has taken its place
		}
		if p, _ := a.use(f, f.used); p != nil {
			add(p)
		}
	}
	return list
}

// arranger makes rows, one after the other.
type arranger struct {
	host    *Host
	opts    *Options
	hopeful bool
	names   map[string]string // of modules, that are taken, by which path
}

// choose makes the row of a file.
func (a *arranger) choose(f *pluginFile) *plugin {
	p, no := a.use(f, f.newest)
	if p != nil {
		return p
	}
	var untrusted untrustedError
	if f.used != nil && f.used != f.newest && !errors.As(f.newest.err, &untrusted) {
		if p, _ := a.use(f, f.used); p != nil {
			no.beside(p, f)
			return p
		}
	}
	p = &plugin{state: stateOf(f.path, f.newest), file: f, version: f.newest, waits: no.waits}
	p.state.State, p.state.Error = no.state, no.text
	return p
}

// beside tells, in the row of the version that is used, of the newer one.
func (no *refusal) beside(p *plugin, f *pluginFile) {
	base, serves := filepath.Base(f.path), "version "+p.state.Version+" serves until "
	switch no.state {
	case snapshot.PluginCompiling:
		p.noteState = no.state
		p.note = fmt.Sprintf("the new version of %s is being compiled; %sthen", base, serves)
	case snapshot.PluginNeedsApproval:
		p.noteState, p.waits = no.state, no.waits
		p.waits.ServingVersion, p.waits.ServingDigest = p.state.Version, p.state.Digest
		p.note = fmt.Sprintf("the new version of %s waits: %s; %sthen", base, no.text, serves)
	default:
		p.note = fmt.Sprintf("the new version of %s is not used: %s; %sthe file is mended", base, no.text, serves)
	}
}

// arrangeReady is arrange, hopefully, with all modules loaded that are new to
// the list and that need says so of. What can't be loaded isn't used, and the
// rest is arranged anew.
func (h *Host) arrangeReady(ctx context.Context, opts *Options, need func(*plugin) bool, check bool) ([]*plugin, error) {
	for {
		list := h.arrange(opts, true)
		again := false
		for _, p := range list {
			if p.module == nil || p.file == nil {
				continue
			}
			if !h.inUse(p.module) && need(p) {
				if err := h.makeReady(ctx, p, check); err != nil {
					return nil, err
				}
			}
			p.version.ok = p.version.err == nil
			again = again || !p.version.ok
		}
		if !again {
			return list, nil
		}
	}
}

// inUse reports whether the list that is in force has a module.
func (h *Host) inUse(hd *handle) bool {
	return slices.ContainsFunc(h.plugins, func(p *plugin) bool { return p.module == hd })
}

// describeAll finds out what all modules are that were taken and not judged
// yet.
func (h *Host) describeAll(ctx context.Context, opts *Options) error {
	for _, place := range h.shelf.places {
		for _, f := range place.files {
			if f.newest == nil || !f.newest.pending() {
				continue
			}
			if err := h.describe(ctx, opts, f); err != nil {
				return err
			}
		}
	}
	return nil
}
