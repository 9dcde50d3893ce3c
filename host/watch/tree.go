package watch

import (
	"path/filepath"
	"slices"
	"strings"
)

// tree holds every directory that an owner asked for and all of its ancestors, whether or not
// they exist. It doesn't access the file system. It isn't safe for concurrent use.
type tree struct {
	nodes   map[string]*node
	owners  map[string]*subscription
	aliases map[string][]string        // other paths of the directories watched under a path
	dirty   []*node                    // to be checked, each with everything below it
	grown   map[*subscription]struct{} // the owners that asked for more than before
	pruned  bool                       // nodes were removed
}

// node is one directory.
type node struct {
	path     string
	parent   *node // nil: this is "/"
	children map[*node]struct{}
	wants    map[*subscription]want     // by owner, what it asked for here
	names    map[string][]*subscription // by name, the owners that asked for it
	any      []*subscription            // owners that asked for all names
	globs    map[string][]*subscription // by pattern, the owners that asked for matching names
	dirs     []*subscription            // owners that asked for the directories in it
	writers  int                        // number of owners that want writes in it
	dirty    bool                       // it is in tree.dirty
	lost     bool                       // with dirty: its watch may be gone
	gone     bool                       // it is no longer in the tree
}

// subscription is an owner with what it asked for.
type subscription struct {
	name  string
	given []Dir           // as given, to recognize an unchanged set
	wants map[string]want // the same by path
}

func newTree() tree {
	return tree{
		nodes:   map[string]*node{},
		owners:  map[string]*subscription{},
		aliases: map[string][]string{},
		grown:   map[*subscription]struct{}{},
	}
}

// at returns the node of a path, creating it and its ancestors if needed.
func (t *tree) at(path string) *node {
	if n := t.nodes[path]; n != nil {
		return n
	}
	n := &node{
		path: path, children: map[*node]struct{}{},
		wants: map[*subscription]want{}, names: map[string][]*subscription{}, globs: map[string][]*subscription{},
	}
	t.nodes[path] = n
	if up := filepath.Dir(path); up != path {
		n.parent = t.at(up)
		n.parent.children[n] = struct{}{}
	}
	t.mark(n, false)
	return n
}

// mark records that a node and everything below have to be checked.
func (t *tree) mark(n *node, lost bool) {
	if !n.dirty {
		n.dirty = true
		t.dirty = append(t.dirty, n)
	}
	n.lost = n.lost || lost
}

// markPath is mark, if there is such a node.
func (t *tree) markPath(path string, lost bool) {
	if n := t.nodes[path]; n != nil {
		t.mark(n, lost)
	}
}

// markAll has everything checked.
func (t *tree) markAll(lost bool) { t.markPath("/", lost) }

// prune removes a node that nobody needs from the tree, and such nodes above it.
func (t *tree) prune(n *node) {
	for n != nil && len(n.wants) == 0 && len(n.children) == 0 {
		n.gone, t.pruned = true, true
		delete(t.nodes, n.path)
		if n.parent != nil {
			delete(n.parent.children, n)
		}
		n = n.parent
	}
}

// hasWork reports whether there is anything for the keeper to do.
func (t *tree) hasWork() bool { return len(t.dirty) > 0 || t.pruned || len(t.grown) > 0 }

// dirtyDir is a node to inspect.
type dirtyDir struct {
	path   string
	target bool // an owner asked for it
	writes bool // writes in it matter
	lost   bool // its watch may be gone
}

