package vfs

import (
	"slices"
	"strings"
)

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
	nodes []trieNode // the first is the top
}

// place is the place of a node in its trie. The top is nobody's child: 0 stands
// for none.
type place int32

type trieNode struct {
	names []nameEdge // in order of the names
	globs []globEdge
	// shorts are globs that only names with a tilde can match.
	shorts []globEdge
	// deep is the node behind a "**"; it stays in the state for good, since
	// "**" takes any number of names. It has no deep itself.
	deep   place
	isDeep bool
	// ends are the groups with a pattern that ends here, below those with a
	// pattern that goes on.
	ends, below group
}

type nameEdge struct {
	name string
	next place
}

type globEdge struct {
	glob glob
	next place
}

// named returns the node behind a literal name.
func (n *trieNode) named(name string) (next place) {
	low, high := 0, len(n.names)
	for low < high {
		mid := (low + high) / 2
		switch c := strings.Compare(n.names[mid].name, name); {
		case c == 0:
			return n.names[mid].next
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0
}

// trieBuilder makes a trie. It finds a segment below a node without looking at
// the others there.
type trieBuilder struct {
	nodes []trieNode
	edges map[edgeKey]place
	bytes int // of the segments
}

type edgeKey struct {
	from    place
	segment string // for a literal, the name that it matches, however it is spelled
	literal bool
	to      place // set for short: a segment may lead to several nodes then
}

func newTrieBuilder() *trieBuilder {
	return &trieBuilder{nodes: make([]trieNode, 1), edges: make(map[edgeKey]place)}
}

// insert adds a pattern.
func (b *trieBuilder) insert(segments []string, g group) {
	n := place(0)
	for _, s := range segments {
		n = b.child(n, s, g)
	}
	b.end(n, g)
}

func (b *trieBuilder) end(at place, g group) {
	n := &b.nodes[at]
	n.ends |= g
	if n.isDeep {
		n.below |= g
	}
}

// child returns the node behind a segment below another, and makes it if need
// be, for a pattern of a group.
func (b *trieBuilder) child(from place, segment string, g group) place {
	b.nodes[from].below |= g
	if segment == "**" {
		if b.nodes[from].isDeep {
			return from // ** next to ** means the same
		}
		if b.nodes[from].deep == 0 {
			next := b.node(segment)
			b.nodes[from].deep, b.nodes[next].isDeep = next, true
		}
		return b.nodes[from].deep
	}
	key := edgeKey{from: from, segment: segment}
	if name, ok := literal(segment); ok {
		key.segment, key.literal = name, true
	}
	next := b.edges[key]
	if next == 0 {
		next = b.node(segment)
		key.segment = strings.Clone(key.segment) // of a text that isn't kept otherwise
		b.edges[key] = next
		n := &b.nodes[from]
		if key.literal {
			n.names = append(n.names, nameEdge{key.segment, next})
		} else {
			n.globs = append(n.globs, globEdge{newGlob(key.segment), next})
		}
	}
	return next
}

// short adds another way from a node to one of its children, for names with a
// tilde only.
func (b *trieBuilder) short(from, to place, segment string) {
	key := edgeKey{from: from, segment: segment, to: to}
	if b.edges[key] == 0 {
		b.edges[key] = to
		b.nodes[from].shorts = append(b.nodes[from].shorts, globEdge{newGlob(segment), to})
	}
}

func (b *trieBuilder) node(segment string) place {
	b.nodes = append(b.nodes, trieNode{})
	b.bytes += len(segment)
	return place(len(b.nodes) - 1) //nolint:gosec // an allowance bounds it
}

// build returns the trie. The builder is of no use any more.
func (b *trieBuilder) build() *trie {
	t := &trie{nodes: slices.Clip(slices.Clone(b.nodes))}
	for i := range t.nodes {
		n := &t.nodes[i]
		slices.SortFunc(n.names, func(a, b nameEdge) int { return strings.Compare(a.name, b.name) })
		n.names, n.globs, n.shorts = slices.Clip(n.names), slices.Clip(n.globs), slices.Clip(n.shorts)
	}
	return t
}

// state is where the patterns of a trie stand after the names so far.
type state struct {
	nodes []place // each once
	// ends are the groups that match the names so far; onWay those, and those
	// that can match something below.
	ends, onWay group
}

// stepper moves states on from name to name, and counts what that costs. The
// cost of a step is linear in the nodes of the state and their edges, since it
// marks the nodes that it has reached. It belongs to one goroutine.
type stepper struct {
	marks []uint32 // by node: the round that reached it last
	round uint32

	// work is the number of units so far; beyond most, unless that is 0,
	// spent is set and every step ends in an empty state, which means nothing.
	work, most int64
	spent      bool
	// charge, unless nil, is told of units as they are used.
	charge  func(units int64)
	charged int64
}

// A unit of work is one node of a state, or one edge with a wildcard, or the
// comparison of so many pairs of bytes of a wildcard and a name.
const pairsPerUnit = 16

// chargeEvery is how many units may be used before they are charged: well
// below a millisecond.
const chargeEvery = 1 << 13

// begin begins a round, in which no node of t is marked.
func (p *stepper) begin(t *trie) {
	if len(p.marks) < len(t.nodes) {
		p.marks, p.round = make([]uint32, len(t.nodes)), 0
	}
	if p.round++; p.round == 0 {
		clear(p.marks)
		p.round = 1
	}
}

func (p *stepper) add(t *trie, s *state, at place) {
	for p.marks[at] != p.round {
		p.marks[at] = p.round
		n := &t.nodes[at]
		s.nodes = append(s.nodes, at)
		s.ends |= n.ends
		s.onWay |= n.ends | n.below
		if n.deep == 0 {
			return
		}
		at = n.deep
	}
}

// start is the state at the root directory.
func (p *stepper) start(t *trie) (s state) {
	if len(t.nodes) > 1 { // else there are no patterns
		p.begin(t)
		p.add(t, &s, 0)
	}
	return s
}

// begun is the state at a root directory of patterns that may begin above it:
// s is where they stand after the names there. What has ended by then counts
// for nothing.
func (p *stepper) begun(t *trie, s state) (begun state) {
	p.begin(t)
	for _, at := range s.nodes {
		if n := &t.nodes[at]; n.ends == 0 {
			p.marks[at] = p.round
			begun.nodes = append(begun.nodes, at)
			begun.onWay |= n.below
		}
	}
	p.add(t, &begun, 0)
	return begun
}

// step is the state after one more name. dst lends its memory.
func (p *stepper) step(t *trie, s, dst state, name string) state {
	dst = state{nodes: dst.nodes[:0]}
	if len(s.nodes) == 0 || p.spent {
		return dst
	}
	if cap(dst.nodes) == 0 {
		dst.nodes = make([]place, 0, len(s.nodes)+2)
	}
	p.begin(t)
	tilde := strings.IndexByte(name, '~') >= 0
	for _, at := range s.nodes {
		n := &t.nodes[at]
		p.use(1)
		if n.isDeep {
			p.add(t, &dst, at)
		}
		if next := n.named(name); next != 0 {
			p.add(t, &dst, next)
		}
		p.match(t, &dst, n.globs, name)
		if tilde {
			p.match(t, &dst, n.shorts, name)
		}
		if p.spent {
			return state{nodes: dst.nodes[:0]}
		}
	}
	return dst
}

func (p *stepper) match(t *trie, dst *state, edges []globEdge, name string) {
	for i := range edges {
		e := &edges[i]
		p.use(e.glob.cost(name))
		if e.glob.match(name) {
			p.add(t, dst, e.next)
		}
	}
}

func (p *stepper) use(units int64) {
	p.work += units
	if p.work-p.charged >= chargeEvery {
		p.settle()
	}
}

// settle charges what has been used since it was last charged.
func (p *stepper) settle() {
	units := p.work - p.charged
	p.charged = p.work
	p.spent = p.spent || p.most > 0 && p.work > p.most
	if p.charge != nil && units > 0 {
		p.charge(units)
	}
}
