package watch

import (
	"path/filepath"
	"slices"
	"strings"
)

// tree holds every directory that an owner asked for and all on the way to
// it, whether they exist or not. It knows nothing of the file system. Not
// safe for concurrent use.
type tree struct {
	nodes   map[string]*node
	owners  map[string]*owned
	aliases map[string][]string // other paths of the directories watched under a path
	dirty   []*node             // what has to be looked at, each with all below it
	grown   map[*owned]struct{} // the owners that asked for more than before
	pruned  bool                // nodes have gone
}

// node is one directory.
type node struct {
	path     string
	parent   *node // nil: this is "/"
	children map[*node]struct{}
	wants    map[*owned]want     // who asked for it
	names    map[string][]*owned // who asked for which name in it
	any      []*owned            // who asked for all names in it
	dirty    bool                // it is in tree.dirty
	lost     bool                // with dirty: whatever watch it had may be gone
	gone     bool                // it is no longer in the tree
}

// owned is an owner with what it asked for.
type owned struct {
	name  string
	given []Dir           // as given, to see that a set is unchanged
	wants map[string]want // the same by path
}

func newTree() tree {
	return tree{
		nodes:   map[string]*node{},
		owners:  map[string]*owned{},
		aliases: map[string][]string{},
		grown:   map[*owned]struct{}{},
	}
}

// at returns the node of a path, making it and those on the way to it.
func (t *tree) at(path string) *node {
	if n := t.nodes[path]; n != nil {
		return n
	}
	n := &node{
		path: path, children: map[*node]struct{}{},
		wants: map[*owned]want{}, names: map[string][]*owned{},
	}
	t.nodes[path] = n
	if up := filepath.Dir(path); up != path {
		n.parent = t.at(up)
		n.parent.children[n] = struct{}{}
	}
	t.mark(n, false)
	return n
}

// mark notes that a node and all below have to be looked at.
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

// markAll has everything looked at.
func (t *tree) markAll(lost bool) { t.markPath("/", lost) }

// prune takes a node that nobody needs out of the tree, and those on the way
// to it.
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

// asks reports whether there is anything for the keeper to do.
func (t *tree) asks() bool { return len(t.dirty) > 0 || t.pruned || len(t.grown) > 0 }

// place is a node to look at.
type place struct {
	path   string
	target bool // an owner asked for it
	lost   bool // whatever watch it had may be gone
}

// takeDirty returns what has to be looked at, parents before their children,
// and forgets it.
func (t *tree) takeDirty() []place {
	var places []place
	var walk func(n *node, lost bool)
	walk = func(n *node, lost bool) {
		lost = lost || n.lost
		n.dirty, n.lost = false, false
		places = append(places, place{path: n.path, target: len(n.wants) > 0, lost: lost})
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
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	// A node that was reached before its dirty ancestor is there twice.
	once := places[:0]
	for _, p := range places {
		if last := len(once) - 1; last >= 0 && once[last].path == p.path {
			once[last].lost = once[last].lost || p.lost
			continue
		}
		once = append(once, p)
	}
	return once
}

// below calls f for the owners of a node and of all below it.
func (n *node) below(f func(*owned)) {
	for o := range n.wants {
		f(o)
	}
	for c := range n.children {
		c.below(f)
	}
}
