// Package bundles finds the plugins that a root is, or lists, by the manifests at its top.
//
// # Guarantees
//
// What a manifest says is hostile: of its paths those count that are written below the
// plugin, begin nowhere else, and stay in it also where links lead. A manifest that can't
// be used costs its client's view of the plugin, and nothing else. Nothing is fetched:
// plugins of a list that lie elsewhere are told as Elsewhere.
//
// # Limits
//
// A manifest has up to 1 MiB; a root 512 plugins, and a plugin 64 paths of a kind.
package bundles

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/jsonlite"
)

const (
	// MaxManifest is how much of a manifest is read, in bytes: the largest list known
	// has 170 KB.
	MaxManifest = 1 << 20
	maxPlugins  = 512
	maxPaths    = 64
	maxDepth    = 64
)

// Manifest is a file that says what a plugin is.
type Manifest struct {
	Path       string
	Convention *conventions.Convention
}

// Plugin is a directory with what a plugin brings.
type Plugin struct {
	// Dir is relative to the root, "." for it.
	Dir, Name string
	// Version and Description are those of the list that names it.
	Version, Description string
	// List is the list that names it; empty for what the root itself is.
	List string
	// Readers are the agents that load it.
	Readers   []string
	Manifests []Manifest
	// Paths are those that manifests name beside the usual places, by the first name of
	// the usual place: skills, agents, commands, hooks, mcpServers.
	Paths map[string][]string
	// Instead are the usual places that don't count, since paths stand in their place.
	Instead []string
	// Servers are the manifests in which MCP servers stand themselves.
	Servers []Manifest
	// Installed is what an agent's own files say of one that a user has installed; nil for
	// those of a root that is a plugin or lists some.
	Installed *installed.Plugin
}

// Elsewhere is a plugin that a list names and that isn't here.
type Elsewhere struct {
	List, Name, Version, Description string
	// Source is how it is fetched, a word such as "url"; or "missing" for a path that
	// leads to no directory of the root.
	Source string
}

// Set is what was found.
type Set struct {
	Plugins   []*Plugin
	Elsewhere []Elsewhere
	Warnings  []string
}

// agentPlugins is the reader whose manifests have a closed form.
const agentPlugins = "agent-plugins"

// IsList reports whether a path is that of a list of plugins.
func IsList(p string) bool { return path.Base(p) == "marketplace.json" }

// Top is a manifest at a root's top.
type Top struct {
	Convention *conventions.Convention
	Path       string
}

// finder reads the manifests of one root.
type finder struct {
	Set
	root  fs.FS
	table []conventions.Convention
	at    map[string]*Plugin // by directory and name
	tops  []Top
}

// Find reads the manifests at the top of a root, and those of the plugins that they list.
func Find(root fs.FS, table []conventions.Convention, tops []Top) *Set {
	f := &finder{root: root, table: table, at: map[string]*Plugin{}, tops: tops}
	var own *Plugin
	for _, top := range tops {
		if IsList(top.Path) {
			continue
		}
		if v, ok := f.read(top.Convention, top.Path); ok {
			if own == nil {
				own = f.plugin(".", text(v, "name"))
			}
			f.manifest(own, top.Convention, top.Path, v)
		}
	}
	for _, top := range tops {
		if IsList(top.Path) {
			f.list(top)
		}
	}
	return &f.Set
}

// read returns a manifest that its client can use.
func (f *finder) read(c *conventions.Convention, p string) (v jsonlite.Value, ok bool) {
	data, err := guest.ReadHead(f.root, p, MaxManifest+1)
	if err != nil || len(data) > MaxManifest {
		return v, false
	}
	v, err = jsonlite.Parse(data, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: maxDepth})
	if err != nil || v.Kind() != jsonlite.Object {
		return v, false
	}
	if slices.Contains(c.Readers, agentPlugins) {
		if !IsAgentPlugin(v) {
			return v, false
		}
		problem, _ := Check(v)
		return v, problem == ""
	}
	return v, true
}

// plugin returns the one of a directory and a name, and makes it if need be.
func (f *finder) plugin(dir, name string) *Plugin {
	key := places.RealPath(f.root, dir) + "\x00" + name
	p := f.at[key]
	if p == nil {
		p = &Plugin{Dir: dir, Name: guest.Truncate(name, 256), Paths: map[string][]string{}}
		f.at[key] = p
		f.Plugins = append(f.Plugins, p)
	}
	return p
}

