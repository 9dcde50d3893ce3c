package watch

import (
	"path/filepath"
	"slices"
)

// want is what an owner asked for in one directory.
type want struct {
	any   bool
	names []string // sorted, each once
}

// covers reports whether other asks for nothing new.
func (w want) covers(other want) bool {
	if w.any || other.any {
		return w.any
	}
	for _, name := range other.names {
		if _, ok := slices.BinarySearch(w.names, name); !ok {
			return false
		}
	}
	return true
}

func (w want) equal(other want) bool { return w.any == other.any && slices.Equal(w.names, other.names) }

// same reports whether two sets are the same, in the same order.
func same(a, b []Dir) bool {
	return slices.EqualFunc(a, b, func(a, b Dir) bool {
		return a.Path == b.Path && (a.Names == nil) == (b.Names == nil) && slices.Equal(a.Names, b.Names)
	})
}

// wantsOf brings a set into order. A relative path means nothing here.
func wantsOf(dirs []Dir) map[string]want {
	wants := make(map[string]want, len(dirs))
	for _, d := range dirs {
		if !filepath.IsAbs(d.Path) {
			continue
		}
		path := filepath.Clean(d.Path)
		w := wants[path]
		w.any = w.any || d.Names == nil
		w.names = append(w.names, d.Names...)
		wants[path] = w
	}
	for path, w := range wants {
		slices.Sort(w.names)
		w.names = slices.Compact(w.names)
		wants[path] = w
	}
	return wants
}

// set replaces what an owner asked for. New nodes come before old ones go, so
// that what stays keeps its place.
func (t *tree) set(o *owned, dirs []Dir) {
	given := make([]Dir, len(dirs))
	for i, d := range dirs {
		given[i] = Dir{Path: d.Path, Names: slices.Clone(d.Names)}
	}
	before, now := o.wants, wantsOf(dirs)
	o.given, o.wants = given, now
	for path, w := range now {
		old, had := before[path]
		if had && old.equal(w) {
			continue
		}
		if !had || !old.covers(w) {
			t.grown[o] = struct{}{}
		}
		n := t.at(path)
		if had {
			n.remove(o)
		}
		n.add(o, w)
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			n := t.nodes[path]
			n.remove(o)
			t.prune(n)
		}
	}
	if len(now) == 0 {
		delete(t.grown, o)
	}
}

func (n *node) add(o *owned, w want) {
	n.wants[o] = w
	if w.any {
		n.any = append(n.any, o)
	}
	for _, name := range w.names {
		n.names[name] = append(n.names[name], o)
	}
}

func (n *node) remove(o *owned) {
	isOwner := func(p *owned) bool { return p == o }
	n.any = slices.DeleteFunc(n.any, isOwner)
	for _, name := range n.wants[o].names {
		if rest := slices.DeleteFunc(n.names[name], isOwner); len(rest) > 0 {
			n.names[name] = rest
		} else {
			delete(n.names, name)
		}
	}
	delete(n.wants, o)
}
