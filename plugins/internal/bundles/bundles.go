// Package bundles finds the plugins that a root is, or lists, by the manifests at its top.
//
// # Guarantees
//
// Manifests are untrusted: only paths count that are relative to the plugin and stay in it,
// even through links. An unusable manifest affects only its client's view of the plugin.
// Nothing is downloaded: listed plugins that lie elsewhere are reported as Elsewhere.
//
// # Limits
//
// A manifest has up to 1 MiB; a root 512 plugins, and a plugin 1024 paths of a kind. A
// warning reports what exceeds that.
package bundles

import (
	"bytes"
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
	// MaxManifest is how much of a manifest is read, in bytes: the largest known list has 170
	// KB.
	MaxManifest = 1 << 20
	maxPlugins  = 512
	// maxPaths allows for the largest known plugin, which names each of its 134 skills.
	maxPaths = 1024
	maxDepth = 64
)

// Manifest is a file that describes a plugin.
type Manifest struct {
	Path       string
	Convention *conventions.Convention
}

// Plugin is a directory with what a plugin brings.
type Plugin struct {
	// Dir is relative to the root, "." for the root itself.
	Dir, Name string
	// Version and Description are those of the list that names it.
	Version, Description string
	// List is the list that names it; empty for what the root itself is.
	List string
	// Readers are the agents that load it.
	Readers   []string
	Manifests []Manifest
	// Broken are unusable manifests: agents that read one of them don't load the plugin.
	Broken []Manifest
	// Paths are those that manifests name besides the usual places, by the first name of the
	// usual place: skills, agents, commands, rules, hooks, mcpServers, GEMINI.md.
	Paths map[string][]string
	// Instead are the usual places that don't count because paths replace them.
	Instead []string
	// standard are those of the readers that load only what the open specification has, as
	// the plugin's manifest asks them to.
	standard []string
	// replaced counts, for each usual place, the manifests with paths that replace it.
	replaced map[string]int
	// views counts the manifests that can do so.
	views int
	// Servers are the manifests that contain MCP servers.
	Servers []Manifest
	// Installed is what an agent's own files say of a plugin that a user has installed; nil
	// for those of a root that is a plugin or lists some.
	Installed *installed.Plugin
}

// Elsewhere is a plugin that a list names and that isn't here.
type Elsewhere struct {
	List, Name, Version, Description string
	// Readers are the agents that read the list.
	Readers []string
	// Source is how it is downloaded, a word such as "url"; or "missing" for a path that
	// leads to no directory of the root.
	Source string
}

// Set is what was found.
type Set struct {
	Plugins   []*Plugin
	Elsewhere []Elsewhere
	Warnings  []string
}

// Readers for which the files of others matter.
const (
	// agentPlugins stands for all agents that follow the open specification, whose manifests
	// have a closed form.
	agentPlugins = "agent-plugins"
	claudeCode   = "claude-code"
	copilot      = "copilot"
	codex        = "codex"
	cursor       = "cursor"
	gemini       = "gemini"
)

// parts are the fields of manifests with paths of what a plugin brings, which are also the
// first names of the usual places.
var parts = []string{"skills", "agents", "commands", "rules", "hooks", "mcpServers"}

// context is the usual place of an extension's instructions to the model of Gemini CLI.
const context = "GEMINI.md"

// IsList reports whether a path is that of a list of plugins.
func IsList(p string) bool { return path.Base(p) == "marketplace.json" }

// finder reads the manifests of one root.
type finder struct {
	Set
	root  fs.FS
	table []conventions.Convention
	at    map[string]*Plugin // by directory and name
	tops  []Manifest
	buf   []byte // holds one manifest after the other
}

// Find reads the manifests at the top of a root, and those of the plugins that they list.
func Find(root fs.FS, table []conventions.Convention, tops []Manifest) *Set {
	f := &finder{root: root, table: table, at: map[string]*Plugin{}, tops: tops}
	var own *Plugin
	var unusable []Manifest
	for _, top := range tops {
		if IsList(top.Path) {
			continue
		}
		switch v, state := f.read(top.Convention, top.Path); state {
		case usable:
			if own == nil {
				own = f.plugin(".", text(v, "name"))
			}
			f.manifest(own, top.Convention, top.Path, v)
		case broken:
			unusable = append(unusable, top)
		}
	}
	if own != nil {
		own.Broken = unusable
		own.settle()
	}
	lists := f.lists()
	for i := range lists {
		f.list(&lists[i], readersOf(lists, i))
	}
	for _, p := range f.Plugins {
		p.replace()
	}
	return &f.Set
}