func (p *Plugin) readBy(readers []string) {
	for _, r := range readers {
		if !slices.Contains(p.Readers, r) {
			p.Readers = append(p.Readers, r)
		}
	}
}

// manifest takes what one says into a plugin.
func (f *finder) manifest(p *Plugin, c *conventions.Convention, at string, v jsonlite.Value) {
	p.readBy(c.Readers)
	if !slices.Contains(c.Readers, agentPlugins) { // which have fixed places
		f.paths(p, v, false)
		if servers, _ := v.Get("mcpServers"); servers.Kind() == jsonlite.Object {
			p.Servers = append(p.Servers, Manifest{Path: at, Convention: c})
		}
	}
	p.Manifests = append(p.Manifests, Manifest{Path: at, Convention: c})
}

// paths takes the paths of a manifest or of an entry in a list. Commands and agents stand
// in the place of the usual ones, skills beside them, but where a list is all there is.
func (f *finder) paths(p *Plugin, v jsonlite.Value, alone bool) {
	for _, key := range []string{"skills", "agents", "commands", "hooks", "mcpServers"} {
		e, _ := v.Get(key)
		given := false
		add := func(written string) {
			to, ok := f.within(p, written)
			if !ok {
				f.warn(p.Name + ": a path of its " + key + " leads out of the plugin, or is none; ignored")
				return
			}
			given = true
			if list := p.Paths[key]; !slices.Contains(list, to) && len(list) < maxPaths {
				p.Paths[key] = append(list, to)
			}
		}
		switch e.Kind() {
		case jsonlite.String:
			s, _ := e.Text()
			add(s)
		case jsonlite.Array:
			for one := range e.Elements() {
				if s, ok := one.Text(); ok {
					add(s)
				}
			}
		}
		if given && (alone || key == "agents" || key == "commands") && !slices.Contains(p.Instead, key) {
			p.Instead = append(p.Instead, key)
		}
	}
}

func (f *finder) warn(s string) {
	if len(f.Warnings) < 32 {
		f.Warnings = append(f.Warnings, guest.Truncate(s, 512))
	}
}

// within returns where a path of a plugin leads, relative to the root.
func (f *finder) within(p *Plugin, written string) (to string, ok bool) {
	rel, ok := local(written)
	if !ok {
		return "", false
	}
	to = path.Join(p.Dir, rel)
	return to, Inside(f.root, p.Dir, to)
}

// Inside reports whether a path stays below a directory once links are followed.
func Inside(root fs.FS, dir, p string) bool {
	top, to := places.RealPath(root, dir), places.RealPath(root, p)
	return top == "." || to == top || strings.HasPrefix(to, top+"/")
}

// local cleans a path that must lie below where it begins.
func local(written string) (rel string, ok bool) {
	if written == "" || len(written) > 1024 || strings.ContainsAny(written, "\\\x00") || path.IsAbs(written) || slices.Contains(strings.Split(written, "/"), "..") {
		return "", false
	}
	rel = path.Clean(written)
	return rel, fs.ValidPath(rel)
}

func text(v jsonlite.Value, key string) string {
	e, _ := v.Get(key)
	s, _ := e.Text()
	return strings.TrimSpace(s)
}

// list reads a list of plugins.
func (f *finder) list(top Top) {
	v, ok := f.read(top.Convention, top.Path)
	if !ok {
		return
	}
	metadata, _ := v.Get("metadata")
	base := text(metadata, "pluginRoot")
	plugins, _ := v.Get("plugins")
	n := 0
	for e := range plugins.Elements() {
		if n++; n > maxPlugins {
			f.warn(top.Path + " lists more than " + strconv.Itoa(maxPlugins) + " plugins; the others are left out")
			return
		}
		f.entry(top, base, e)
	}
}

// entry reads one plugin of a list.
func (f *finder) entry(top Top, base string, e jsonlite.Value) {
	name := text(e, "name")
	gone := Elsewhere{List: top.Path, Name: guest.Truncate(name, 256), Version: text(e, "version"), Description: text(e, "description")}
	source, _ := e.Get("source")
	written, isText := source.Text()
	if !isText {
		if gone.Source = text(source, "source"); gone.Source != "local" {
			f.Elsewhere = append(f.Elsewhere, gone)
			return
		}
		written = text(source, "path")
	} else if base != "" && !strings.HasPrefix(written, ".") {
		written = path.Join(base, written)
	}
	dir, ok := local(written)
	if ok {
		info, err := fs.Stat(f.root, dir)
		ok = err == nil && info.IsDir()
	}
	if !ok || name == "" {
		gone.Source = "missing"
		f.Elsewhere = append(f.Elsewhere, gone)
		return
	}
	f.listed(top, f.plugin(dir, name), e)
}

