package places

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// Visitor is told what a walk finds.
type Visitor interface {
	// File is called for what isn't a directory, nor surely a link to one.
	File(c *conventions.Convention, p string)
	// Skill is called for a directory in which a SKILL.md may lie, or a link that may
	// lead to one, and reports whether it is a skill, in which no others lie.
	Skill(c *conventions.Convention, dir string, entry fs.DirEntry) bool
	// Unreadable is called for a directory that exists and can't be listed, with the first
	// convention of what would lie there; nil where the walk itself ends.
	Unreadable(c *conventions.Convention, dir string, err error)
	// Skip reports whether a convention is switched off.
	Skip(c *conventions.Convention) bool
}

// Walk walks a root. Where base isn't empty the root itself lies there, as ~/.claude
// lies below the home directory that places are relative to.
func (t *Tree) Walk(root fs.FS, base string, v Visitor) {
	from := t.root
	for name := range strings.SplitSeq(base, "/") {
		if name == "" {
			continue
		}
		if from = from.names[name]; from == nil {
			return
		}
	}
	w := walk{tree: t, root: root, visitor: v}
	w.directory("", enter(nil, from))
}

// walkIn walks a directory below the root as if it were the root, with what other walks
// have left of the bounds.
func (t *Tree) walkIn(root fs.FS, dir string, v Visitor, of *usage) {
	w := walk{tree: t, root: root, visitor: &bounded{visitor: v, usage: of}, usage: *of}
	w.directory(dir, enter(nil, t.root))
	of.directories, of.entries, of.linked, of.cut = w.directories, w.entries, w.linked, of.cut || w.cut
}

// maxBounded is what a bounded visitor is told of: files of the largest size that a host
// keeps stay within what a run may read then, with room for those of the root.
const maxBounded = 800

// bounded tells a visitor of so much and no more.
type bounded struct {
	visitor Visitor
	usage   *usage
}

// take reports whether there is room for another find, and says once that there isn't.
func (b *bounded) take(p string) bool {
	if b.usage.found < maxBounded {
		b.usage.found++
		return true
	}
	if !b.usage.cut {
		b.usage.cut = true
		b.visitor.Unreadable(nil, p, errTooMany)
	}
	return false
}

func (b *bounded) File(c *conventions.Convention, p string) {
	if b.take(p) {
		b.visitor.File(c, p)
	}
}

func (b *bounded) Skill(c *conventions.Convention, dir string, entry fs.DirEntry) bool {
	return !b.take(dir) || b.visitor.Skill(c, dir, entry)
}

func (b *bounded) Unreadable(c *conventions.Convention, dir string, err error) {
	if c == nil || b.take(dir) {
		b.visitor.Unreadable(c, dir, err)
	}
}

func (b *bounded) Skip(c *conventions.Convention) bool { return b.visitor.Skip(c) }

// walkBelow walks a directory below the root as if places began there, in a Tree of nested
// rows. It looks their first names up and doesn't list the directory: one of source code
// may hold thousands of others.
func (t *Tree) walkBelow(root fs.FS, dir string, v Visitor) {
	w := walk{tree: t, root: root, visitor: v}
	w.below(dir, nil)
}

// walkPlugin is walkBelow for a plugin: without some names, and with paths that stand for
// one of the names.
func (t *Tree) walkPlugin(root fs.FS, dir string, paths map[string][]string, without []string, v Visitor) {
	w := walk{tree: t, root: root, visitor: v}
	for _, name := range t.first {
		states := w.step(nil, enter(nil, t.root), name, true)
		for _, p := range paths[name] {
			w.instead(p, states)
		}
	}
	w.below(dir, without)
	if len(t.root.skills) > 0 && len(paths[skills]) == 0 && !slices.Contains(without, skills) {
		w.alone(dir)
	}
}

// skills is where the skills of a plugin usually are.
const skills = "skills"

// alone looks at the directory of a plugin as that of its one skill, where it has no others.
func (w *walk) alone(dir string) {
	if _, err := fs.Lstat(w.root, path.Join(dir, skills)); err == nil {
		return
	}
	skill := w.first(none, w.tree.root.skills)
	if skill == none {
		return
	}
	if info, err := fs.Stat(w.root, dir); err == nil && info.IsDir() {
		w.visitor.Skill(&w.tree.table[skill], dir, entryOf(dir, info))
	}
}

// entryOf is the entry of a directory, which is nil for the root: that has no name of its
// own.
func entryOf(dir string, info fs.FileInfo) fs.DirEntry {
	if dir == "." {
		return nil
	}
	return fs.FileInfoToDirEntry(info)
}

