package search

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/agentapi"
	"waymark/host/vfs"
)

const (
	// defaultNames and maxNames limit the files that are found by name.
	defaultNames = 20
	maxNames     = 200
	// maxQuery limits a query, a glob and a pattern, in bytes.
	maxQuery = 1024
)

// Glob matches paths. The nil Glob matches everything.
type Glob struct{ pattern string }

// NewGlob makes a Glob of a pattern in which ** matches any number of directories, and
// {a,b} alternatives. Without a slash it matches names at any depth. An empty one is nil.
func NewGlob(pattern string) (*Glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if err := checkQuery("glob", pattern); err != nil {
		return nil, err
	}
	p := strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if !strings.Contains(p, "/") {
		p = "**/" + p
	}
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	if err := new(vfs.Allowance).Take("glob", []string{p}); err != nil {
		return nil, err
	}
	if !doublestar.ValidatePattern(p) {
		return nil, fmt.Errorf("the glob %q can't be read: write such as *.go or src/**/*.{ts,tsx}", pattern)
	}
	return &Glob{p}, nil
}

// Match reports whether the Glob matches a path.
func (g *Glob) Match(rel string) bool {
	return g == nil || doublestar.MatchUnvalidated(g.pattern, rel)
}

func checkQuery(what, s string) error {
	switch {
	case len(s) > maxQuery:
		return fmt.Errorf("the %s has %d bytes, and at most %d are taken", what, len(s), maxQuery)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("the %s is UTF-8 without NUL", what)
	}
	return nil
}

// Names collects the files that a query names best.
type Names struct {
	glob  *Glob
	words []string // in lower case
	exact string   // the query
	limit int
	found []namedFile
	total int
}

type namedFile struct {
	path string
	rank int
}

// NewNames makes a Names. A query with any of *?[{ is a glob, any other one has words that
// must all be in the path.
func NewNames(ask *agentapi.FindFiles) (*Names, error) {
	n := &Names{exact: strings.TrimSpace(ask.Query), limit: cmp.Or(ask.Limit, defaultNames)}
	switch {
	case n.exact == "":
		return nil, fmt.Errorf("a query is needed: a part of a name, or a glob such as *.go")
	case ask.Limit < 0 || ask.Limit > maxNames:
		return nil, fmt.Errorf("limit is from 1 to %d", maxNames)
	}
	if strings.ContainsAny(n.exact, "*?[{") {
		var err error
		n.glob, err = NewGlob(n.exact)
		return n, err
	}
	n.exact = strings.TrimPrefix(n.exact, "./")
	n.words = strings.Fields(strings.ToLower(n.exact))
	return n, checkQuery("query", n.exact)
}

// Match reports whether a file matches by its relative path.
func (n *Names) Match(rel string) bool {
	_, ok := n.rank(rel)
	return ok
}

// Add adds a file if it matches.
func (n *Names) Add(rel string) {
	rank, ok := n.rank(rel)
	if !ok {
		return
	}
	n.total++
	n.found = append(n.found, namedFile{rel, rank})
	if len(n.found) >= 8*n.limit+1000 { // don't keep what isn't shown
		n.sort()
	}
}

// rank says how well a path matches: less is better.
func (n *Names) rank(rel string) (rank int, ok bool) {
	if n.glob != nil {
		return 0, n.glob.Match(rel)
	}
	lower := strings.ToLower(rel)
	name, whole := path.Base(lower), strings.ToLower(n.exact)
	stem, _, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
	switch {
	case path.Base(rel) == n.exact, rel == n.exact:
		return 0, true
	case name == whole:
		return 1, true
	case strings.HasSuffix(lower, "/"+whole):
		return 2, true
	case stem == whole:
		return 3, true
	case strings.HasPrefix(name, whole):
		return 4, true
	case strings.Contains(name, whole):
		return 5, true
	case strings.Contains(lower, whole):
		return 6, true
	case all(n.words, lower):
		return 7, true
	case len(n.words) == 1 && isSubsequence(whole, name):
		return 8, true
	}
	return 0, false
}

func all(words []string, in string) bool {
	for _, w := range words {
		if !strings.Contains(in, w) {
			return false
		}
	}
	return true
}

// isSubsequence reports whether all characters of a word occur in a name, in order. One or two
// would match nearly everything.
func isSubsequence(word, name string) bool {
	if len(word) < 3 {
		return false
	}
	for _, c := range word {
		at := strings.IndexRune(name, c)
		if at < 0 {
			return false
		}
		name = name[at+utf8.RuneLen(c):]
	}
	return true
}

// sort orders what was found, the best first, and drops what is too much.
func (n *Names) sort() {
	slices.SortFunc(n.found, func(a, b namedFile) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")),
			cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.path, b.path))
	})
	n.found = n.found[:min(len(n.found), n.limit)]
}

// Answer sets the files in an answer.
func (n *Names) Answer(found *agentapi.FoundFiles) {
	n.sort()
	found.Files = make([]string, len(n.found))
	for i, f := range n.found {
		found.Files[i] = f.path
	}
	found.Omitted = n.total - len(n.found)
}
