package vfs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"waymark/internal/beneath"
)

// View says what one resolver may see of a root. The zero value sees nothing.
type View struct {
	// Reads are doublestar patterns relative to the root. A path is visible if it matches one
	// of them; a directory also if something below it could.
	Reads []string
	// Narrow are the operator's own patterns. If there are any, a path must match one of
	// these, too.
	Narrow []string
	// GrantSecrets names the entries of SecretPatterns, by their Pattern, that this view may
	// see.
	GrantSecrets []string
	// MCPOnly shows settings files. It is for a resolver that lists only what settings files
	// hold, such as MCP servers; see SeesSettings.
	MCPOnly bool
	// Manifests lets a view without MCPOnly also see manifests of bundles that are settings
	// files, by their own names only and not through links. They are the content of no
	// resource.
	Manifests bool
	// Below names directories at the top of the root in which Reads and Narrow apply again,
	// as they do to the root.
	Below []string
}

// Filter is a compiled View. It is immutable.
type Filter struct {
	reads   *trie // groups reads and narrow
	guard   *trie // groups secret and mcp; folded names, at any depth
	narrow  bool
	mcpOnly bool
	// manifests is View.Manifests.
	manifests bool
	below     map[string]bool // see View.Below; nil if empty
}

// Compile checks the patterns and prepares them. Its error is a *PatternError. Reads and
// Narrow have an Allowance each.
func (v View) Compile() (*Filter, error) {
	f := &Filter{narrow: len(v.Narrow) > 0, mcpOnly: v.MCPOnly, manifests: v.Manifests}
	b := newTrieBuilder()
	if err := new(Allowance).insertAll(b, "reads", v.Reads, groupReads); err != nil {
		return nil, err
	}
	if err := new(Allowance).insertAll(b, "narrow", v.Narrow, groupNarrow); err != nil {
		return nil, err
	}
	f.reads = b.build()
	for _, name := range v.Below {
		if f.below == nil {
			f.below = make(map[string]bool, len(v.Below))
		}
		f.below[name] = true
	}
	var err error
	f.guard, err = guardFor(v.GrantSecrets)
	return f, err
}

// CheckExclude checks exclude patterns as OpenRoot does. Its error is a *PatternError.
func CheckExclude(patterns []string) error {
	_, err := newExclude(patterns)
	return err
}

// newExclude builds the trie of excluded paths and everything below them.
func newExclude(patterns []string) (*trie, error) {
	b := newTrieBuilder()
	err := new(Allowance).insertAll(b, "exclude", patterns, groupExclude, "**")
	return b.build(), err
}

// guardFor returns the trie of protected paths, without those that are granted.
func guardFor(granted []string) (*trie, error) {
	if len(granted) == 0 {
		return wholeGuard(), nil
	}
	for _, g := range granted {
		if !slices.ContainsFunc(SecretPatterns(), func(s Secret) bool { return s.Pattern == g }) {
			return nil, &PatternError{Field: "grant_secrets", Pattern: g,
				Problem: fmt.Sprintf("is not an entry of the secret list; entries are granted by name, such as %q", ".env*")}
		}
	}
	return newGuard(granted), nil
}

// wholeGuard is the guard of nearly every view.
var wholeGuard = sync.OnceValue(func() *trie { return newGuard(nil) })

func newGuard(granted []string) *trie {
	b := newTrieBuilder()
	for _, s := range SecretPatterns() {
		if !slices.Contains(granted, s.Pattern) {
			b.protect(s.Pattern, groupSecret)
		}
	}
	for _, p := range settingsPatterns() {
		b.protect(p, groupMCP)
	}
	return b.build()
}

// protect adds an entry of a list, at any depth and with everything below it.
func (b *trieBuilder) protect(pattern string, g group) {
	at := b.secondNames(b.child(0, "**", g), strings.TrimSuffix(pattern, "/**"), g)
	b.end(b.child(at, "**", g), g)
}

// protectAll adds an operator's patterns of settings files.
func (b *trieBuilder) protectAll(patterns []string) error {
	var a Allowance
	for _, p := range patterns {
		list, err := a.alternatives("settings", p)
		if err != nil {
			return err
		}
		for _, one := range list {
			segments, problem := splitSegments(one)
			if problem != "" {
				return &PatternError{Field: "settings", Pattern: p, Problem: problem}
			}
			b.protect(strings.Join(segments, "/"), groupMCP)
		}
	}
	return a.Take("settings", patterns)
}

// protectFile adds a literal path.
func (b *trieBuilder) protectFile(path string, g group) {
	plain := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)
	b.end(b.secondNames(0, plain.Replace(path), g), g)
}

// secondNames adds names below a node, in all the spellings by which file systems find them,
// and returns the node behind them.
func (b *trieBuilder) secondNames(at nodeID, path string, g group) nodeID {
	for name := range strings.SplitSeq(path, "/") {
		name = fold(name)
		next := b.child(at, name, g)
		for _, short := range shortNames(name) {
			b.short(at, next, short)
		}
		at = next
	}
	return at
}

// scope holds the states of all patterns at one path.
type scope struct {
	reads, guard, exclude, mcp state
	top                        bool // whether this is the root's directory
}

// size returns how many nodes the scope keeps.
func (s scope) size() int {
	return len(s.reads.nodes) + len(s.guard.nodes) + len(s.exclude.nodes) + len(s.mcp.nodes)
}

