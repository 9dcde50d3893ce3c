package vfs

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// maxPatternLen limits a pattern to what a person would write.
const maxPatternLen = 1024

// maxShown is how much of a pattern an error shows, in bytes.
const maxShown = 120

// PatternError says which pattern is wrong, and how to fix it.
type PatternError struct {
	// Field is where the pattern comes from: "reads", "narrow", "exclude" or "grant_secrets".
	Field   string
	Pattern string
	// Problem is for a person.
	Problem string
	// TooMuch says that the pattern is valid, but exceeds what its Allowance has left.
	TooMuch bool
}

// Error implements error.
func (e *PatternError) Error() string {
	pattern := e.Pattern
	if len(pattern) > maxShown {
		pattern = strings.ToValidUTF8(pattern[:maxShown], "") + "…"
	}
	return fmt.Sprintf("%s: pattern %q %s", e.Field, pattern, e.Problem)
}

// alternatives checks a doublestar pattern and expands its braces, so that matching goes name
// by name and knows which directories lie on the way.
//
// The language is doublestar's without two things: what can't match a clean relative path,
// and what would let one segment match a slash; see splitSegments.
func (a *Allowance) alternatives(field, pattern string) ([]string, error) {
	bad := func(problem string) error {
		return &PatternError{Field: field, Pattern: pattern, Problem: problem}
	}
	switch {
	case pattern == "":
		return nil, bad("is empty; remove it, or write ** for everything")
	case len(pattern) > maxPatternLen:
		return nil, bad(fmt.Sprintf("is longer than %d bytes; split it", maxPatternLen))
	case !utf8.ValidString(pattern) || strings.ContainsRune(pattern, 0):
		return nil, bad("must be UTF-8 without NUL")
	case !doublestar.ValidatePattern(pattern):
		return nil, bad("is not a valid doublestar pattern; check its brackets and braces")
	}
	var list []string
	if !a.expandBraces(pattern, &list) {
		return nil, a.exceeded(field, pattern)
	}
	return list, nil
}

// splitSegments splits a pattern without braces at its slashes.
func splitSegments(pattern string) (segments []string, problem string) {
	if strings.HasPrefix(pattern, "/") {
		return nil, "must be relative to the root; drop the leading slash"
	}
	for _, s := range strings.Split(pattern, "/") {
		switch {
		case s == "":
			return nil, "has an empty name; drop the doubled or trailing slash (dir/** means all below dir)"
		case s == "." || s == "..":
			return nil, "has a . or .. in it; patterns are matched on clean paths below the root"
		case !doublestar.ValidatePattern(s):
			return nil, "has a slash inside brackets or after a backslash; a name never holds one"
		}
		if s == "**" && len(segments) > 0 && segments[len(segments)-1] == "**" {
			continue // ** next to ** means the same
		}
		segments = append(segments, oneStar(s))
	}
	return segments, ""
}

// expandBraces appends every brace-free pattern that p stands for. It reports whether the
// allowance was sufficient.
func (a *Allowance) expandBraces(p string, out *[]string) bool {
	if a.expanded += len(p); a.expanded > maxExpanded {
		return false
	}
	open := -1
	scanPattern(p, func(i int) bool {
		if p[i] == '{' {
			open = i
		}
		return open < 0
	})
	if open < 0 {
		*out = append(*out, p)
		a.patterns++
		return a.patterns <= maxAlternatives
	}
	depth, start := 0, open+1
	var alternatives []string
	end := len(p)
	scanPattern(p[open:], func(i int) bool {
		i += open
		switch p[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				alternatives = append(alternatives, p[start:i])
				start = i + 1
			}
		case '}':
			depth--
			if depth == 0 {
				alternatives = append(alternatives, p[start:i])
				end = i + 1
				return false
			}
		}
		return true
	})
	for _, alt := range alternatives {
		if !a.expandBraces(p[:open]+alt+p[end:], out) {
			return false
		}
	}
	return true
}

// scanPattern calls visit for every byte of p that is neither escaped nor in a character
// class, until visit returns false. The pattern is valid.
func scanPattern(p string, visit func(i int) bool) {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
			continue
		case '[':
			i = classEnd(p, i)
			continue
		}
		if !visit(i) {
			return
		}
	}
}

// classEnd returns the index of the bracket that closes the class at i.
func classEnd(p string, i int) int {
	i++
	if i < len(p) && (p[i] == '^' || p[i] == '!') {
		i++
	}
	for ; i < len(p) && p[i] != ']'; i++ {
		if p[i] == '\\' {
			i++
		}
	}
	return i
}

// LiteralPattern escapes the characters that are special to doublestar.
func LiteralPattern(p string) string {
	var b strings.Builder
	for _, r := range p {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
