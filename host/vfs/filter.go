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
	// Reads are doublestar patterns relative to the root. A path is visible
	// when it matches one of them; a directory also when something below it
	// could.
	Reads []string
	// Narrow are the operator's own patterns: when there are any, a path
	// must match one of these too.
	Narrow []string
	// GrantSecrets are the entries of SecretPatterns, by their Pattern, that
	// this view may see.
	GrantSecrets []string
	// MCPOnly says that the resolver lists nothing but what settings files hold, MCP
	// servers among it (see SeesSettings): it sees those files.
	MCPOnly bool
	// Manifests lets a view without MCPOnly see the manifests of bundles that are
	// settings files as well, by their own names only and not through links. They are
	// no content of anything.
	Manifests bool
	// Below are names of directories at the top of the root in which Reads and Narrow
	// begin anew: what they show of the root they show of each of these, too.
	Below []string
}

// Filter is a compiled View. It is immutable.
type Filter struct {
	reads   *trie // groups reads and narrow
	guard   *trie // groups secret and mcp; folded names, at any depth
	narrow  bool
	mcpOnly bool
	// manifests: see View.
	manifests bool
	below     map[string]bool // see View.Below; nil where there are none
}

// Compile checks the patterns and prepares them. Its error is a
// *PatternError. Reads and Narrow have an Allowance each.
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

// CheckExclude checks patterns to exclude as OpenRoot does. Its error is a
// *PatternError.
func CheckExclude(patterns []string) error {
	_, err := newExclude(patterns)
	return err
}

// newExclude builds the trie of what is excluded, together with all below it.
func newExclude(patterns []string) (*trie, error) {
	b := newTrieBuilder()
	err := new(Allowance).insertAll(b, "exclude", patterns, groupExclude, "**")
	return b.build(), err
}

// guardFor is the trie of what is protected, less what is granted.
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

// protect adds an entry of a list, at any depth and with all that lies below.
func (b *trieBuilder) protect(pattern string, g group) {
	at := b.secondNames(b.child(0, "**", g), strings.TrimSuffix(pattern, "/**"), g)
	b.end(b.child(at, "**", g), g)
}

// protectAll adds patterns of settings files that an operator has given.
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

// secondNames adds names below a node, in all the spellings that file systems
// find them by, and returns the node behind them.
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

// scope is where all patterns stand at one path.
type scope struct {
	reads, guard, exclude, mcp state
	top                        bool // it is the root's directory
}

// size is how many nodes are kept.
func (s scope) size() int {
	return len(s.reads.nodes) + len(s.guard.nodes) + len(s.exclude.nodes) + len(s.mcp.nodes)
}

// scopeAt is the scope of a root's directory. The guard runs over the names
// above the root too, but keeps of them only the entries that have begun and
// not ended there; see SecretPatterns.
func (f *Filter) scopeAt(r *Root, p *matcher) scope {
	guard := p.start(f.guard)
	for _, name := range r.base.Names() {
		guard = p.step(f.guard, guard, state{}, fold(name))
	}
	return scope{reads: p.start(f.reads), guard: p.begun(f.guard, guard), exclude: p.start(r.exclude), mcp: p.start(r.mcp), top: true}
}

// step is the scope of an entry of the directory at s; dst lends its slices.
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

// protected says why nothing may be read at s, by whatever path it is
// reached.
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
	reason    Reason // when neither
}

// visible judges the path asked for.
func (f *Filter) visible(s scope) visibility {
	if reason := f.protected(s); reason != ReasonNone {
		return visibility{reason: reason}
	}
	return f.inReads(s)
}

// inReads is visible as far as the view's own patterns say.
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

// scopeOf is where the patterns stand at a path. The result is valid until
// the next call, and means nothing once the run is over its limits.
func (r *Run) scopeOf(path string) scope {
	if s, ok := r.scopes[path]; ok {
		return s
	}
	dir, name := beneath.Split(path)
	r.leaf = r.filter.step(r.root, &r.matcher, r.dirScope(dir), r.leaf, name)
	r.chargeMatching()
	return r.leaf
}

// maxScopes bounds what is remembered, in nodes of states: 1 MiB with all that
// belongs to them. Beyond it a run starts over.
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

// keepScope remembers a scope. The text of a path is counted with it.
func (r *Run) keepScope(dir string, s scope) {
	size := s.size() + 16 + len(dir)/8
	if r.scopesSize += size; r.scopesSize > maxScopes {
		r.scopes, r.scopesSize = map[string]scope{".": r.scopes["."]}, size
	}
	r.scopes[dir] = s
}

// maxWork bounds the work of matching names against patterns, in units: about
// half a second. A run that matches 100,000 names with the patterns of the
// built-in resolvers takes a twentieth of it.
const maxWork = 64 << 20

// OnWork has charge called, until the next call of OnWork, with what matching
// names against patterns costs: at the end of a question, and every 0.1 ms of a
// long one. A unit is 5 to 10 ns of work. charge may panic to end the run: the
// run may then be asked for its trace and what it used, and be closed. nil stops
// the calls.
func (r *Run) OnWork(charge func(units int64)) { r.matcher.charge = charge }

// chargeMatching charges for what the patterns have cost since, and ends the run when
// that has become too much.
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
		return ReasonLimit // the scope may mean nothing
	}
	return r.filter.protected(s)
}
