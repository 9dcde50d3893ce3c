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

// PutBelow says of a find that it is one of a project in a directory, which is given
// relative to its root: its attribute directory is that, and its globs are relative to
// the root. Unless always is set, what would apply always applies to the files of the
// directory: its mode is glob. What only somebody or the model asks for stays so.
//
// The attributes are not changed but replaced. Globs that find no room in them are left out.
func (r *Resource) PutBelow(directory string, always bool) {
	attributes := make(Attributes, len(r.Attributes)+3)
	maps.Copy(attributes, r.Attributes)
	attributes[attributeDirectory] = Attribute{Text: directory}
	prefix := literal(directory) + "/"
	mode, globs := r.Attributes[attributeMode], r.Attributes[attributeGlobs]
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
		if size += len(g); size > abi.MaxAttributes/2 {
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

// whose are the attributes that the host itself has given a find: which project has it.
func (c *Candidate) whose() Attributes {
	if c.Directory == "" {
		return nil
	}
	own := Attributes{}
	for _, key := range []string{attributeDirectory, attributeMode, attributeGlobs} {
		if v, ok := c.Attributes[key]; ok {
			own[key] = v
		}
	}
	return own
}
