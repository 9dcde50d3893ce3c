package vfs

import (
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// glob matches one name.
type glob struct {
	prefix, suffix string // of a name, when simple
	simple         bool   // one star, nothing else special
	pattern        string
}

func newGlob(segment string) glob {
	if i := strings.IndexByte(segment, '*'); i >= 0 && !strings.ContainsAny(segment[:i]+segment[i+1:], `*?[\`) {
		return glob{prefix: segment[:i], suffix: segment[i+1:], simple: true}
	}
	return glob{pattern: segment}
}

func (g *glob) match(name string) bool {
	if g.simple {
		return len(name) >= len(g.prefix)+len(g.suffix) &&
			strings.HasPrefix(name, g.prefix) && strings.HasSuffix(name, g.suffix)
	}
	return doublestar.MatchUnvalidated(g.pattern, name)
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

// fold brings names that a case-insensitive file system holds for the same to
// one spelling.
func fold(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] >= utf8.RuneSelf {
			// Through upper case, so that long s and the like fold too.
			return strings.ToLower(strings.ToUpper(name))
		}
	}
	return strings.ToLower(name)
}

// oneStar makes one star of several inside of a name, where they mean the
// same.
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
