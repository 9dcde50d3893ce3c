package vfs

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
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

// trie holds patterns by their segments. Matching goes down name by name with a state, so the
// cost of a name doesn't grow with its depth, and hardly with the number of patterns. A trie
// is immutable once built.
type trie struct {
	nodes []trieNode // the first is the top
}

// nodeID is the index of a node in its trie. The top is nobody's child, so 0 means none.
type nodeID int32

type trieNode struct {
	names []nameEdge // in order of the names
	globs []globEdge
	// shorts are globs that only names with a tilde can match.
	shorts []globEdge
	// deep is the node behind a "**". It stays in the state for good, because "**" takes any
	// number of names. It has no deep itself.
	deep   nodeID
	isDeep bool
	// ends are the groups with a pattern that ends here, below those with a longer pattern.
	ends, below group
}

type nameEdge struct {
	name string
	next nodeID
}

type globEdge struct {
	glob glob
	next nodeID
}

// named returns the node behind a literal name.
func (n *trieNode) named(name string) (next nodeID) {
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

// trieBuilder builds a trie. It finds a segment below a node without looking at its siblings.
type trieBuilder struct {
	nodes []trieNode
	edges map[edgeKey]nodeID
	bytes int // of the segments
}

type edgeKey struct {
	from    nodeID
	segment string // for a literal: the name that it matches, however spelled
	literal bool
	to      nodeID // set for short, where a segment may lead to several nodes
}

func newTrieBuilder() *trieBuilder {
	return &trieBuilder{nodes: make([]trieNode, 1), edges: make(map[edgeKey]nodeID)}
}

// insert adds a pattern.
func (b *trieBuilder) insert(segments []string, g group) {
	n := nodeID(0)
	for _, s := range segments {
		n = b.child(n, s, g)
	}
	b.end(n, g)
}

func (b *trieBuilder) end(at nodeID, g group) {
	n := &b.nodes[at]
	n.ends |= g
	if n.isDeep {
		n.below |= g
	}
}

// child returns the node behind a segment below another, and creates it if needed, for a
// pattern of a group.
func (b *trieBuilder) child(from nodeID, segment string, g group) nodeID {
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
		key.segment = strings.Clone(key.segment) // don't retain the whole pattern
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

// short adds another edge from a node to one of its children, for names with a tilde only.
func (b *trieBuilder) short(from, to nodeID, segment string) {
	key := edgeKey{from: from, segment: segment, to: to}
	if b.edges[key] == 0 {
		b.edges[key] = to
		b.nodes[from].shorts = append(b.nodes[from].shorts, globEdge{newGlob(segment), to})
	}
}

func (b *trieBuilder) node(segment string) nodeID {
	b.nodes = append(b.nodes, trieNode{})
	b.bytes += len(segment)
	return nodeID(len(b.nodes) - 1) //nolint:gosec // an allowance bounds it
}

// build returns the trie. The builder can't be used afterwards.
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
	nodes []nodeID // without duplicates
	// ends are the groups that match the names so far; viable adds those that can match
	// something below.
	ends, viable group
}

// matcher advances states name by name, and counts the cost. The cost of a step is linear in
// the nodes of the state and their edges, because it marks the nodes that it has reached. It
// belongs to one goroutine.
type matcher struct {
	marks []uint32 // by node: the last round that reached it
	round uint32

	// work is the number of units used so far. If it exceeds most, unless that is 0, spent is
	// set and every step returns an empty, meaningless state.
	work, most int64
	spent      bool
	// charge, unless nil, is called with units as they are used.
	charge  func(units int64)
	charged int64
}

// A unit of work is one node of a state, one edge with a wildcard, or the comparison of this
// many pairs of bytes of a wildcard and a name.
const pairsPerUnit = 16

// chargeEvery is how many units may be used before they are charged: well below a
// millisecond.
const chargeEvery = 1 << 13

// begin begins a round, in which no node of t is marked.
func (p *matcher) begin(t *trie) {
	if len(p.marks) < len(t.nodes) {
		p.marks, p.round = make([]uint32, len(t.nodes)), 0
	}
	if p.round++; p.round == 0 {
		clear(p.marks)
		p.round = 1
	}
}

func (p *matcher) add(t *trie, s *state, at nodeID) {
	for p.marks[at] != p.round {
		p.marks[at] = p.round
		n := &t.nodes[at]
		s.nodes = append(s.nodes, at)
		s.ends |= n.ends
		s.viable |= n.ends | n.below
		if n.deep == 0 {
			return
		}
		at = n.deep
	}
}

// start returns the state at the root directory.
func (p *matcher) start(t *trie) (s state) {
	if len(t.nodes) > 1 { // otherwise there are no patterns
		p.begin(t)
		p.add(t, &s, 0)
	}
	return s
}

// restart adds to a state the beginnings of all patterns.
func (p *matcher) restart(t *trie, s state) state {
	if len(t.nodes) > 1 { // otherwise there are no patterns
		p.begin(t)
		for _, at := range s.nodes {
			p.marks[at] = p.round
		}
		p.add(t, &s, 0)
	}
	return s
}

// begun returns the state, at a root directory, of patterns that began above it; s is their
// state after the names there. Patterns that have ended by then don't count.
func (p *matcher) begun(t *trie, s state) (begun state) {
	p.begin(t)
	for _, at := range s.nodes {
		if n := &t.nodes[at]; n.ends == 0 {
			p.marks[at] = p.round
			begun.nodes = append(begun.nodes, at)
			begun.viable |= n.below
		}
	}
	p.add(t, &begun, 0)
	return begun
}

// step returns the state after one more name. It reuses dst's memory.
func (p *matcher) step(t *trie, s, dst state, name string) state {
	dst = state{nodes: dst.nodes[:0]}
	if len(s.nodes) == 0 || p.spent {
		return dst
	}
	if cap(dst.nodes) == 0 {
		dst.nodes = make([]nodeID, 0, len(s.nodes)+2)
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

func (p *matcher) match(t *trie, dst *state, edges []globEdge, name string) {
	for i := range edges {
		e := &edges[i]
		p.use(e.glob.cost(name))
		if e.glob.match(name) {
			p.add(t, dst, e.next)
		}
	}
}

func (p *matcher) use(units int64) {
	p.work += units
	if p.work-p.charged >= chargeEvery {
		p.settle()
	}
}

// settle charges for the units used since the last charge.
func (p *matcher) settle() {
	units := p.work - p.charged
	p.charged = p.work
	p.spent = p.spent || p.most > 0 && p.work > p.most
	if p.charge != nil && units > 0 {
		p.charge(units)
	}
}

// glob matches one name.
type glob struct {
	segment string
	// star is the index of the only star if nothing else is special, else -1.
	star int
}

func newGlob(segment string) glob {
	if i := strings.IndexByte(segment, '*'); i >= 0 && !strings.ContainsAny(segment[:i]+segment[i+1:], `*?[\`) {
		return glob{segment, i}
	}
	return glob{segment, -1}
}

// match takes at most as many comparisons as the product of the lengths: a segment has no
// braces, and only its last star may have to be retried.
func (g *glob) match(name string) bool {
	if g.star >= 0 {
		return len(name) >= len(g.segment)-1 &&
			strings.HasPrefix(name, g.segment[:g.star]) && strings.HasSuffix(name, g.segment[g.star+1:])
	}
	return doublestar.MatchUnvalidated(g.segment, name)
}

// cost returns the most that match takes, in units of work.
func (g *glob) cost(name string) int64 {
	if g.star >= 0 {
		return 1
	}
	return 1 + int64(len(g.segment))*int64(len(name))/pairsPerUnit
}

// literal returns the one name that a segment matches, if it isn't a glob.
func literal(segment string) (name string, ok bool) {
	if !strings.ContainsAny(segment, `*?[\`) {
		return segment, true
	}
	if strings.ContainsAny(segment, `*?[`) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		if segment[i] == '\\' {
			i++
		}
		b.WriteByte(segment[i])
	}
	return b.String(), true
}

// oneStar merges adjacent stars inside a name, where they mean the same.
func oneStar(segment string) string {
	if segment == "**" || !strings.Contains(segment, "**") {
		return segment
	}
	var b strings.Builder
	from, star := 0, -2
	scanPattern(segment, func(i int) bool {
		if segment[i] == '*' {
			if i == star+1 {
				b.WriteString(segment[from:i])
				from = i + 1
			}
			star = i
		}
		return true
	})
	b.WriteString(segment[from:])
	return b.String()
}
