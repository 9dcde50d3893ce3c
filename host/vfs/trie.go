package vfs

// group says what a pattern is for; a trie can hold several groups.
type group uint8

const (
	groupReads group = 1 << iota
	groupNarrow
	groupExclude
	groupSecret
	groupMCP
)

// trie holds patterns by their segments. Matching goes down name by name with
// a state, so the cost of a name doesn't grow with its depth, and hardly with
// the number of patterns. Immutable once built.
type trie struct {
	top trieNode
}

type trieNode struct {
	names map[string]*trieNode
	globs []globEdge
	// deep is the node behind a "**"; it stays in the state for good, since
	// "**" takes any number of names.
	deep   *trieNode
	isDeep bool
	// ends are the groups with a pattern that ends here, below those with a
	// pattern that goes on.
	ends, below group
}

type globEdge struct {
	segment string
	glob    glob
	next    *trieNode
}

func (t *trie) insert(segments []string, g group) {
	n := &t.top
	for _, s := range segments {
		n.below |= g
		n = n.child(s)
	}
	n.ends |= g
	if n.isDeep {
		n.below |= g
	}
}

func (n *trieNode) child(segment string) *trieNode {
	if segment == "**" {
		if n.deep == nil {
			n.deep = &trieNode{isDeep: true}
		}
		return n.deep
	}
	if name, ok := literal(segment); ok {
		if n.names == nil {
			n.names = make(map[string]*trieNode)
		}
		if n.names[name] == nil {
			n.names[name] = &trieNode{}
		}
		return n.names[name]
	}
	for _, e := range n.globs {
		if e.segment == segment {
			return e.next
		}
	}
	next := &trieNode{}
	n.globs = append(n.globs, globEdge{segment: segment, glob: newGlob(segment), next: next})
	return next
}

// state is where the patterns stand after the names so far.
type state []*trieNode

// start is the state at the root directory.
func (t *trie) start() state { return state(nil).add(&t.top) }

func (s state) add(n *trieNode) state {
	for _, have := range s {
		if have == n {
			return s
		}
	}
	s = append(s, n)
	if n.deep != nil {
		s = s.add(n.deep)
	}
	return s
}

// step appends to dst, which must be empty, the state after one more name.
func (s state) step(dst state, name string) state {
	for _, n := range s {
		if n.isDeep {
			dst = dst.add(n)
		}
		if c := n.names[name]; c != nil {
			dst = dst.add(c)
		}
		for i := range n.globs {
			if e := &n.globs[i]; e.glob.match(name) {
				dst = dst.add(e.next)
			}
		}
	}
	return dst
}

// ends returns the groups that match the names so far.
func (s state) ends() (g group) {
	for _, n := range s {
		g |= n.ends
	}
	return g
}

// onWay returns the groups that match, or that can match something below.
func (s state) onWay() (g group) {
	for _, n := range s {
		g |= n.ends | n.below
	}
	return g
}
