package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"slices"

	"waymark/abi"
	"waymark/host/config"
	"waymark/host/plugin"
	"waymark/host/resolve"
	"waymark/host/vfs"
	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	"waymark/snapshot"
)

// findChildren looks for projects in those roots in scope that may contain some. For a scope
// near events it looks only if an event names an entry at the top of the root, or the .git of
// such an entry. The caller holds h.turn.
func (h *Host) findChildren(s scope) {
	for _, slot := range h.slots {
		if slot.open == nil || !slot.spec.Children || slot.open.File() != "" || h.config.children == config.ChildrenOff {
			if slot.children.known {
				slot.children = children{}
			}
			continue
		}
		if !s.covers(slot) || slot.children.known && !slot.children.concerned(slot.open.Path(), s.nearIn(slot)) {
			continue
		}
		before := slot.children
		found, err := slot.open.Projects(maxMaybeChildren)
		if err != nil { // the resolvers report it
			h.log.Debug("projects in a root weren't looked for", slog.Any("error", err))
		}
		c := children{known: true, looked: found.Looked, unasked: found.More, logged: before.logged}
		c.names = found.Names[:min(len(found.Names), maxChildren)]
		c.more = len(found.Names) - len(c.names)
		if problem := c.problem(slot.open.Path()); problem != c.logged {
			if c.logged = problem; problem != "" {
				h.log.Warn(problem)
			}
		}
		slot.children = c
	}
}

// adapt gives roots that need them resolvers of their own. The caller holds h.turn.
func (h *Host) adapt(s scope, used []usedRoot, resolvers []resolve.Resolver) error {
	for i := range used {
		u := &used[i]
		names := u.slot.children.names
		if u.root.Scope != snapshot.ScopeUser && len(names)+len(u.slot.nested.files) == 0 {
			u.slot.adapted = nil
			continue
		}
		if a := u.slot.adapted; a == nil || a.plugins != h.plugins || !slices.Equal(a.children, names) || !slices.Equal(a.nested, u.slot.nested.files) || !slices.Equal(a.installed, u.slot.installs.list) {
			list, err := h.adaptedTo(u, resolvers, names)
			if err != nil {
				return err
			}
			if u.slot.adapted, err = newAdapted(h.plugins, u.slot, list, u.root.Scope); err != nil {
				return err
			}
		}
		u.root.Resolvers = u.slot.adapted.resolvers
		if s.covers(u.slot) {
			u.root.Resolvers = u.slot.adapted.resolversFor(u.slot)
		}
	}
	return nil
}

func newAdapted(plugins *plugin.List, slot *rootSlot, resolvers []resolve.Resolver, scope snapshot.Scope) (*adapted, error) {
	a := &adapted{plugins: plugins, children: slot.children.names, nested: slot.nested.files, installed: slot.installs.list, resolvers: resolvers}
	if scope != snapshot.ScopeUser {
		return a, nil
	}
	view := vfs.View{MCPOnly: true} // only names are read, including those of settings files
	a.off = slices.Clone(resolvers)
	for i := range a.off {
		view.Reads = append(view.Reads, a.off[i].Places...)
		a.off[i].Off = true
	}
	var err error
	a.sees, err = view.Compile()
	return a, err
}

func (h *Host) adaptedTo(u *usedRoot, resolvers []resolve.Resolver, names []string) ([]resolve.Resolver, error) {
	list := slices.Clone(resolvers)
	for i := range list {
		r := &list[i]
		var err error
		switch {
		case u.root.Scope == snapshot.ScopeUser:
			err = h.forUser(r, u.slot.installs.list)
		case !r.DropIn:
			r.Children, r.ChildrenAlways = names, h.config.children == config.ChildrenAlways
			if slices.Contains(r.Info.Kinds, abi.KindInstructionFile) {
				r.Nested = u.slot.nested.files
			}
			for _, file := range r.Nested {
				r.Places = append(slices.Clip(r.Places), vfs.LiteralPattern(file))
			}
			r.Config, err = edited(r, func(config map[string]any) {
				if len(names) > 0 {
					config["children"] = names
				}
				if len(r.Nested) > 0 {
					config["nested"] = r.Nested
				}
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// forUser restricts a resolver to the places that the table has for users, which is all it
// may see of a home directory. Dropped-in modules are for workspaces only.
func (h *Host) forUser(r *resolve.Resolver, plugins []installed.Plugin) (err error) {
	r.Info.Reads, r.Info.ReadsFromConfig, r.Places = nil, nil, nil
	if r.Off = r.DropIn; r.Off {
		return nil
	}
	r.Config, err = edited(r, func(config map[string]any) {
		config["scope"] = string(conventions.ScopeUser)
		delete(config, "file_names") // they apply to the top of a project
		delete(config, "more_file_names")
		if len(plugins) > 0 {
			config["plugins"] = installed.Rows(plugins)
		}
		own, _ := config["conventions"].([]any)
		own = slices.DeleteFunc(own, func(row any) bool {
			fields, _ := row.(map[string]any)
			return fields["scope"] != string(conventions.ScopeUser)
		})
		if delete(config, "conventions"); len(own) > 0 {
			config["conventions"] = own
		}
	})
	if r.Places = placesIn(plugins); slices.Contains(r.Info.Kinds, abi.KindPlugin) {
		r.Places = append(r.Places, listsOf(plugins)...) // so that what the lists name is reported as installed
	}
	names := h.opts.BuiltinNames[r.Info.Name]
	for _, table := range [][]conventions.Convention{conventions.All, h.config.conventions.Own} {
		for i := range table {
			c := &table[i]
			if c.Scope != conventions.ScopeUser || !slices.Contains(r.Info.Kinds, c.Kind) {
				continue
			}
			for _, place := range c.Places {
				if to, renamed := names[path.Base(place)]; renamed {
					place = path.Join(path.Dir(place), vfs.LiteralPattern(to))
				}
				if !slices.Contains(r.Places, place) {
					r.Places = append(r.Places, place)
				}
			}
		}
	}
	return err
}

// edited returns a resolver's configuration after change was applied to it.
func edited(r *resolve.Resolver, change func(config map[string]any)) ([]byte, error) {
	object := map[string]any{}
	if len(r.Config) > 0 {
		dec := json.NewDecoder(bytes.NewReader(r.Config))
		dec.UseNumber() // a float64 has 53 bits
		if err := dec.Decode(&object); err != nil {
			return nil, fmt.Errorf("the configuration of %s: %w", r.ID(), err)
		}
	}
	change(object)
	return json.Marshal(object)
}
