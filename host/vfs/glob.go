package vfs

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// glob matches one name.
type glob struct {
	segment string
	// star is the place of the only star when nothing else is special, else -1.
	star int
}

func newGlob(segment string) glob {
	if i := strings.IndexByte(segment, '*'); i >= 0 && !strings.ContainsAny(segment[:i]+segment[i+1:], `*?[\`) {
		return glob{segment, i}
	}
	return glob{segment, -1}
}

// match takes at most as many comparisons as the product of the lengths: a
// segment has no braces, and of its stars only the last may have to be tried
// again.
func (g *glob) match(name string) bool {
	if g.star >= 0 {
		return len(name) >= len(g.segment)-1 &&
			strings.HasPrefix(name, g.segment[:g.star]) && strings.HasSuffix(name, g.segment[g.star+1:])
	}
	return doublestar.MatchUnvalidated(g.segment, name)
}

// cost is what match takes at most, in units of work.
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
