package vfs

import (
	"fmt"
	"slices"
	"strings"
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
	// MCPOnly says that the resolver's sole kind is mcp_config: it sees MCP
	// configuration files.
	MCPOnly bool
}

// Filter is a compiled View. It is immutable.
type Filter struct {
	reads   *trie // groups reads and narrow
	guard   *trie // groups secret and mcp; folded names, at any depth
	narrow  bool
	mcpOnly bool
}

// Compile checks the patterns and prepares them. Its error is a
// *PatternError.
func (v View) Compile() (*Filter, error) {
	f := &Filter{reads: &trie{}, narrow: len(v.Narrow) > 0, mcpOnly: v.MCPOnly}
	if err := f.reads.insertAll("reads", v.Reads, groupReads); err != nil {
		return nil, err
	}
	if err := f.reads.insertAll("narrow", v.Narrow, groupNarrow); err != nil {
		return nil, err
	}
	var err error
	f.guard, err = newGuard(v.GrantSecrets)
	return f, err
}

func (t *trie) insertAll(field string, patterns []string, g group) error {
	budget := maxExpansions
	for _, p := range patterns {
		lists, err := parsePattern(field, p, &budget)
		if err != nil {
			return err
		}
		for _, segments := range lists {
			t.insert(segments, g)
		}
	}
	return nil
}

// newGuard builds the trie of what is protected, less what is granted.
func newGuard(granted []string) (*trie, error) {
	t := &trie{}
	known := make(map[string]bool)
	for _, s := range SecretPatterns() {
		known[s.Pattern] = true
		if !slices.Contains(granted, s.Pattern) {
			t.insert(anywhere(s.Pattern), groupSecret)
		}
	}
	for _, g := range granted {
		if !known[g] {
			return nil, &PatternError{Field: "grant_secrets", Pattern: g,
				Problem: fmt.Sprintf("is not an entry of the secret list; entries are granted by name, such as %q", ".env*")}
		}
	}
	for _, m := range MCPFiles() {
		t.insert(anywhere(m.Pattern), groupMCP)
	}
	return t, nil
}

// anywhere makes the segments of a list entry match at any depth, with all
// that lies below.
func anywhere(pattern string) []string {
	segments := []string{"**"}
	segments = append(segments, strings.Split(fold(strings.TrimSuffix(pattern, "/**")), "/")...)
	return append(segments, "**")
}

// scope is where all patterns stand at one path.
type scope struct {
	reads, guard, exclude state
}

// scopeAt is the scope of a root directory at an absolute path. The guard
// runs over the names above the root too, but keeps of them only the entries
// that have begun and not ended there; see SecretPatterns.
func (f *Filter) scopeAt(absolute string, exclude *trie) scope {
	guard := f.guard.start()
	for name := range strings.SplitSeq(strings.Trim(absolute, "/"), "/") {
		if name != "" {
			guard = guard.step(nil, fold(name))
		}
	}
	guard = slices.DeleteFunc(guard, func(n *trieNode) bool { return n.ends != 0 })
	for _, n := range f.guard.start() {
		guard = guard.add(n)
	}
	return scope{reads: f.reads.start(), guard: guard, exclude: exclude.start()}
}

// step is the scope of an entry of the directory at s; dst lends its slices.
func (s scope) step(dst scope, name string) scope {
	return scope{
		reads:   s.reads.step(dst.reads[:0], name),
		guard:   s.guard.step(dst.guard[:0], fold(name)),
		exclude: s.exclude.step(dst.exclude[:0], name),
	}
}

// protected says why nothing may be read at s, by whatever path it is
// reached.
func (f *Filter) protected(s scope) Reason {
	if s.exclude.ends() != 0 {
		return ReasonExcluded
	}
	switch g := s.guard.ends(); {
	case g&groupSecret != 0:
		return ReasonSecret
	case g&groupMCP != 0 && !f.mcpOnly:
		return ReasonMCP
	}
	return ReasonNone
}

// sight says as what a path may be seen.
type sight struct {
	file, dir bool
	reason    Reason // when neither
}

// sees judges the path asked for.
func (f *Filter) sees(s scope) sight {
	if reason := f.protected(s); reason != ReasonNone {
		return sight{reason: reason}
	}
	ends, way := s.reads.ends(), s.reads.onWay()
	v := sight{file: ends&groupReads != 0, dir: way&groupReads != 0}
	if f.narrow {
		v.file = v.file && ends&groupNarrow != 0
		v.dir = v.dir && way&groupNarrow != 0
	}
	if !v.dir {
		v.reason = ReasonNotInReads
	}
	return v
}
