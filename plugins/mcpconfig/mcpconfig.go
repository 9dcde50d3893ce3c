// Package mcpconfig is the built-in resolver for MCP configuration files: those that the
// table of conventions has, of any client, or the file that a root of role "mcp" names.
//
// # Guarantees
//
// Such files hold tokens. The resolver checks the form, in the format of the file's client,
// and reports the path and the convention, never anything from the file. The host keeps
// neither text nor error. The resolver ignores an invalid entry, which affects only itself.
//
// A missing place costs nothing: directories are listed, and only wanted names in them are
// looked into.
//
// # Configuration
//
//   - disabled: ids of conventions that are ignored
//   - conventions: an operator's rows, after the table's. Their files have the format that
//     their names imply; see servers.ShapeOf
//   - scope, base: places of the scope "user" are relative to the home directory, of which
//     the root is base
//   - children, plugins: as for the resolver "context"
//
// # Limits
//
// A file longer than the host keeps is reported unchecked: its status is oversize whatever it
// contains.
package mcpconfig

import (
	"io/fs"
	"path"
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	"waymark/plugins/internal/bundles"
	"waymark/plugins/internal/places"
	"waymark/plugins/mcpconfig/servers"
	guest "waymark/sdk-guest"
)

// Name is the resolver's name.
const Name = "mcp-config"

// fileName is the file of a root of role "mcp" that names none.
const fileName = ".mcp.json"

var kinds = []abi.Kind{abi.KindMCPConfig}

// Resolver returns the resolver.
func Resolver() guest.Resolver {
	pair := places.CompilePair(conventions.All, kinds)
	return guest.Resolver{
		Name:    Name,
		Kinds:   kinds,
		Summary: "MCP configurations of all agents",
		Reads:   reads(),
		Ignores: []string{abi.IgnoreRootName},
		Resolve: func(req *guest.Request, root fs.FS) (*guest.Response, error) { return resolve(pair, req, root) },
	}
}

// reads returns the places one by one: nothing else of this resolver may be shown.
func reads() (patterns []string) {
	for i := range conventions.All {
		c := &conventions.All[i]
		if c.Kind != abi.KindMCPConfig || c.Scope != conventions.ScopeProject && c.Scope != conventions.ScopeUser {
			continue
		}
		for _, place := range c.Places {
			if !slices.Contains(patterns, place) {
				patterns = append(patterns, place)
			}
		}
	}
	return places.Manifests(conventions.All, patterns)
}

func resolve(pair places.Pair, req *guest.Request, root fs.FS) (*guest.Response, error) {
	f := &finder{req: req, root: root}
	var err error
	if f.Settings, err = places.Configure(req.Config, kinds); err != nil {
		return nil, err
	}
	switch {
	case req.Root.Role == abi.RoleMCP:
		name := req.Root.File
		if name == "" {
			name = fileName
		}
		f.add(f.named(name), name, path.Join(req.Root.Name, name))
	case req.Root.Role != abi.RoleNone:
		return nil, nil
	case req.Root.File != "":
		f.Settings.File(pair, req.Root.File, f)
	default:
		f.Walk(pair, root, f)
		f.plugins(pair)
		for _, dir := range f.Children() {
			f.below = dir + "/"
			f.WalkChild(pair, root, dir, f)
		}
	}
	if len(f.resp.Resources) == 0 && len(f.resp.Warnings) == 0 {
		return nil, nil
	}
	return &f.resp, nil
}

// finder gathers the files of one root. It is the places.Visitor of its walks.
type finder struct {
	places.Settings
	req  *guest.Request
	root fs.FS
	resp guest.Response
	buf  []byte // holds one file after the other
	// below is the directory that is searched, with a slash; empty for the root.
	below string

	tops   []bundles.Manifest // manifests at the top
	plugin *bundles.Plugin    // that is being searched
}

// named returns the id of the convention for a file name from the root's configuration; empty
// if there is none.
func (f *finder) named(name string) string {
	for i := range conventions.All {
		c := &conventions.All[i]
		if c.Kind == abi.KindMCPConfig && (slices.Contains(c.Places, name) || slices.Contains(c.Places, path.Join(f.req.Root.Name, name))) {
			return c.ID
		}
	}
	return ""
}

// File implements places.Visitor.
func (f *finder) File(c *conventions.Convention, p string) {
	if c.Kind == abi.KindPlugin && f.below != "" {
		return // what plugins of another project bring is that project's
	}
	if c.Kind == abi.KindPlugin {
		f.tops = append(f.tops, bundles.Manifest{Path: p, Convention: c})
		return
	}
	if !f.Again(c, p) && !f.switchedOff(p) {
		f.add(c.ID, p, path.Join(f.Base(), p[len(f.below):]))
	}
}