// takeDirty returns and clears what has to be checked, parents before children.
func (t *tree) takeDirty() []dirtyDir {
	var dirs []dirtyDir
	var walk func(n *node, lost bool)
	walk = func(n *node, lost bool) {
		lost = lost || n.lost
		n.dirty, n.lost = false, false
		dirs = append(dirs, dirtyDir{path: n.path, target: len(n.wants) > 0, writes: n.writers > 0, lost: lost})
		for c := range n.children {
			walk(c, lost)
		}
	}
	for _, n := range t.dirty {
		if n.dirty && !n.gone {
			walk(n, false)
		}
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	slices.SortFunc(dirs, func(a, b dirtyDir) int { return strings.Compare(a.path, b.path) })
	// A node that was reached before its dirty ancestor occurs twice.
	once := dirs[:0]
	for _, p := range dirs {
		if last := len(once) - 1; last >= 0 && once[last].path == p.path {
			once[last].lost = once[last].lost || p.lost
			continue
		}
		once = append(once, p)
	}
	return once
}

// below calls f for the owners of a node and of everything below it.
func (n *node) below(f func(*subscription)) {
	for o := range n.wants {
		f(o)
	}
	for c := range n.children {
		c.below(f)
	}
}

// want is what an owner asked for in one directory.
type want struct {
	any    bool
	names  []string // sorted, without duplicates, and so are globs
	globs  []string
	dirs   bool
	writes bool // whether any name is more than a step on a path
}

// covers reports whether other asks for nothing new.
func (w want) covers(other want) bool {
	if other.writes && !w.writes {
		return false
	}
	if other.dirs && !w.dirs && !w.any {
		return false
	}
	if w.any || other.any {
		return w.any
	}
	return holds(w.names, other.names) && holds(w.globs, other.globs)
}

// holds reports whether a sorted list contains all names.
func holds(list, names []string) bool {
	for _, name := range names {
		if _, ok := slices.BinarySearch(list, name); !ok {
			return false
		}
	}
	return true
}

func (w want) equal(other want) bool {
	return w.any == other.any && w.dirs == other.dirs && w.writes == other.writes && slices.Equal(w.names, other.names) && slices.Equal(w.globs, other.globs)
}

// same reports whether two sets are the same, in the same order.
func same(a, b []Dir) bool {
	return slices.EqualFunc(a, b, func(a, b Dir) bool {
		return a.Path == b.Path && (a.Names == nil) == (b.Names == nil) && slices.Equal(a.Names, b.Names) &&
			slices.Equal(a.Globs, b.Globs) && slices.Equal(a.Through, b.Through) && a.Directories == b.Directories
	})
}

// wantsOf normalizes a set. It ignores relative paths.
func wantsOf(dirs []Dir) map[string]want {
	wants := make(map[string]want, len(dirs))
	for _, d := range dirs {
		if !filepath.IsAbs(d.Path) {
			continue
		}
		path := filepath.Clean(d.Path)
		w := wants[path]
		w.any = w.any || d.Names == nil
		w.names = append(append(w.names, d.Names...), d.Through...)
		w.globs = append(w.globs, d.Globs...)
		w.dirs = w.dirs || d.Directories
		w.writes = w.writes || d.Names == nil || len(d.Names) > 0 || len(d.Globs) > 0
		wants[path] = w
	}
	for path, w := range wants {
		slices.Sort(w.names)
		w.names = slices.Compact(w.names)
		slices.Sort(w.globs)
		w.globs = slices.Compact(w.globs)
		wants[path] = w
	}
	return wants
}

// set replaces what an owner asked for. It adds new nodes before it removes old ones, so that
// what stays keeps its place.
func (t *tree) set(o *subscription, dirs []Dir) {
	given := make([]Dir, len(dirs))
	for i, d := range dirs {
		given[i] = Dir{Path: d.Path, Names: slices.Clone(d.Names), Globs: slices.Clone(d.Globs), Through: slices.Clone(d.Through), Directories: d.Directories}
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
		wrote := n.writers > 0
		if had {
			n.remove(o)
		}
		n.add(o, w)
		if wrote != (n.writers > 0) {
			t.mark(n, false)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			n := t.nodes[path]
			wrote := n.writers > 0
			n.remove(o)
			if wrote && n.writers == 0 {
				t.mark(n, false)
			}
			t.prune(n)
		}
	}
	if len(now) == 0 {
		delete(t.grown, o)
	}
}

func (n *node) add(o *subscription, w want) {
	n.wants[o] = w
	if w.writes {
		n.writers++
	}
	if w.any {
		n.any = append(n.any, o)
	}
	if w.dirs {
		n.dirs = append(n.dirs, o)
	}
	for _, name := range w.names {
		n.names[name] = append(n.names[name], o)
	}
	for _, glob := range w.globs {
		n.globs[glob] = append(n.globs[glob], o)
	}
}

func (n *node) remove(o *subscription) {
	if n.wants[o].writes {
		n.writers--
	}
	isOwner := func(p *subscription) bool { return p == o }
	n.any = slices.DeleteFunc(n.any, isOwner)
	n.dirs = slices.DeleteFunc(n.dirs, isOwner)
	forget := func(from map[string][]*subscription, names []string) {
		for _, name := range names {
			if rest := slices.DeleteFunc(from[name], isOwner); len(rest) > 0 {
				from[name] = rest
			} else {
				delete(from, name)
			}
		}
	}
	forget(n.names, n.wants[o].names)
	forget(n.globs, n.wants[o].globs)
	delete(n.wants, o)
}
