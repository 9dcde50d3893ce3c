package snapshot

import (
	"maps"
	"strings"

	"waymark/abi"
)

// The attributes that say what a resource is for, and their words.
const (
	attributeDirectory = "directory"
	attributeMode      = "mode"
	attributeGlobs     = "globs"
	modeGlob           = "glob"
)

// What other attributes, and globs, may take beside a directory, in bytes.
const (
	maxOthers = abi.MaxAttributes / 2
	maxGlobs  = abi.MaxAttributes/2 - 1024
)

// PutBelow says of a find that it is one of a project in a directory, which is given
// relative to its root: its attribute directory is that, and its globs are relative to
// the root. Unless always is set, what would apply always applies to the files of the
// directory: its mode is glob. What only somebody or the model asks for stays so.
//
// The attributes are not changed but replaced, and stay within the ABI's bound: who gets
// more than that drops them all, and would take the find for one that always applies. For
// that, globs that find no room are left out, and all other attributes where they take half
// of it.
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

// below puts a prefix before globs, as far as there is room.
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

// literal escapes what a glob would take for more than a name.
func literal(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `\`, `\\`).Replace(name)
}

// attributePlugin names the plugin that brings a find.
const attributePlugin = "plugin"

// whose are the attributes that the host itself has given a find, or has checked: which
// project has it, and which plugin brings it.
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
