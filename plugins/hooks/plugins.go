package hooks

import (
	"io/fs"
	"path"
	"slices"
	"strconv"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	"waymark/plugins/internal/bundles"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
)

// plugins reports the plugins that the root's manifests list, and the hooks of all.
func (f *finder) plugins(table []conventions.Convention, pair, all places.Pair) {
	if list := f.Plugins(); len(list) > 0 {
		f.bring(bundles.Installed(f.root, table, list), pair, all)
	}
	if len(f.tops) > 0 {
		f.bring(bundles.Find(f.root, table, f.tops), pair, all)
	}
}

func (f *finder) bring(set *bundles.Set, pair, all places.Pair) {
	for _, p := range set.Plugins {
		if !p.Loaded() {
			f.resp.Resources = append(f.resp.Resources, unloaded(p))
			continue
		}
		f.plugin = p
		for _, m := range slices.Concat(p.Manifests, p.Broken) {
			if p.Dir != "." && (p.Installed == nil || m.Path != p.List) { // which the walk has met
				f.File(m.Convention, m.Path)
			}
		}
		f.WalkPlugin(pair, f.root, p.Dir, p.Paths, p.Instead, f)
		if p.List != "" {
			f.resp.Resources = append(f.resp.Resources, f.listed(p, all))
		}
	}
	f.plugin = nil
	for i := range set.Elsewhere {
		f.resp.Resources = append(f.resp.Resources, elsewhere(&set.Elsewhere[i]))
	}
	f.resp.Warnings = append(f.resp.Warnings, set.Warnings...)
}

// brought are the kinds that are counted of what a plugin brings.
var brought = []abi.Kind{abi.KindSkill, abi.KindSubagent, abi.KindCommand}

// listed returns the row of a plugin that a list names and that exists here, with or without
// a manifest.
func (f *finder) listed(p *bundles.Plugin, all places.Pair) guest.Resource {
	r := guest.Resource{
		Kind: guest.Plugin, Path: p.List, Key: guest.Truncate(p.Name, abi.MaxName), Name: p.Name,
		Description: guest.Truncate(p.Description, abi.MaxDescription),
	}
	r.Readers = slices.Sorted(slices.Values(p.Readers))
	attribute(&r, "plugin", p.Name)
	attribute(&r, "directory", p.Dir)
	if p.Version != "" {
		attribute(&r, "version", guest.Truncate(p.Version, abi.MaxWord))
	}
	if p.Installed != nil {
		r.Key = guest.Truncate(p.Installed.ID, abi.MaxName)
	}
	c := counter{finder: f, counts: map[abi.Kind]int{}}
	f.WalkPlugin(all, f.root, p.Dir, p.Paths, p.Instead, &c)
	for _, kind := range brought {
		if n := c.counts[kind]; n > 0 {
			attribute(&r, string(kind)+"s", strconv.Itoa(n))
		}
	}
	return r
}

// unloaded returns the row of an installed plugin of which nothing is loaded.
func unloaded(p *bundles.Plugin) guest.Resource {
	r := guest.Resource{
		Kind: guest.Plugin, Path: p.List, Key: guest.Truncate(p.Installed.ID, abi.MaxName), Name: p.Name, Readers: p.Readers,
		Findings: []guest.Finding{{Code: abi.FindingSwitchedOff, Severity: abi.SeverityInfo, Message: "it is installed and switched off: nothing of it is loaded"}},
	}
	if p.Installed.State == installed.Missing {
		r.Findings = []guest.Finding{{Code: abi.FindingNotHere, Severity: abi.SeverityWarning, Message: "it is switched on, and isn't where its agent keeps plugins"}}
	}
	if p.Dir != "" {
		attribute(&r, "directory", p.Dir)
	}
	if p.Version != "" {
		attribute(&r, "version", p.Version)
	}
	return r
}

// elsewhere returns the row of a plugin that a list names and that isn't here.
func elsewhere(p *bundles.Elsewhere) guest.Resource {
	r := guest.Resource{
		Kind: guest.Plugin, Path: p.List, Key: guest.Truncate(p.Name, abi.MaxName), Name: guest.Truncate(p.Name, abi.MaxName),
		Description: guest.Truncate(p.Description, abi.MaxDescription),
	}
	message := "it is fetched from elsewhere by who installs it, and not here"
	severity := abi.SeverityInfo
	if p.Source == "missing" {
		message, severity = "the list leads to no directory below it", abi.SeverityError
	}
	r.Readers = p.Readers
	r.Findings = []guest.Finding{{Code: abi.FindingNotHere, Severity: severity, Message: message}}
	if p.Version != "" {
		attribute(&r, "version", guest.Truncate(p.Version, abi.MaxWord))
	}
	return r
}

// counter counts what a plugin brings.
type counter struct {
	*finder
	counts map[abi.Kind]int
}

// Skill implements places.Visitor.
func (c *counter) Skill(_ *conventions.Convention, dir string, _ fs.DirEntry) bool {
	info, err := fs.Stat(c.root, path.Join(dir, places.SkillFile))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	c.counts[abi.KindSkill]++
	return true
}

// File implements places.Visitor.
func (c *counter) File(row *conventions.Convention, _ string) { c.counts[row.Kind]++ }

func attribute(r *guest.Resource, key, value string) {
	if r.Attributes == nil {
		r.Attributes = map[string]guest.Value{}
	}
	r.Attributes[key] = abi.String(value)
}
