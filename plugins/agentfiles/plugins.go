package agentfiles

import (
	"io/fs"
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/bundles"
	guest "waymark/sdk-guest"
)

// bundle is what a finder knows of the plugins that a root is or lists.
type bundle struct {
	tops   []bundles.Manifest
	plugin *bundles.Plugin // that is being searched
	later  []bareSkill
	had    map[string]bool // what plugins have brought
}

// bareSkill is a skill in skills/ that a plugin may turn out to bring.
type bareSkill struct {
	c   *conventions.Convention
	dir string
	e   fs.DirEntry
}

// plugins reports what the plugins of the root bring, and then the skills that none does.
func (f *finder) plugins() {
	if list := f.Plugins(); len(list) > 0 {
		f.bring(bundles.Installed(f.root, f.table, list))
	}
	if len(f.tops) == 0 {
		return
	}
	f.bring(bundles.Find(f.root, f.table, f.tops))
	f.tops = nil
	for _, s := range f.later {
		if !f.had[string(abi.KindSkill)+" "+s.dir] {
			f.Skill(s.c, s.dir, s.e)
		}
	}
}

// bring reports what plugins bring, which is nothing for those that aren't loaded.
func (f *finder) bring(set *bundles.Set) {
	f.had = map[string]bool{}
	for _, p := range set.Plugins {
		if !p.Loaded() {
			continue
		}
		f.plugin, f.below = p, ""
		if p.Dir != "." {
			f.below = p.Dir + "/"
		}
		f.WalkPlugin(f.places, f.root, p.Dir, p.Paths, p.Instead, f)
	}
	f.plugin, f.below = nil, ""
}

// putOff reports whether a skill must not be read now: those at the top wait for the plugins,
// and each one that plugins bring is read once.
func (f *finder) putOff(c *conventions.Convention, dir string, e fs.DirEntry) (known, skill bool) {
	switch {
	case f.plugin != nil:
		return f.brought(abi.KindSkill, dir), true
	case len(f.tops) > 0 && c == f.bare:
		f.later = append(f.later, bareSkill{c, dir, e})
		return true, true
	}
	return false, false
}

// brought reports whether a plugin has already brought a path, or may not bring it: in a
// plugin held to the open specification, targets of links have to lie in it, too.
func (f *finder) brought(kind abi.Kind, p string) bool {
	key := string(kind) + " " + p
	if f.had[key] {
		return true
	}
	if f.plugin.Strict() && !bundles.Inside(f.root, f.plugin.Dir, p) {
		f.warn(p + ": it leads out of its plugin and is left out")
		return true
	}
	f.had[key] = true
	return false
}

// partOfPlugin reports a file that a plugin brings.
func (f *finder) partOfPlugin(c *conventions.Convention, p string) {
	ofProject := func(c *conventions.Convention) bool { return slices.Contains(c.Places, p) }
	if f.plugin.Installed == nil && c.Kind == abi.KindInstructionFile && slices.ContainsFunc(f.instructions, ofProject) {
		return // the project's own, too, and listed as such
	}
	if !f.brought(c.Kind, p) {
		f.add(c, p)
	}
}

// partID begins the key of a unit, whose rows name the plugin.
func (f *finder) partID(c *conventions.Convention) string {
	if f.plugin == nil {
		return c.ID
	}
	return c.ID + " of " + f.plugin.Key()
}

// attributed adds the plugin that brings a resource, and which of its possible readers load
// it.
func (f *finder) attributed(c *conventions.Convention, r *guest.Resource) {
	if f.plugin == nil {
		return
	}
	attribute(r, "plugin", abi.String(f.plugin.Name))
	r.Readers = f.plugin.Reads(c.Readers)
}