// list is a list of plugins that can be used.
type list struct {
	Manifest
	v jsonlite.Value
}

func (m Manifest) convention() *conventions.Convention { return m.Convention }

// lists reads the lists of plugins.
func (f *finder) lists() (lists []list) {
	for _, top := range f.tops {
		if !IsList(top.Path) {
			continue
		}
		if v, state := f.read(top.Convention, top.Path); state == usable && IsListOfPlugins(v) {
			lists = append(lists, list{top, v})
		}
	}
	return lists
}

// IsListOfPlugins reports whether a file is a list of plugins, and not another program's
// with the name of one.
func IsListOfPlugins(v jsonlite.Value) bool {
	plugins, _ := v.Get("plugins")
	return plugins.Kind() == jsonlite.Array
}

// readersOf are the agents that read one of some files that are to the same end: several
// read Claude Code's, and only where there is none of their own.
func readersOf[T interface {
	convention() *conventions.Convention
}](files []T, i int) (readers []string) {
	c := files[i].convention()
	shared := slices.Contains(c.Readers, claudeCode)
	for _, r := range c.Readers {
		own := shared && (r == codex || r == copilot) && slices.ContainsFunc(files, func(other T) bool {
			of := other.convention().Readers
			return !slices.Contains(of, claudeCode) && (slices.Contains(of, r) || slices.Contains(of, agentPlugins))
		})
		if !own {
			readers = append(readers, r)
		}
	}
	return readers
}

// settle says who reads the plugin, once its manifests are known.
func (p *Plugin) settle() {
	p.Readers = nil
	all := p.manifests()
	for i := range p.Manifests {
		p.readBy(readersOf(all, i))
	}
}

// manifests are all that there are, those that can be used first.
func (p *Plugin) manifests() []Manifest { return slices.Concat(p.Manifests, p.Broken) }

// rejectedBy reports whether an agent doesn't load the plugin, since it can't use the
// manifest that it reads.
func (p *Plugin) rejectedBy(reader string) bool {
	all := p.manifests()
	for i := len(p.Manifests); i < len(all); i++ {
		c := all[i].Convention
		if slices.Contains(readersOf(all, i), reader) || slices.Contains(c.Readers, agentPlugins) && reader != claudeCode && !hasOwn(all, reader) {
			return true
		}
	}
	return false
}

// replace says which of the usual places don't count: those in whose place every manifest
// has paths, since an agent reads only some of them.
func (p *Plugin) replace() {
	for _, part := range append(slices.Clone(parts), context) {
		if n := p.replaced[part]; n > 0 && n >= p.views && !slices.Contains(p.Instead, part) {
			p.Instead = append(p.Instead, part)
		}
	}
}

// What can be said of a manifest.
type state int

const (
	absent state = iota // or another program's
	broken
	usable
)

// read returns a manifest that its client can use.
func (f *finder) read(c *conventions.Convention, p string) (v jsonlite.Value, is state) {
	if f.buf == nil {
		f.buf = make([]byte, MaxManifest+1)
	}
	data, err := guest.ReadHeadInto(f.root, p, f.buf)
	if err != nil {
		return v, absent
	}
	if IsList(p) { // which is needed while others are read
		data = bytes.Clone(data)
	}
	open := slices.Contains(c.Readers, agentPlugins)
	if len(data) <= MaxManifest {
		v, err = jsonlite.Parse(data, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: maxDepth})
	}
	switch {
	case len(data) > MaxManifest || err != nil || v.Kind() != jsonlite.Object:
		if open && !MentionsAgentPlugin(data) {
			return v, absent
		}
		return v, broken
	case open && !IsAgentPlugin(v):
		return v, absent
	case open:
		if problem, _ := Check(v); problem != "" {
			return v, broken
		}
	}
	return v, usable
}

// plugin returns the one of a directory and a name, and makes it if need be.
func (f *finder) plugin(dir, name string) *Plugin {
	key := places.RealPath(f.root, dir) + "\x00" + name
	p := f.at[key]
	if p == nil {
		p = &Plugin{Dir: dir, Name: guest.Truncate(name, 256), Paths: map[string][]string{}, replaced: map[string]int{}}
		f.at[key] = p
		f.Plugins = append(f.Plugins, p)
	}
	return p
}

func (p *Plugin) readBy(readers []string) {
	for _, r := range readers {
		if !slices.Contains(p.Readers, r) && !p.rejectedBy(r) {
			p.Readers = append(p.Readers, r)
		}
	}
}