// switchedOff reports whether a file is the manifest of an installed plugin that isn't
// loaded.
func (f *finder) switchedOff(p string) bool {
	return slices.ContainsFunc(f.Plugins(), func(of installed.Plugin) bool { return of.List == p && of.State != installed.On })
}

// Skill implements places.Visitor.
func (*finder) Skill(*conventions.Convention, string, fs.DirEntry) bool { return false }

// Unreadable implements places.Visitor.
func (f *finder) Unreadable(_ *conventions.Convention, dir string, _ error) {
	f.resp.Warnings = append(f.resp.Warnings, "a directory that may hold an MCP configuration can't be listed: "+guest.Truncate(dir, abi.MaxName))
}

// Skip implements places.Visitor.
func (f *finder) Skip(c *conventions.Convention) bool {
	return f.Disabled(c) || f.plugin != nil && !f.plugin.LoadedBy(c.Readers)
}

// plugins reports the files of the plugins that the root is, or lists. Files at the top that
// are also the project's own were already reported.
func (f *finder) plugins(pair places.Pair) {
	had := map[string]bool{}
	for i := range f.resp.Resources {
		had[f.resp.Resources[i].Path] = true
	}
	if list := f.Plugins(); len(list) > 0 {
		f.bring(pair, had, bundles.Installed(f.root, conventions.All, list))
	}
	if len(f.tops) > 0 {
		f.bring(pair, had, bundles.Find(f.root, conventions.All, f.tops))
	}
}

func (f *finder) bring(pair places.Pair, had map[string]bool, set *bundles.Set) {
	for _, p := range set.Plugins {
		if !p.Loaded() {
			continue
		}
		f.plugin = p
		f.WalkPlugin(pair, f.root, p.Dir, nil, instead(p), &once{f, had})
		for _, file := range p.Paths["mcpServers"] {
			(&once{f, had}).file(pluginServers, file, p.Readers)
		}
		for _, m := range p.Servers {
			if p.LoadedBy(m.Convention.Readers) {
				(&once{f, had}).file(pluginServers, m.Path, p.Reads(m.Convention.Readers))
			}
		}
	}
	f.plugin = nil
}

// instead returns the usual places of servers that a manifest's own replace.
func instead(p *bundles.Plugin) []string {
	if !slices.Contains(p.Instead, "mcpServers") {
		return nil
	}
	return []string{"mcp.json", fileName}
}

// pluginServers is the convention of a file that a plugin's manifest names.
const pluginServers = "plugin-dot-mcp-json"

// agentPluginServers is that of the file of Agent Plugins.
const agentPluginServers = "plugin-mcp-json"

// once reports each file once, and only those that lie in their plugin.
type once struct {
	*finder
	had map[string]bool
}

// File implements places.Visitor.
func (o *once) File(c *conventions.Convention, p string) { o.file(c.ID, p, o.plugin.Reads(c.Readers)) }

func (o *once) file(convention, p string, readers []string) {
	if !o.had[p] && bundles.Inside(o.root, o.plugin.Dir, p) {
		o.had[p] = true
		o.add(convention, p, p, readers...)
	}
}

// add reports a file, if it exists. Its place determines its format. Readers are those of a
// plugin's file, replacing its convention's.
func (f *finder) add(convention, name, place string, readers ...string) {
	limit := places.ReadLimit(f.req)
	if f.buf == nil {
		f.buf = make([]byte, limit+1)
	}
	text, read, state := places.Read(f.root, name, f.buf)
	if state == places.Absent {
		return
	}
	r := guest.Resource{Kind: guest.MCPConfig, Path: name, Content: guest.File(name), Convention: convention}
	if f.plugin != nil {
		r.Attributes = map[string]guest.Value{"plugin": abi.String(f.plugin.Name)}
		r.Readers = readers
	}
	switch {
	case state == places.Invalid:
		r.Error = places.LinkToDirectory
	case read && len(text) <= limit:
		shape := servers.ShapeOf(place)
		if f.plugin != nil && convention == agentPluginServers && f.plugin.IsAgentPlugin() {
			shape = servers.AgentPlugin // even if it doesn't say so
		}
		r.Error = servers.Check(shape, text)
		if note := servers.Misplaced(shape, text); note != "" && r.Error == "" {
			r.Findings = append(r.Findings, guest.Finding{Code: abi.FindingMisplaced, Severity: abi.SeverityWarning, Message: note})
		}
	}
	if r.Error != "" {
		r.Status = abi.StatusInvalid
		r.Error = guest.Truncate(r.Error, abi.MaxError)
	}
	f.resp.Resources = append(f.resp.Resources, r)
}
