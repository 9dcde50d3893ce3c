package approvals

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
)

// Read is one thing that a module's resolvers may look at.
type Read struct {
	// Pattern is a doublestar pattern, relative to a root.
	Pattern string `json:"pattern,omitempty"`
	// ConfigKey names a key of the configuration that holds such paths.
	ConfigKey string `json:"config_key,omitempty"`
	// MCP says that MCP configuration files are seen as well, which hold
	// tokens, and that the host keeps nothing of what is read.
	MCP bool `json:"mcp,omitempty"`
}

// String is for a person.
func (r Read) String() string {
	text := r.Pattern
	if r.ConfigKey != "" {
		text = "what the configuration key " + r.ConfigKey + " names"
	}
	if r.MCP {
		text += " (as MCP configuration)"
	}
	return text
}

// ReadsOf lists what a module's resolvers may look at, in order, each once.
func ReadsOf(d *abi.Description) []Read {
	var list []Read
	add := func(r Read) {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	for _, r := range d.Resolvers {
		mcp := slices.Equal(r.Kinds, []abi.Kind{abi.KindMCPConfig})
		for _, p := range r.Reads {
			add(Read{Pattern: p, MCP: mcp})
		}
		for _, key := range r.ReadsFromConfig {
			add(Read{ConfigKey: key, MCP: mcp})
		}
	}
	return list
}

// Grown lists what is in now and not covered by what was there before.
func Grown(before, now []Read) []Read {
	var grown []Read
	for _, n := range now {
		covered := slices.ContainsFunc(before, func(b Read) bool {
			return b == n || b.MCP == n.MCP && b.ConfigKey == "" && n.ConfigKey == "" && covers(b.Pattern, n.Pattern)
		})
		if !covered {
			grown = append(grown, n)
		}
	}
	return grown
}

// covers reports whether all that one pattern matches is certainly matched by
// another: by one that ends with "/**" and is plain before that, or, where the
// one is plain, by whatever matches it.
func covers(wide, narrow string) bool {
	if path.Clean("/"+narrow) != "/"+narrow || strings.Contains(narrow, "..") {
		return false
	}
	if wide == "**" || plain(narrow) && doublestar.MatchUnvalidated(wide, narrow) {
		return true
	}
	dir, ok := strings.CutSuffix(wide, "/**")
	return ok && plain(dir) && strings.HasPrefix(narrow, dir+"/")
}

// plain reports whether a pattern matches itself only.
func plain(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, `*?[]{}\`) }
