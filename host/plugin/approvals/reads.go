package approvals

import (
	"path"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
)

// Read is one thing that a module's resolvers may read.
type Read struct {
	// Pattern is a doublestar pattern, relative to a root.
	Pattern string `json:"pattern,omitempty"`
	// ConfigKey names a key of the configuration that holds such paths.
	ConfigKey string `json:"config_key,omitempty"`
	// MCP says that settings files, such as MCP configurations, are visible as well. They
	// hold tokens, and the host keeps nothing of what is read.
	MCP bool `json:"mcp,omitempty"`
}

// String is for a person.
func (r Read) String() string {
	text := r.Pattern
	if r.ConfigKey != "" {
		text = "what the configuration key " + r.ConfigKey + " names"
	}
	if r.MCP {
		text += " (settings files as well)"
	}
	return text
}

// ReadsOf lists what a module's resolvers may read, sorted and without duplicates.
func ReadsOf(d *abi.Description) []Read {
	var list []Read
	seen := map[Read]bool{}
	add := func(r Read) {
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	for _, r := range d.Resolvers {
		mcp := vfs.SeesSettings(r.Kinds)
		for _, p := range r.Reads {
			add(Read{Pattern: p, MCP: mcp})
		}
		for _, key := range r.ReadsFromConfig {
			add(Read{ConfigKey: key, MCP: mcp})
		}
	}
	return list
}

// Grown lists the entries of now that before doesn't cover.
func Grown(before, now []Read) []Read {
	had := map[Read]bool{}
	patterns := map[bool][]string{} // by Read.MCP
	for _, b := range before {
		had[b] = true
		if b.ConfigKey == "" {
			patterns[b.MCP] = append(patterns[b.MCP], b.Pattern)
		}
	}
	covers := map[bool]*covering{false: newCovering(patterns[false], now), true: newCovering(patterns[true], now)}
	var grown []Read
	for _, n := range now {
		if !had[n] && (n.ConfigKey != "" || !covers[n.MCP].all(n.Pattern)) {
			grown = append(grown, n)
		}
	}
	return grown
}

// covering decides whether a list of patterns certainly matches everything that another
// pattern matches: by a pattern that ends with "/**" and is plain before that, or, for a
// plain pattern, by any that matches it. Its cost doesn't grow with the product of both
// lists, which modules choose.
type covering struct {
	everything bool
	below      map[string]bool // directories
	matched    map[string]bool // plain patterns
}

func newCovering(patterns []string, now []Read) *covering {
	c := &covering{below: map[string]bool{}, matched: map[string]bool{}}
	for _, p := range patterns {
		c.everything = c.everything || p == "**"
		if dir, ok := strings.CutSuffix(p, "/**"); ok && plain(dir) {
			c.below[dir] = true
		}
	}
	var paths []string
	for _, n := range now {
		if n.ConfigKey == "" && plain(n.Pattern) && clean(n.Pattern) {
			paths = append(paths, n.Pattern)
		}
	}
	for _, path := range vfs.Matching(patterns, paths) {
		c.matched[path] = true
	}
	return c
}

// all reports whether everything that a pattern matches is covered.
func (c *covering) all(pattern string) bool {
	if !clean(pattern) {
		return false
	}
	if c.everything || c.matched[pattern] {
		return true
	}
	for i := range len(pattern) {
		if pattern[i] == '/' && c.below[pattern[:i]] {
			return true
		}
	}
	return false
}

// clean reports whether a pattern is a relative path in its shortest form.
func clean(pattern string) bool {
	return path.Clean("/"+pattern) == "/"+pattern && !strings.Contains(pattern, "..")
}

// plain reports whether a pattern matches only itself.
func plain(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, `*?[]{}\`) }

// Texts formats reads for a person; never nil.
func Texts(reads []Read) []string {
	texts := make([]string, len(reads))
	for i, r := range reads {
		texts[i] = r.String()
	}
	return texts
}
