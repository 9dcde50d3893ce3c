package vfs

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Judgement is what a filter says of a path by its name alone, without looking at files or
// following links.
type Judgement struct {
	// File and Dir say that a file, or a directory, of this name is visible.
	File, Dir bool
	// Reason says why neither is: ReasonExcluded, ReasonSecret, ReasonMCP or
	// ReasonNotInReads.
	Reason Reason
}

// Judge decides about a path as a run with this filter would before it looks at any file. It
// opens nothing, charges nothing, and works on a closed root, too. A path that no run may ask
// for (see the package comment on paths), or that takes too long to match, is
// ReasonNotInReads. A nil filter sees nothing.
func (r *Root) Judge(f *Filter, name string) Judgement {
	path, _, problem := cleanPath(name)
	if problem.errno != 0 {
		return Judgement{Reason: ReasonNotInReads}
	}
	if f == nil || f.guard == nil { // none, or the result of a failed Compile
		f, _ = View{}.Compile() // can't fail without patterns
	}
	at, ok := r.scopeTo(f, path)
	if !ok {
		return Judgement{Reason: ReasonNotInReads}
	}
	s := r.visible(f, path, at)
	return Judgement{File: s.file, Dir: s.dir, Reason: s.reason}
}

// Matching lists the paths, clean and relative to a root, that match one of the patterns.
// Invalid patterns match nothing. If there are too many, or matching takes too long, the rest
// isn't listed.
func Matching(patterns, paths []string) (list []string) {
	b, p := newTrieBuilder(), matcher{most: maxWork}
	_ = new(Allowance).insertAll(b, "patterns", patterns, groupReads)
	t := b.build()
	for _, path := range paths {
		s := p.start(t)
		for name := range strings.SplitSeq(path, "/") {
			s = p.step(t, s, state{}, name)
		}
		if p.settle(); p.spent {
			return list
		}
		if s.ends != 0 {
			list = append(list, path)
		}
	}
	return list
}

// SecretEntry returns the first entry of SecretPatterns that a path matches, as spelled below
// this root. ok is false if there is none.
func (r *Root) SecretEntry(name string) (entry Secret, ok bool) {
	path, _, problem := cleanPath(name)
	if problem.errno != 0 {
		return Secret{}, false
	}
	list, guards := SecretPatterns(), secretGuards()
	for i, guard := range guards {
		if at, _ := r.scopeTo(&Filter{reads: noPatterns, guard: guard}, path); at.guard.ends != 0 {
			return list[i], true
		}
	}
	return Secret{}, false
}

// noPatterns is a trie that matches nothing.
var noPatterns = newTrieBuilder().build()

// secretGuards holds one guard per entry, in the order of the list.
var secretGuards = sync.OnceValue(func() []*trie {
	var guards []*trie
	for _, s := range SecretPatterns() {
		b := newTrieBuilder()
		b.protect(s.Pattern, groupSecret)
		guards = append(guards, b.build())
	}
	return guards
})

// maxJudged bounds the work of one judgement: 40 ms. A question may need hundreds of them.
// One with the patterns of the built-in resolvers takes a hundred units.
const maxJudged = 4 << 20

// scopeTo returns the scope of a clean path. ok is false if following the patterns takes too
// long.
func (r *Root) scopeTo(f *Filter, path string) (s scope, ok bool) {
	p := matcher{most: maxJudged}
	s = f.scopeAt(r, &p)
	if path == "." {
		return s, true
	}
	for name := range strings.SplitSeq(path, "/") {
		s = f.step(r, &p, s, scope{}, name)
	}
	p.settle()
	return s, !p.spent
}

// Names returns the names that a view could show in a directory, given by the path that is
// asked for, and patterns of such names. If all is set, any name is possible. A watch on the
// directory needs no other names.
func (r *Root) Names(f *Filter, dir string) (names, globs []string, all bool) {
	s, ok := r.scopeTo(f, dir)
	if !ok {
		return nil, nil, true
	}
	for _, at := range s.reads.nodes {
		n := &f.reads.nodes[at]
		if n.isDeep || n.deep != 0 {
			return nil, nil, true
		}
		for i := range n.names {
			names = append(names, n.names[i].name)
		}
		for i := range n.globs {
			if n.globs[i].glob.segment == "*" {
				return nil, nil, true
			}
			globs = append(globs, n.globs[i].glob.segment)
		}
	}
	if s.top {
		names = slices.AppendSeq(names, maps.Keys(f.below))
	}
	slices.Sort(names)
	slices.Sort(globs)
	return slices.Compact(names), slices.Compact(globs), false
}
