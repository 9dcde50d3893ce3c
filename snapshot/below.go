package snapshot

import (
	"maps"
	"strings"

	"waymark/abi"
)

// The attributes that say when a resource applies, and their values.
const (
	attributeDirectory = "directory"
	attributeMode      = "mode"
	attributeGlobs     = "globs"
	modeGlob           = "glob"
)

// The room that other attributes, and globs, may take beside a directory, in bytes.
const (
	maxOthers = abi.MaxAttributes / 2
	maxGlobs  = abi.MaxAttributes/2 - 1024
)

// PutBelow marks a find as belonging to a project in a directory, which is relative to its
// root. It sets the attribute directory, and makes the globs relative to the root. Unless
// always is set, a find that would always apply then applies to the files of the directory:
// its mode becomes glob. Finds that a person or the model has to ask for stay so.
//
// The attributes are replaced, not changed, and stay within the ABI's bound. A receiver drops
// attributes that exceed it, and would then take the find for one that always applies. So
// globs that don't fit are left out, and so are all other attributes if they take half of the
// bound.
func (r *Resource) PutBelow(directory string, always bool) {
	attributes := make(Attributes, len(r.Attributes)+3)
	mode, globs, others := r.Attributes[attributeMode], r.Attributes[attributeGlobs], 0
	for key, v := range r.Attributes {
		if key != attributeMode && key != attributeGlobs && key != attributeDirectory {
			others += len(key) + abi.Value(v).Size()
		}
	}
	if maps.Copy(attributes, r.Attributes); others+len(mode.Text) > maxOthers {
		maps.DeleteFunc(attributes, func(key string, _ Attribute) bool { return key != attributeMode })
	}
	attributes[attributeDirectory] = Attribute{Text: directory}
	delete(attributes, attributeGlobs)
	prefix := literal(directory) + "/"
	if mode.List != nil || len(mode.Text) > abi.MaxWord { // nobody knows such a mode
		attributes[attributeMode] = Attribute{Text: "manual"}
	}
	if mode.Text == "" && mode.List == nil || mode.Text == "always" {
		if globs = (Attribute{}); !always {
			attributes[attributeMode], globs = Attribute{Text: modeGlob}, Attribute{List: []string{"**"}}
		}
	}
	if globs.Text != "" {
		globs.List = []string{globs.Text}
	}
	if globs.List != nil {
		attributes[attributeGlobs] = Attribute{List: below(prefix, globs.List)}
	}
	r.Attributes = attributes
}

// below prefixes globs, as far as there is room.
func below(prefix string, globs []string) []string {
	list, size := make([]string, 0, len(globs)), 0
	for _, g := range globs {
		not := ""
		if strings.HasPrefix(g, "!") {
			not, g = "!", g[1:]
		}
		for strings.HasPrefix(g, "./") || strings.HasPrefix(g, "/") {
			g = strings.TrimPrefix(strings.TrimPrefix(g, "."), "/")
		}
		g = not + prefix + g
		if size += len(g); size > maxGlobs {
			break
		}
		list = append(list, g)
	}
	return list
}

// literal escapes characters of a name that are special in a glob.
func literal(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `\`, `\\`).Replace(name)
}

// attributePlugin names the plugin that brings a find.
const attributePlugin = "plugin"

// whose returns the attributes that the host itself has set or checked: the project that
// contains the find, and the plugin that brings it.
func (c *Candidate) whose() Attributes {
	keys := []string{attributePlugin}
	if c.Directory != "" {
		keys = append(keys, attributeDirectory, attributeMode, attributeGlobs)
	}
	var own Attributes
	for _, key := range keys {
		if v, ok := c.Attributes[key]; ok {
			if own == nil {
				own = Attributes{}
			}
			own[key] = v
		}
	}
	return own
}
