// Package places walks the places of a table of conventions in one root.
//
// A table is turned into a tree of names once, when a module is initialized, which costs its
// runs nothing. A walk lists a directory and continues only in names that the tree has. A
// look at each of some hundred missing places would cost fifteen times as much as one listing
// of their parent.
//
// # Guarantees
//
// A file is reported once for each kind, for the first convention of the table that has it.
// Names are compared case-sensitively. Order is that of the names in each directory. Links to
// directories inside the root are followed, but not in circles.
//
// # Concurrency
//
// A Tree may be shared. A walk belongs to one goroutine.
//
// # Limits
//
// "**" goes 8 directories deep and looks into 2,000 directories, without .git and
// node_modules. If the configuration includes dependencies, it goes 24 deep.
package places

import (
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
)

const (
	maxDepth       = 8
	maxDirectories = 2000
	// maxClientDepth is the depth where places are walked as a program does that has no
	// bound of its own.
	maxClientDepth = 24
)

// SkillFile is the last name of a skill's place.
const SkillFile = "SKILL.md"

// Tree is a table made ready for walks.
type Tree struct {
	table []conventions.Convention
	root  *node
	loops int // how many nodes are there for "**"
	// dependencies has "**" look into node_modules, further down, and follow a link back
	// to a directory that it lies in, once.
	dependencies bool
	// first are the names that places begin with, in byte order; of a nested Tree alone.
	first []string
}

// depth is how many directories deep "**" goes.
func (t *Tree) depth() int {
	if t.dependencies {
		return maxClientDepth
	}
	return maxDepth
}

// node is a place up to some name.
type node struct {
	names map[string]*node
	globs []glob
	deep  *node // what may follow in this directory and in all below it
	loop  int   // of a deep node, its number, from 1
	// ends are the conventions whose place ends here, skills those of kind skill
	// whose SKILL.md lies here; by their index.
	ends, skills []int
}

// glob is a name with one star or more.
type glob struct {
	parts []string // what stands around the stars
	next  *node
}

// Compile makes a Tree of the rows of a table that have one of the kinds and one of the
// scopes. It keeps the table.
func Compile(table []conventions.Convention, kinds []abi.Kind, scopes ...conventions.Scope) *Tree {
	return compile(table, func(c *conventions.Convention) bool {
		return slices.Contains(kinds, c.Kind) && slices.Contains(scopes, c.Scope)
	})
}

// compileNested makes a Tree of the rows that are read below the top of a project, too.
// Their places begin with a name.
func compileNested(table []conventions.Convention, kinds []abi.Kind) *Tree {
	return compileFirst(table, func(c *conventions.Convention) bool {
		return slices.Contains(kinds, c.Kind) && c.Scope == conventions.ScopeProject && len(c.Nested) > 0
	})
}

// compileFirst makes a Tree that knows the names that its places begin with.
func compileFirst(table []conventions.Convention, counts func(*conventions.Convention) bool) *Tree {
	t := compile(table, counts)
	for name := range t.root.names {
		t.first = append(t.first, name)
	}
	slices.Sort(t.first)
	return t
}

func compile(table []conventions.Convention, counts func(*conventions.Convention) bool) *Tree {
	t := &Tree{table: table, root: &node{}}
	for i := range table {
		c := &table[i]
		if !counts(c) {
			continue
		}
		for _, place := range c.Places {
			t.add(i, c.Kind, place)
		}
	}
	return t
}

func (t *Tree) add(i int, kind abi.Kind, place string) {
	n := t.root
	names := strings.Split(place, "/")
	if kind == abi.KindSkill && names[len(names)-1] == SkillFile {
		n = t.down(n, names[:len(names)-1])
		n.skills = append(n.skills, i)
		return
	}
	n = t.down(n, names)
	n.ends = append(n.ends, i)
}

// down returns the node of a place, and makes it if there is none.
func (t *Tree) down(n *node, names []string) *node {
	for _, name := range names {
		n = t.child(n, name)
	}
	return n
}

func (t *Tree) child(n *node, name string) *node {
	switch {
	case name == "**":
		if n.deep == nil {
			t.loops++
			n.deep = &node{loop: t.loops}
		}
		return n.deep
	case strings.Contains(name, "*"):
		parts := strings.Split(name, "*")
		for _, g := range n.globs {
			if slices.Equal(g.parts, parts) {
				return g.next
			}
		}
		next := &node{}
		n.globs = append(n.globs, glob{parts, next})
		return next
	}
	if n.names == nil {
		n.names = map[string]*node{}
	}
	if n.names[name] == nil {
		n.names[name] = &node{}
	}
	return n.names[name]
}