// Installed reads the manifests of the plugins that a user has installed. Of those that
// are switched off, or aren't where they should be, nothing is read.
func Installed(root fs.FS, table []conventions.Convention, list []installed.Plugin) *Set {
	f := &finder{root: root, table: table, at: map[string]*Plugin{}}
	for i := range list {
		of := &list[i]
		p := &Plugin{Dir: of.Dir, Name: of.Name, Version: of.Version, List: of.List, Readers: []string{of.Reader}, Paths: map[string][]string{}, Installed: of}
		f.Plugins = append(f.Plugins, p)
		if of.State == installed.On {
			f.manifestsFor(p, of.Reader)
		}
	}
	return &f.Set
}

// manifestsFor reads the manifests that one agent reads. Claude Code's are read by others
// where a plugin has none of theirs.
func (f *finder) manifestsFor(p *Plugin, reader string) {
	f.ownManifests(p)
	others := slices.Clone(p.Manifests)
	p.Manifests = slices.DeleteFunc(p.Manifests, func(m Manifest) bool { return !slices.Contains(m.Convention.Readers, reader) })
	if len(p.Manifests) == 0 && (reader == "codex" || reader == "copilot") {
		p.Manifests = slices.DeleteFunc(others, func(m Manifest) bool { return !slices.Contains(m.Convention.Readers, "claude-code") })
	}
	p.Paths, p.Instead, p.Readers = map[string][]string{}, nil, []string{reader}
	for _, m := range p.Manifests {
		if v, ok := f.read(m.Convention, m.Path); ok && !slices.Contains(m.Convention.Readers, agentPlugins) {
			f.paths(p, v, false)
		}
	}
}

// listed completes a plugin that a list names, by its own manifests.
func (f *finder) listed(top Top, p *Plugin, e jsonlite.Value) {
	if p.List == "" {
		p.List, p.Version, p.Description = top.Path, text(e, "version"), text(e, "description")
		f.ownManifests(p)
	}
	strict, given := e.Get("strict")
	lenient, _ := strict.Bool()
	p.readBy(top.Convention.Readers)
	f.paths(p, e, given && !lenient)
}

// ownManifests reads those in a plugin's directory.
func (f *finder) ownManifests(p *Plugin) {
	if len(p.Manifests) > 0 || p.Dir == "." {
		return // read with the root's
	}
	for i := range f.table {
		c := &f.table[i]
		if !places.IsManifest(c) {
			continue
		}
		for _, place := range c.Places {
			if IsList(place) {
				continue
			}
			at := path.Join(p.Dir, place)
			if v, ok := f.read(c, at); ok {
				f.manifest(p, c, at, v)
			}
		}
	}
}

// LoadedBy reports whether one of some agents loads the plugin.
func (p *Plugin) LoadedBy(readers []string) bool {
	return slices.ContainsFunc(readers, func(r string) bool { return slices.Contains(p.Readers, r) })
}

// Reads are those of some agents that load the plugin.
func (p *Plugin) Reads(readers []string) (list []string) {
	for _, r := range readers {
		if slices.Contains(p.Readers, r) {
			list = append(list, r)
		}
	}
	return list
}

// Loaded reports whether the plugin is one that is loaded where it is.
func (p *Plugin) Loaded() bool { return p.Installed == nil || p.Installed.State == installed.On }

// Key tells the plugin from others with files of its: who loads what it brings is part of
// what is said of them.
func (p *Plugin) Key() string {
	if p.Installed != nil {
		return p.Installed.Reader + " " + p.Installed.ID
	}
	return p.Name
}

// IsAgentPlugin reports whether one of the plugin's manifests is that of Agent Plugins.
func (p *Plugin) IsAgentPlugin() bool {
	return slices.ContainsFunc(p.Manifests, func(m Manifest) bool { return slices.Contains(m.Convention.Readers, agentPlugins) })
}

// Strict reports whether nobody loads the plugin who isn't held to the open specification.
func (p *Plugin) Strict() bool {
	return !slices.ContainsFunc(p.Readers, func(r string) bool { return r != agentPlugins })
}
