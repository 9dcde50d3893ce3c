package snapshot

import (
	"maps"
	"slices"
	"strings"
)

// AttributeModes says by which of its readers a file is read in which mode, where links give
// it several names and these differ: a rule of Cursor that is a link to one of Claude Code is
// read always by the one, and by its globs by the other. It is a list of READER=MODE in byte
// order. The attribute mode is that of the name that precedes the others.
const AttributeModes = "modes"

// sharesNames reports whether a find of the same id is another name of the same file for
// coding agents. What modules from elsewhere find, and what lies in different projects, has
// its own readers.
func (c *Candidate) sharesNames(other *Candidate) bool {
	return c.path() != other.path() && c.Kind == other.Kind && c.Directory == other.Directory && c.Status == StatusOK && other.Status == StatusOK &&
		!c.DropIn && !other.DropIn && !c.Provided && !other.Provided
}

// names gathers who reads a file under its names, and how.
type names struct {
	modes map[string]string // by reader
	globs Attribute         // of the first name that has some
}

func newNames(c *Candidate) *names {
	n := &names{modes: map[string]string{}}
	n.add(c)
	return n
}

// modes are those that a file can have, from the one in which it is read most often.
var modes = []string{"always", modeGlob, "model", "manual"}

// modeOf returns the mode of a find; anything that isn't a mode counts as the last.
func modeOf(r *Resource) string {
	mode := r.Attributes[attributeMode]
	switch {
	case mode.Text == "" && mode.List == nil:
		return modes[0]
	case slices.Contains(modes, mode.Text):
		return mode.Text
	}
	return modes[len(modes)-1]
}

// add adds a name. A reader that reads several reads the file as often as by the best of them.
func (n *names) add(c *Candidate) {
	mode := modeOf(&c.Resource)
	for _, reader := range c.Readers {
		if known, ok := n.modes[reader]; !ok || slices.Index(modes, mode) < slices.Index(modes, known) {
			n.modes[reader] = mode
		}
	}
	if globs := c.Attributes[attributeGlobs]; n.globs.Text == "" && n.globs.List == nil {
		n.globs = globs
	}
}

// apply gives a find the readers of all its names, and their modes where these differ.
func (n *names) apply(c *Candidate) {
	if len(n.modes) == 0 {
		return
	}
	c.Readers = slices.Sorted(maps.Keys(n.modes))
	own, differ := modeOf(&c.Resource), false
	list := make([]string, len(c.Readers))
	for i, reader := range c.Readers {
		list[i] = reader + "=" + n.modes[reader]
		differ = differ || n.modes[reader] != own
	}
	if !differ {
		return
	}
	attributes := make(Attributes, len(c.Attributes)+2)
	maps.Copy(attributes, c.Attributes)
	attributes[AttributeModes] = Attribute{List: list}
	if globs, ok := attributes[attributeGlobs]; (!ok || globs.Text == "" && globs.List == nil) && (n.globs.Text != "" || n.globs.List != nil) {
		attributes[attributeGlobs] = n.globs
	}
	c.Attributes = attributes
}

// ReadersByMode returns the readers that read a resource in each mode, where names of one
// file differ in that; nil if they don't.
func (r *Resource) ReadersByMode() map[string][]string {
	list := r.Attributes[AttributeModes].List
	if len(list) == 0 {
		return nil
	}
	by := map[string][]string{}
	for _, one := range list {
		if reader, mode, ok := strings.Cut(one, "="); ok && slices.Contains(modes, mode) {
			by[mode] = append(by[mode], reader)
		}
	}
	return by
}
