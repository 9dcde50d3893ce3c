package search

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// maxRules limits the patterns of a file, maxRule the length of each, in bytes.
	maxRules = 10_000
	maxRule  = 1024
	// MaxIgnore limits the size of a file of patterns, in bytes.
	MaxIgnore = 1 << 20
)

// IgnoreFiles are the names of files of patterns, the more important ones last.
func IgnoreFiles() []string { return []string{".gitignore", ".ignore"} }

// Ignored are the patterns that count in a directory: its own, and those of the directories
// above. Nil ignores nothing.
type Ignored struct {
	up    *Ignored
	base  string // the directory of the patterns
	rules []rule
}

// rule is a line of a .gitignore.
type rule struct {
	negated, dirs, anchored bool
	kind                    ruleKind
	text                    string
}

type ruleKind int

const (
	ruleGlob   ruleKind = iota
	ruleName            // no special characters
	ruleSuffix          // an asterisk and no other special characters, which is the most frequent form
)

// With adds the patterns of a file in a directory below the top. They outweigh the others.
func (g *Ignored) With(dir string, data []byte) *Ignored {
	in := &Ignored{up: g, base: dir}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		if r, ok := parseRule(string(line)); ok && len(in.rules) < maxRules {
			in.rules = append(in.rules, r)
		}
	}
	if len(in.rules) == 0 {
		return g
	}
	return in
}

func parseRule(line string) (r rule, ok bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	for strings.HasSuffix(line, " ") && !escaped(line, len(line)-1) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' || len(line) > maxRule {
		return r, false
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if rest, deep := strings.CutPrefix(line, "**/"); deep && !strings.Contains(rest, "/") {
		line, r.anchored = rest, false
	}
	switch special := `*?[\`; {
	case line == "":
		return r, false
	case !strings.ContainsAny(line, special):
		r.kind, r.text = ruleName, line
	case !r.anchored && line[0] == '*' && !strings.ContainsAny(line[1:], special):
		r.kind, r.text = ruleSuffix, line[1:]
	default:
		r.text = glob(line)
		if !doublestar.ValidatePattern(r.text) {
			return r, false
		}
	}
	return r, true
}

// escaped reports whether a backslash stands before a byte and escapes it.
func escaped(s string, at int) bool {
	n := 0
	for n < at && s[at-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

var severalStars = regexp.MustCompile(`\*\*+`)

// glob translates a pattern of git: braces have no meaning there, "/**" matches what is in a
// directory and not the directory, and more asterisks within a name are one.
func glob(pattern string) string {
	names := strings.Split(pattern, "/")
	for i, name := range names {
		if len(name) > 1 && strings.Trim(name, "*") == "" {
			name = "**"
		} else {
			name = severalStars.ReplaceAllString(name, "*")
		}
		names[i] = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(name)
	}
	if last := len(names) - 1; last > 0 && names[last] == "**" {
		names = append(names, "*")
	}
	return strings.Join(names, "/")
}

// Ignores reports whether an entry of a directory is ignored. The path is relative to the
// top. What lies in an ignored directory isn't looked at and not asked about.
func (g *Ignored) Ignores(at string, dir bool) bool {
	name := path.Base(at)
	for ; g != nil; g = g.up {
		rel := at
		if g.base != "." {
			rel = at[min(len(g.base)+1, len(at)):]
		}
		for i := len(g.rules) - 1; i >= 0; i-- {
			if r := &g.rules[i]; (dir || !r.dirs) && r.matches(rel, name) {
				return !r.negated
			}
		}
	}
	return false
}

func (r *rule) matches(rel, name string) bool {
	of := name
	if r.anchored {
		of = rel
	}
	switch r.kind {
	case ruleName:
		return of == r.text
	case ruleSuffix:
		return strings.HasSuffix(name, r.text)
	}
	return doublestar.MatchUnvalidated(r.text, of)
}