// scopeAt returns the scope of a root's directory. The guard also runs over the names above
// the root, but keeps only entries that have begun and not ended there; see SecretPatterns.
func (f *Filter) scopeAt(r *Root, p *matcher) scope {
	guard := p.start(f.guard)
	for _, name := range r.base.Names() {
		guard = p.step(f.guard, guard, state{}, fold(name))
	}
	return scope{reads: p.start(f.reads), guard: p.begun(f.guard, guard), exclude: p.start(r.exclude), mcp: p.start(r.mcp), top: true}
}

// step returns the scope of an entry in the directory of s. It reuses dst's slices.
func (f *Filter) step(r *Root, p *matcher, s, dst scope, name string) scope {
	dst = f.stepGuard(r, p, s, dst, name)
	dst.reads = p.step(f.reads, s.reads, dst.reads, name)
	if s.top && f.below[name] {
		dst.reads = p.restart(f.reads, dst.reads)
	}
	return dst
}

// stepGuard is step without the view's own patterns.
func (f *Filter) stepGuard(r *Root, p *matcher, s, dst scope, name string) scope {
	folded := fold(name)
	return scope{
		reads:   state{nodes: dst.reads.nodes[:0]},
		guard:   p.step(f.guard, s.guard, dst.guard, folded),
		exclude: p.step(r.exclude, s.exclude, dst.exclude, name),
		mcp:     p.step(r.mcp, s.mcp, dst.mcp, folded),
	}
}

// protected says why nothing may be read at s, by whatever path it is reached.
func (f *Filter) protected(s scope) Reason {
	if s.exclude.ends != 0 {
		return ReasonExcluded
	}
	switch g := s.guard.ends; {
	case g&groupSecret != 0:
		return ReasonSecret
	case s.settings() && !f.mcpOnly:
		return ReasonMCP
	}
	return ReasonNone
}

// visibility says whether a path may be seen as a file, and as a directory.
type visibility struct {
	file, dir bool
	reason    Reason // if neither
}

// visible judges the path asked for.
func (f *Filter) visible(s scope) visibility {
	if reason := f.protected(s); reason != ReasonNone {
		return visibility{reason: reason}
	}
	return f.inReads(s)
}

// inReads judges by the view's own patterns alone.
func (f *Filter) inReads(s scope) visibility {
	ends, way := s.reads.ends, s.reads.viable
	v := visibility{file: ends&groupReads != 0, dir: way&groupReads != 0}
	if f.narrow {
		v.file = v.file && ends&groupNarrow != 0
		v.dir = v.dir && way&groupNarrow != 0
	}
	if !v.dir {
		v.reason = ReasonNotInReads
	}
	return v
}

// scopeOf returns the scope of a path. It is valid until the next call, and meaningless once
// the run exceeds its limits.
func (r *Run) scopeOf(path string) scope {
	if s, ok := r.scopes[path]; ok {
		return s
	}
	dir, name := beneath.Split(path)
	r.leaf = r.filter.step(r.root, &r.matcher, r.dirScope(dir), r.leaf, name)
	r.chargeMatching()
	return r.leaf
}

// maxScopes bounds the cached scopes, in nodes of states: 1 MiB with everything that belongs
// to them. When it is exceeded, the cache is emptied.
const maxScopes = 1 << 16

func (r *Run) dirScope(dir string) scope {
	if s, ok := r.scopes[dir]; ok {
		return s
	}
	s, done := r.scopes["."], 0
	for done < len(dir) {
		end := len(dir)
		if i := strings.IndexByte(dir[done:], '/'); i >= 0 {
			end = done + i
		}
		next, ok := r.scopes[dir[:end]]
		if !ok {
			next = r.filter.step(r.root, &r.matcher, s, scope{}, dir[done:end])
			r.keepScope(dir[:end], next)
		}
		s, done = next, end+1
	}
	return s
}

// keepScope caches a scope. The length of its path counts, too.
func (r *Run) keepScope(dir string, s scope) {
	size := s.size() + 16 + len(dir)/8
	if r.scopesSize += size; r.scopesSize > maxScopes {
		r.scopes, r.scopesSize = map[string]scope{".": r.scopes["."]}, size
	}
	r.scopes[dir] = s
}

// maxWork bounds the work of matching names against patterns, in units: about half a second.
// A run that matches 100,000 names with the patterns of the built-in resolvers takes a
// twentieth of it.
const maxWork = 64 << 20

// OnWork sets a callback that is charged for matching names against patterns: at the end of a
// question, and every 0.1 ms of a long one. A unit is 5 to 10 ns of work. charge may panic to
// end the run; the run may then be asked for its trace and usage, and be closed. Nil removes
// the callback.
func (r *Run) OnWork(charge func(units int64)) { r.matcher.charge = charge }

// chargeMatching charges for matching since the last call, and ends the run if it exceeds the
// limit.
func (r *Run) chargeMatching() {
	r.matcher.settle()
	if r.matcher.spent && r.over == nil {
		r.over = &Error{Op: "run", Path: r.root.Path(), Errno: syscall.EIO, Reason: ReasonLimit,
			Detail: fmt.Sprintf("names were compared with patterns for %d units of work; let reads hold fewer patterns with ** and *", maxWork)}
	}
}

// protected says why nothing may be read at a link-free path.
func (r *Run) protected(s scope) Reason {
	if r.over != nil {
		return ReasonLimit // the scope may be meaningless
	}
	return r.filter.protected(s)
}
