// This file makes up paths that a doublestar pattern matches, so that
// there are files where a resolver looks for them.
//
// # Guarantees
//
// Every path matches its pattern, is relative and in its shortest form, and
// equal patterns give equal paths. There are at most Max of them, whatever the
// pattern.
//
// # Limits
//
// A pattern that only unusual names match (a negated class of all letters, say)
// may have none. The package has no state.

package conform

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// Stem is what stands for a star in a name.
	Stem = "alpha"
	// Neighbor is what stands for it in the name of a second file.
	Neighbor = "beta"
	// Outer is the directory that stands for two stars.
	Outer = "pkg"
	// Inner are two directories that stand for them.
	Inner = "pkg/inner"
	// Max bounds the paths of one pattern: enough to have every name of anyName
	// at two depths.
	Max = 40
	// maxPath bounds a path. Longer ones could not be made below a directory
	// for temporary files.
	maxPath = 512
	// maxExpansions is what the braces of one pattern may multiply to, as in
	// host/vfs.
	maxExpansions = 2048
)

// anyName are file names for a pattern that doesn't say which: resolvers go by
// the extension then, or by a name that is a convention.
func anyName() []string {
	return []string{
		Stem + ".md", Neighbor + ".md", Stem + ".mdc", Neighbor + ".mdc", Stem + ".instructions.md", Stem + ".json", Stem + ".jsonc",
		Stem + ".toml", Stem + ".yaml", Stem + ".yml", Stem + ".txt", "SKILL.md", "AGENTS.md", Stem,
	}
}

// MatchingPaths are paths that a pattern matches, sorted; none for one that isn't
// valid, or whose braces make more of it than a host takes.
func MatchingPaths(pattern string) []string {
	if !doublestar.ValidatePattern(pattern) {
		return nil
	}
	budget := maxExpansions
	var paths []string
	for _, p := range alternatives(pattern, &budget) {
		if len(paths) < 4*Max {
			paths = append(paths, expand(strings.Split(p, "/"))...)
		}
	}
	if budget <= 0 {
		return nil
	}
	slices.Sort(paths)
	paths = slices.DeleteFunc(slices.Compact(paths), func(p string) bool {
		ok, err := doublestar.Match(pattern, p)
		return err != nil || !ok || p != path.Clean(p) || p == "." || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../")
	})
	return paths[:min(len(paths), Max)]
}

// expand makes paths of segments.
func expand(segments []string) []string {
	paths := []string{""}
	for i, s := range segments {
		last := i == len(segments)-1
		var next []string
		for _, dir := range paths {
			for _, name := range segmentNames(s, last) {
				if p := strings.TrimPrefix(strings.TrimSuffix(dir+"/"+name, "/"), "/"); len(p) <= maxPath {
					next = append(next, p)
				}
			}
		}
		paths = next[:min(len(next), 4*Max)]
	}
	return paths
}

// segmentNames are names that one segment of a pattern may match.
func segmentNames(segment string, last bool) []string {
	switch {
	case segment == "**" && last:
		names := anyName()
		for _, n := range anyName()[:4] {
			names = append(names, Outer+"/"+n, Inner+"/"+n)
		}
		return names
	case segment == "**":
		return []string{"", Outer, Inner}
	case segment == "*" && last:
		return anyName()
	case !strings.ContainsAny(segment, `*?[\`):
		return []string{segment}
	}
	names := []string{globName(segment, Stem)}
	if strings.Contains(segment, "*") {
		names = append(names, globName(segment, Neighbor))
	}
	return names
}

// globName is a name that a segment matches, with a word in the place of its
// first star.
func globName(segment, word string) string {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		switch c := segment[i]; c {
		case '*':
			b.WriteString(word)
			word = ""
		case '?':
			b.WriteByte('x')
		case '[':
			end := strings.IndexByte(segment[i+1:], ']')
			if end < 0 {
				return ""
			}
			b.WriteByte(classMember(segment[i : i+end+2]))
			i += end + 1
		case '\\':
			i++
			if i < len(segment) {
				b.WriteByte(segment[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// classMember is a character that a class matches, one of its own if possible.
func classMember(class string) byte {
	own := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]!^-\`, r) {
			return -1
		}
		return r
	}, class)
	const others = "a0A-_.z9Zbx!^[]"
	for _, c := range []byte(own + others) {
		if ok, err := doublestar.Match(class, string(rune(c))); err == nil && ok {
			return c
		}
	}
	return 'a'
}

// alternatives expands braces. Those that don't match up make no paths.
func alternatives(p string, budget *int) []string {
	if *budget--; *budget <= 0 {
		return nil
	}
	open := strings.IndexByte(p, '{')
	if open < 0 {
		return []string{p}
	}
	depth, start, end := 0, open+1, -1
	var parts []string
	for i := open; i < len(p) && end < 0; i++ {
		switch p[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts, start = append(parts, p[start:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				parts, end = append(parts, p[start:i]), i
			}
		}
	}
	if end < 0 {
		return nil
	}
	var all []string
	for _, part := range parts {
		all = append(all, alternatives(p[:open]+part+p[end+1:], budget)...)
	}
	return all
}