// instead looks at a path as if it were the directory of some nodes, or one of the files
// or skills in it.
func (w *walk) instead(p string, states []at) {
	info, err := fs.Stat(w.root, p)
	if err != nil {
		return
	}
	e := entryOf(p, info)
	if !info.IsDir() {
		w.file(p, states)
		for _, s := range states {
			w.each(s.node, func(n *node) { w.file(p, []at{{node: n}}) })
		}
		return
	}
	skill := none
	for _, s := range states {
		w.each(s.node, func(n *node) { skill = w.first(skill, n.skills) })
	}
	if skill == none || !w.visitor.Skill(&w.tree.table[skill], p, e) {
		w.directory(p, states)
	}
}

// each calls a function for the nodes of what lies in a directory.
func (w *walk) each(n *node, do func(*node)) {
	for i := range n.globs {
		do(n.globs[i].next)
	}
	if n.deep != nil {
		for i := range n.deep.globs {
			do(n.deep.globs[i].next)
		}
	}
	for _, next := range n.names {
		do(next)
	}
}

func (w *walk) below(dir string, without []string) {
	t, root, v := w.tree, w.root, w.visitor
	start := enter(nil, t.root)
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	for _, name := range t.first {
		if slices.Contains(without, name) {
			continue
		}
		info, err := fs.Lstat(root, prefix+name)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue
			}
			v.Unreadable(nil, dir, err) // the others can't be looked at either
			return
		}
		e := fs.FileInfoToDirEntry(info)
		below := !e.Type().IsRegular()
		if next := w.step(nil, start, name, below); len(next) > 0 {
			w.entry(prefix, e, below, next)
		}
	}
}

// File reports a root that is one file, whose name is given.
func (t *Tree) File(name string, v Visitor) {
	w := walk{tree: t, visitor: v}
	w.file(name, w.step(nil, enter(nil, t.root), name, false))
}

// at is a node, and how many directories "**" has gone down to it.
type at struct {
	*node
	depth int
}

// usage is what walks have taken of their bounds.
type usage struct {
	// directories and entries are what was listed in all, linked the links to directories.
	directories, entries, linked int
	found                        int  // what a bounded visitor was told of
	cut                          bool // it was too much, and that was said
}

type walk struct {
	tree    *Tree
	root    fs.FS
	visitor Visitor
	looked  []int // directories looked into, by loop
	usage
	links []string       // the real paths of the links followed down to here
	back  map[string]int // how often links were followed to where they may lead back
}

// directory looks at the entries of a directory, which is "" for the root.
func (w *walk) directory(dir string, states []at) {
	name := dir
	if dir == "" {
		name = "."
	}
	if w.spent(states) {
		w.tooMany(name)
		return
	}
	if w.directories++; w.directories > maxWalked || w.entries > maxEntries {
		w.tooMany(name)
		return
	}
	entries, err := fs.ReadDir(w.root, name)
	w.entries += len(entries)
	if err != nil {
		if !absent(w.root, name, err) {
			first := none
			for _, s := range states {
				first = w.firstBelow(first, s.node)
			}
			if first != none {
				w.visitor.Unreadable(&w.tree.table[first], name, err)
			}
		}
		return
	}
	if dir != "" {
		dir += "/"
	}
	var next []at
	for _, e := range entries {
		below := !e.Type().IsRegular()
		next = w.step(next[:0], states, e.Name(), below)
		if len(next) > 0 {
			w.entry(dir, e, below, next)
		}
	}
}

// absent reports whether there is no directory, and nothing wrong with that.
func absent(root fs.FS, name string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	info, statErr := fs.Stat(root, name)
	return statErr == nil && !info.IsDir()
}

// spent counts a directory for each "**" that it belongs to.
func (w *walk) spent(states []at) bool {
	left := false
	for _, s := range states {
		if s.loop == 0 {
			left = true
			continue
		}
		if w.looked == nil {
			w.looked = make([]int, w.tree.loops+1)
		}
		w.looked[s.loop]++
		left = left || w.looked[s.loop] <= maxDirectories
	}
	return !left
}

// step appends the nodes that a name leads to.
func (w *walk) step(next, states []at, name string, below bool) []at {
	for _, s := range states {
		if n := s.names[name]; n != nil {
			next = enter(next, n)
		}
		for i := range s.globs {
			if g := &s.globs[i]; g.match(name) {
				next = enter(next, g.next)
			}
		}
		if s.loop > 0 && below && s.depth < w.tree.depth() && name != ".git" && (name != "node_modules" || w.tree.dependencies) {
			next = append(next, at{s.node, s.depth + 1})
		}
	}
	return next
}

// enter adds a node, and what "**" begins in it.
func enter(next []at, n *node) []at {
	next = append(next, at{node: n})
	if n.deep != nil {
		next = append(next, at{node: n.deep})
	}
	return next
}