// manifest takes what one says into a plugin.
func (f *finder) manifest(p *Plugin, c *conventions.Convention, at string, v jsonlite.Value) {
	p.views++
	if !slices.Contains(c.Readers, agentPlugins) { // which have fixed places
		for _, part := range f.paths(p, v) {
			if part == "agents" || part == "commands" || slices.Contains(c.Readers, cursor) {
				p.replaced[part]++
			}
		}
		if slices.Contains(c.Readers, gemini) && f.part(p, context, "contextFileName", v) {
			p.replaced[context]++
		}
		if servers, _ := v.Get("mcpServers"); servers.Kind() == jsonlite.Object {
			p.Servers = append(p.Servers, Manifest{Path: at, Convention: c})
		}
	}
	p.Manifests = append(p.Manifests, Manifest{Path: at, Convention: c})
}

// paths takes the paths of a manifest or of an entry in a list, and returns the parts that
// have some.
func (f *finder) paths(p *Plugin, v jsonlite.Value) (with []string) {
	for _, key := range parts {
		if f.part(p, key, key, v) {
			with = append(with, key)
		}
	}
	return with
}

// part takes the paths of one part from a field, and reports whether there were some.
func (f *finder) part(p *Plugin, key, field string, v jsonlite.Value) (given bool) {
	e, _ := v.Get(field)
	add := func(of jsonlite.Value) {
		written, ok := of.Text()
		if !ok {
			return
		}
		to, ok := f.within(p, written)
		if !ok {
			f.warn(p.Name + ": a path of its " + field + " leads out of the plugin, or is none; ignored")
			return
		}
		given = true
		switch list := p.Paths[key]; {
		case slices.Contains(list, to):
		case len(list) < maxPaths:
			p.Paths[key] = append(list, to)
		default:
			f.warn(p.Name + ": it names more than " + strconv.Itoa(maxPaths) + " " + field + "; the others are left out")
		}
	}
	switch e.Kind() {
	case jsonlite.String:
		add(e)
	case jsonlite.Array:
		for one := range e.Elements() {
			add(one)
		}
	case jsonlite.Object:
		if key == "commands" { // by their names, with the file of each
			for _, command := range e.Members() {
				source, _ := command.Get("source")
				add(source)
			}
		}
	}
	return given
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
func (f *finder) list(l *list, readers []string) {
	metadata, _ := l.v.Get("metadata")
	base := text(metadata, "pluginRoot")
	plugins, _ := l.v.Get("plugins")
	n := 0
	for e := range plugins.Elements() {
		if n++; n > maxPlugins {
			f.warn(l.Path + " lists more than " + strconv.Itoa(maxPlugins) + " plugins; the others are left out")
			return
		}
		f.entry(l.Manifest, base, e, readers)
	}
}

// entry reads one plugin of a list.
func (f *finder) entry(top Manifest, base string, e jsonlite.Value, readers []string) {
	name := text(e, "name")
	gone := Elsewhere{Readers: readers, List: top.Path, Name: guest.Truncate(name, 256), Version: text(e, "version"), Description: text(e, "description")}
	source, _ := e.Get("source")
	written, isText := source.Text()
	if !isText {
		if gone.Source = text(source, "source"); gone.Source != "local" {
			f.Elsewhere = append(f.Elsewhere, gone)
			return
		}
		written = text(source, "path")
	} else if base != "" && written != "" && !strings.HasPrefix(written, ".") {
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
	f.listed(top, f.plugin(dir, name), e, readers)
}

// Installed reads the manifests of the plugins that a user has installed. Of those that
// are switched off, or aren't where they should be, nothing is read.
func Installed(root fs.FS, table []conventions.Convention, list []installed.Plugin) *Set {
	f := &finder{root: root, table: table, at: map[string]*Plugin{}}
	for i := range list {
		of := &list[i]
		p := &Plugin{Dir: of.Dir, Name: of.Name, Version: of.Version, List: of.List, Readers: []string{of.Reader}, Paths: map[string][]string{}, replaced: map[string]int{}, Installed: of}
		f.Plugins = append(f.Plugins, p)
		if of.State == installed.On {
			f.manifestsFor(p, of.Reader)
		}
	}
	return &f.Set
}

// manifestsFor reads the manifests that one agent reads.
func (f *finder) manifestsFor(p *Plugin, reader string) {
	f.ownManifests(p)
	all := p.manifests()
	p.Manifests, p.Servers, p.Paths, p.replaced, p.views = nil, nil, map[string][]string{}, map[string]int{}, 0
	for i, m := range all {
		standard := slices.Contains(m.Convention.Readers, agentPlugins) && !hasOwn(all, reader)
		if !standard && !slices.Contains(readersOf(all, i), reader) {
			continue
		}
		if v, state := f.read(m.Convention, m.Path); state == usable {
			f.manifest(p, m.Convention, m.Path, v)
		}
	}
	if p.Readers = nil; !p.rejectedBy(reader) {
		p.Readers = []string{reader}
	}
	p.heldTo(reader)
	p.replace()
}

// hasOwn reports whether one of some manifests is for an agent, and none that others read,
// too.
func hasOwn(manifests []Manifest, reader string) bool {
	return slices.ContainsFunc(manifests, func(m Manifest) bool {
		return slices.Contains(m.Convention.Readers, reader) && (reader == claudeCode || !slices.Contains(m.Convention.Readers, claudeCode))
	})
}

// heldTo says that an agent holds to the open specification where the plugin's manifest is
// of that and it has none of its own. Claude Code knows of no such manifests.
func (p *Plugin) heldTo(reader string) {
	if reader != claudeCode && reader != agentPlugins && p.IsAgentPlugin() && !hasOwn(p.Manifests, reader) && !slices.Contains(p.standard, reader) {
		p.standard = append(p.standard, reader)
	}
}

// listed completes a plugin that a list names, by its own manifests. An entry that isn't
// strict is all there is: its paths stand in the place of the usual ones.
func (f *finder) listed(top Manifest, p *Plugin, e jsonlite.Value, readers []string) {
	if p.List == "" {
		p.List, p.Version, p.Description = top.Path, text(e, "version"), text(e, "description")
		if len(p.Manifests) == 0 && p.Dir != "." { // which were read with the root's
			f.ownManifests(p)
		}
		p.settle()
	}
	if p.Dir != "." && slices.Contains(readers, copilot) {
		f.plainManifest(p)
	}
	p.readBy(readers)
	for _, r := range readers {
		p.heldTo(r)
	}
	strict, given := e.Get("strict")
	lenient, _ := strict.Bool()
	for _, part := range f.paths(p, e) {
		if alone := given && !lenient; (alone || part == "agents" || part == "commands") && !slices.Contains(p.Instead, part) {
			p.Instead = append(p.Instead, part)
		}
	}
}

// ownManifests reads those in a plugin's directory.
func (f *finder) ownManifests(p *Plugin) {
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
			switch v, state := f.read(c, at); state {
			case usable:
				f.manifest(p, c, at, v)
			case broken:
				p.Broken = append(p.Broken, Manifest{Path: at, Convention: c})
			}
		}
	}
}