// leads reports whether anything may lie below a directory here, but a SKILL.md.
func (n *node) leads() bool {
	return len(n.names) > 0 || len(n.globs) > 0 || n.deep != nil || n.loop > 0
}

func (g *glob) match(name string) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

const (
	// maxPattern is the ABI's bound for a pattern, in bytes; maxReads leaves room below
	// that for the patterns of a resolver.
	maxPattern = 1 << 10
	maxReads   = 240
)

// group is a list of places that differ in their first name alone.
type group struct {
	rest   string
	firsts []string
}

// Reads returns the patterns of what a walk may read. They are the places, as long as
// there are few enough of them; else those that differ in their first name alone become
// one pattern with braces, the largest groups first, and what lies at the top last.
func Reads(table []conventions.Convention, kinds []abi.Kind, scopes ...conventions.Scope) []string {
	groups, count := grouped(table, kinds, scopes)
	order := make([]*group, len(groups))
	for i := range groups {
		order[i] = &groups[i]
	}
	slices.SortStableFunc(order, func(a, b *group) int {
		if (a.rest == "") != (b.rest == "") {
			return strings.Compare(b.rest, a.rest)
		}
		return len(b.firsts) - len(a.firsts)
	})
	for _, g := range order {
		if count <= maxReads {
			break
		}
		count -= len(g.firsts)
		g.firsts = braced(g.firsts, maxPattern-len(g.rest)-1)
		count += len(g.firsts)
	}
	var reads []string
	for _, g := range groups {
		for _, first := range g.firsts {
			reads = append(reads, path.Join(first, g.rest))
		}
	}
	return reads
}

func grouped(table []conventions.Convention, kinds []abi.Kind, scopes []conventions.Scope) (groups []group, count int) {
	at := map[string]int{}
	for i := range table {
		c := &table[i]
		if !slices.Contains(kinds, c.Kind) || !slices.Contains(scopes, c.Scope) {
			continue
		}
		for _, place := range c.Places {
			first, rest, _ := strings.Cut(place, "/")
			if _, known := at[rest]; !known {
				at[rest] = len(groups)
				groups = append(groups, group{rest: rest})
			}
			if g := &groups[at[rest]]; !slices.Contains(g.firsts, first) {
				g.firsts = append(g.firsts, first)
				count++
			}
		}
	}
	return groups, count
}

// braced joins names, up to a length.
func braced(names []string, most int) (joined []string) {
	for len(names) > 0 {
		n, size := 0, len("{}")
		for n < len(names) && size+len(names[n])+1 <= most {
			size += len(names[n]) + 1
			n++
		}
		if n = max(n, 1); n == 1 {
			joined = append(joined, names[0])
		} else {
			joined = append(joined, "{"+strings.Join(names[:n], ",")+"}")
		}
		names = names[n:]
	}
	return joined
}

// Name is what a file is called that doesn't say so itself. Its path is relative to where
// the places begin.
func Name(c *conventions.Convention, p string) string {
	var name string
	switch c.Name {
	case conventions.FromField, conventions.FromFile:
		name = stem(path.Base(p))
	case conventions.FromDirectory:
		name = path.Base(path.Dir(p))
	case conventions.FromPath:
		dir, file := path.Split(rest(c, p))
		name = strings.ReplaceAll(dir, "/", ":") + stem(file)
	}
	return guest.Truncate(name, abi.MaxName)
}

// stem returns the name of a file up to its first dot that isn't the first character.
func stem(name string) string {
	if i := strings.IndexByte(name[min(1, len(name)):], '.'); i >= 0 {
		return name[:i+1]
	}
	return name
}

// rest returns what of a path follows the names that its place spells out: for
// .claude/commands/git/commit.md, git/commit.md.
func rest(c *conventions.Convention, p string) string {
	for _, place := range c.Places {
		fixed, _, found := strings.Cut(place, "*")
		if !found {
			continue
		}
		fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
		if rest, ok := strings.CutPrefix(p, fixed); ok {
			return rest
		}
	}
	return path.Base(p)
}