// entry looks at one name that the tree has.
func (w *walk) entry(dir string, e fs.DirEntry, below bool, states []at) {
	p := dir + e.Name()
	if !below {
		w.file(p, states)
		return
	}
	leads, ends, skill := false, false, none
	for _, s := range states {
		leads = leads || s.leads()
		ends = ends || len(s.ends) > 0
		skill = w.first(skill, s.skills)
	}
	if skill != none && w.visitor.Skill(&w.tree.table[skill], p, e) {
		return
	}
	link := e.Type()&fs.ModeSymlink != 0
	if ends && !e.IsDir() && (!leads || !link || !isDir(w.root, p)) {
		w.file(p, states)
		return // it is said once of a link that it leads nowhere
	}
	if leads && (e.IsDir() || link) {
		w.enter(p, link, states)
	}
}

func isDir(root fs.FS, p string) bool {
	info, err := fs.Stat(root, p)
	return err == nil && info.IsDir()
}

// enter looks into a directory. "**" doesn't follow a link back to one that it lies in,
// and of the links to such a directory only the first is followed at all: what the others
// lead to is the same, and a hundred of them would be a hundred times as much to look at.
// Programs that look into node_modules follow a link back, too: there it is followed once.
func (w *walk) enter(p string, link bool, states []at) {
	states = append([]at(nil), states...) // the caller uses its own again
	if link {
		if w.linked++; w.linked > maxLinked {
			w.tooMany(p)
			return
		}
		target := RealPath(w.root, p)
		if slices.Contains(w.links, target) || strings.HasPrefix(RealPath(w.root, path.Dir(p))+"/", target+"/") || target == "." {
			if w.followed(target) > 0 {
				return
			}
			if !w.tree.dependencies {
				states = slices.DeleteFunc(states, func(s at) bool { return s.loop > 0 || s.deep != nil })
			}
		}
		if isAbsolute(w.root, p) && w.followed(target) >= maxAbsolute {
			return // it may lead back as well: where a host's path lies can't be known here
		}
		w.links = append(w.links, target)
		defer func() { w.links = w.links[:len(w.links)-1] }()
	}
	for _, s := range states {
		if s.leads() {
			w.directory(p, states)
			return
		}
	}
}

// maxWalked, maxEntries and maxLinked bound what a walk looks at, whatever links there are. Nobody has
// so many directories of rules; a link back, of which a guest can't know it, leads to
// all of them again by each place.
const (
	maxWalked  = 3000
	maxEntries = 20_000
	maxLinked  = 256 // links to directories
)

var errTooMany = errors.New("too many directories are reached where agents look, also by links: it and what follows aren't looked into")

// maxAbsolute is how many absolute links to one place are followed.
const maxAbsolute = 8

// tooMany says once that a walk has ended early.
func (w *walk) tooMany(at string) {
	if !w.cut {
		w.cut = true
		w.visitor.Unreadable(nil, at, errTooMany)
	}
}

// followed counts the links that have been followed to a place before, and this one.
func (w *walk) followed(target string) (before int) {
	if w.back == nil {
		w.back = map[string]int{}
	}
	before = w.back[target]
	w.back[target]++
	return before
}

func isAbsolute(root fs.FS, p string) bool {
	links, ok := root.(fs.ReadLinkFS)
	if !ok {
		return false
	}
	target, err := links.ReadLink(p)
	return err == nil && path.IsAbs(target)
}

// firstBelow returns the first convention that counts of what may lie in a node's directory, or
// one before that.
func (w *walk) firstBelow(before int, n *node) int {
	before = w.first(w.first(before, n.ends), n.skills)
	w.each(n, func(next *node) { before = w.firstBelow(before, next) })
	if n.deep != nil {
		before = w.firstBelow(before, n.deep)
	}
	return before
}

// file reports a file for the first convention of each kind that has it.
func (w *walk) file(p string, states []at) {
	var done [4]abi.Kind
	for kinds := done[:0]; ; {
		first := none
		for _, s := range states {
			for _, i := range s.ends {
				if c := &w.tree.table[i]; !slices.Contains(kinds, c.Kind) && (first == none || i < first) && !w.visitor.Skip(c) {
					first = i
				}
			}
		}
		if first == none {
			return
		}
		c := &w.tree.table[first]
		kinds = append(kinds, c.Kind)
		w.visitor.File(c, p)
	}
}

const none = -1

// first returns the first of a list of conventions that counts, or one before that.
func (w *walk) first(before int, list []int) int {
	for _, i := range list {
		if (before == none || i < before) && !w.visitor.Skip(&w.tree.table[i]) {
			before = i
		}
	}
	return before
}