// plainManifest reads the file of Agent Plugins' name in a plugin's directory as GitHub
// Copilot does, which takes it for a manifest of its own where it names no specification.
// At the top of a root, where nobody has said that there is a plugin, the file may be any
// program's.
func (f *finder) plainManifest(p *Plugin) {
	if p.IsAgentPlugin() || hasOwn(p.manifests(), copilot) || p.rejectedBy(copilot) {
		return
	}
	at := path.Join(p.Dir, AgentPlugin)
	for i := range f.table {
		c := &f.table[i]
		if !places.IsManifest(c) || IsList(c.Places[0]) || !slices.Contains(c.Readers, copilot) || slices.Contains(c.Readers, claudeCode) {
			continue
		}
		if v, state := f.read(c, at); state == usable && text(v, "name") != "" && !IsAgentPlugin(v) {
			f.manifest(p, c, at, v)
		}
	}
}

// LoadedBy reports whether one of the readers of a convention loads what it has of the
// plugin.
func (p *Plugin) LoadedBy(readers []string) bool {
	return slices.ContainsFunc(p.Readers, func(r string) bool { return p.loads(r, readers) })
}

// Reads are those who load it, in their order.
func (p *Plugin) Reads(readers []string) (list []string) {
	for _, r := range p.Readers {
		if p.loads(r, readers) {
			list = append(list, r)
		}
	}
	slices.Sort(list)
	return list
}

func (p *Plugin) loads(reader string, readers []string) bool {
	if slices.Contains(p.standard, reader) {
		return slices.Contains(readers, agentPlugins)
	}
	return slices.Contains(readers, reader)
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
	return !slices.ContainsFunc(p.Readers, func(r string) bool { return r != agentPlugins && !slices.Contains(p.standard, r) })
}
