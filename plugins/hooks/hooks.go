// Package hooks is the built-in resolver for hooks, wherever the table of conventions has
// them, and for the manifests of plugins.
//
// # Guarantees
//
// Files with hooks hold tokens, too. The resolver reports only a hook's event, its matcher,
// the type of its handler and a digest, and its command only if the configuration grants
// that. There is no content through which the text could leave. For a malformed file it
// reports the position of the fault.
//
// For a plugin it reports name, version and description of its manifest, and withholds the
// text.
//
// # Configuration
//
//   - grants: "hook-commands" shows what hooks run
//   - disabled, conventions, scope, base, children, plugins: as for the resolver "context"
//
// # Limits
//
// Each file is a unit. Files longer than the host keeps are reported and not read. At most
// 500 hooks of one file are reported.
package hooks

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/bundles"
	"waymark/plugins/internal/places"
	"waymark/plugins/internal/toml"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/jsonlite"
)

// Name is the resolver's name.
const Name = "hooks"

var kinds = []abi.Kind{abi.KindHook, abi.KindPlugin}

// Resolver returns the resolver of a table, which is prepared here and not in each run.
func Resolver(table []conventions.Convention) guest.Resolver {
	pair, all := places.CompilePair(table, kinds), places.CompilePair(table, brought)
	return guest.Resolver{
		Name:    Name,
		Kinds:   kinds,
		Summary: "hooks, and the manifests of plugins, of all agents",
		Ignores: []string{abi.IgnoreRootName},
		Reads:   places.Manifests(table, places.Reads(table, kinds, conventions.ScopeProject, conventions.ScopeUser)),
		Resolve: func(req *guest.Request, root fs.FS) (*guest.Response, error) {
			if req.Root.Role != abi.RoleNone {
				return nil, nil
			}
			f := &finder{req: req, root: root}
			var err error
			if f.Settings, err = places.Configure(req.Config, kinds); err != nil {
				return nil, err
			}
			f.commands = slices.Contains(f.Grants, "hook-commands")
			if req.Root.File != "" {
				f.Settings.File(pair, req.Root.File, f)
			} else {
				f.Walk(pair, root, f)
				f.plugins(table, pair, all)
				for _, dir := range f.Children() {
					f.below = dir + "/"
					f.WalkChild(pair, root, dir, f)
				}
			}
			return &f.resp, nil
		},
	}
}

// finder gathers the resources of one root.
type finder struct {
	places.Settings
	req      *guest.Request
	root     fs.FS
	commands bool // are granted
	resp     guest.Response
	buf      []byte // holds one file after the other
	// below is the directory that is searched, with a slash; empty for the root.
	below  string
	tops   []bundles.Manifest // manifests at the top
	plugin *bundles.Plugin    // that is being searched
}

// Skip implements places.Visitor.
func (f *finder) Skip(c *conventions.Convention) bool {
	return f.Disabled(c) || f.plugin != nil && !f.plugin.LoadedBy(c.Readers)
}

// Unreadable implements places.Visitor.
func (f *finder) Unreadable(_ *conventions.Convention, dir string, err error) {
	f.resp.Warnings = append(f.resp.Warnings, guest.Truncate(dir+": "+err.Error(), abi.MaxError))
}

// Skill implements places.Visitor. There are none here.
func (f *finder) Skill(*conventions.Convention, string, fs.DirEntry) bool { return false }

// File implements places.Visitor.
func (f *finder) File(c *conventions.Convention, p string) {
	if f.Again(c, p) {
		return
	}
	key := c.ID + " " + p
	if f.plugin != nil {
		key += " of " + f.plugin.Key()
	} else if f.below == "" && places.IsManifest(c) {
		f.tops = append(f.tops, bundles.Manifest{Path: p, Convention: c})
	}
	part := f.req.Part(key, func() guest.Part { return f.read(c, p) })
	if part.Rows.Len() > 0 {
		f.resp.Rows = append(f.resp.Rows, part.Rows)
	}
}

// read reads one file.
func (f *finder) read(c *conventions.Convention, p string) (part guest.Part) {
	limit := places.ReadLimit(f.req)
	if places.IsManifest(c) {
		limit = bundles.MaxManifest
	}
	if len(f.buf) <= limit {
		f.buf = make([]byte, limit+1)
	}
	text, read, state := places.Read(f.root, p, f.buf[:limit+1])
	var rows []guest.Resource
	switch {
	case state == places.Absent:
		return part
	case state == places.Invalid:
		rows = []guest.Resource{broken(c, p, places.LinkToDirectory)}
	case !read || len(text) > limit:
		// The host says what is wrong.
		rows = []guest.Resource{{Kind: c.Kind, Path: p, Convention: c.ID, Name: places.Name(c, f.place(p)), Content: withheld(p)}}
	case c.Kind == abi.KindPlugin:
		rows = append(f.leadsTo(p, plugin(c, p, f.place(p), text), text), f.inline(c, p, text)...)
	default:
		rows = f.hooks(c, p, text)
	}
	if f.plugin != nil {
		for i := range rows {
			attribute(&rows[i], "plugin", f.plugin.Name)
			if rows[i].Kind != guest.Plugin || f.plugin.Installed != nil {
				rows[i].Readers = f.plugin.Reads(c.Readers)
			}
		}
	}
	part.Rows = guest.Encode(rows...)
	return part
}

// place returns a path relative to the directory that is searched.
func (f *finder) place(p string) string { return p[len(f.below):] }

func withheld(p string) *guest.Content {
	return &guest.Content{File: p, Withheld: true}
}

func broken(c *conventions.Convention, p, reason string) guest.Resource {
	return guest.Resource{Kind: c.Kind, Path: p, Convention: c.ID, Status: abi.StatusInvalid, Error: reason}
}

// inline reads the hooks in a manifest itself: as in a file, or below a key of their own, or
// a list of such.
func (f *finder) inline(c *conventions.Convention, p string, text []byte) (rows []guest.Resource) {
	if c.Format != conventions.JSON || bundles.IsList(p) || !slices.Contains(c.Readers, "claude-code") && !slices.Contains(c.Readers, "codex") {
		return nil
	}
	manifest, reason := parse(c.Format, text)
	if reason != "" {
		return nil
	}
	given, _ := manifest.Get("hooks")
	list := []jsonlite.Value{given}
	if given.Kind() == jsonlite.Array {
		list = slices.Collect(given.Elements())
	}
	name := textOf(manifest, "name")
	for i, v := range list {
		if v.Kind() != jsonlite.Object {
			continue
		}
		if inner, ok := v.Get("hooks"); !ok || inner.Kind() != jsonlite.Object {
			v = wrapped(v)
		}
		for _, r := range f.rowsOf(c, p, v, true) {
			if r.Convention = pluginHooks; len(list) > 1 {
				r.Key = strconv.Itoa(i) + "/" + r.Key
			}
			if f.plugin == nil && name != "" {
				attribute(&r, "plugin", guest.Truncate(name, abi.MaxName))
			}
			if rows = append(rows, r); len(rows) == maxHooks {
				return rows
			}
		}
	}
	return rows
}

// pluginHooks is the convention of a plugin's hooks.
const pluginHooks = "plugin-hooks"

// wrapped puts a map of events below the key that files use.
func wrapped(v jsonlite.Value) jsonlite.Value {
	var w jsonlite.Writer
	w.BeginObject()
	w.Key("hooks")
	w.Raw(v.Raw())
	w.EndObject()
	out, err := jsonlite.Parse(w.Bytes(), jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: places.JSONDepth})
	if err != nil {
		return jsonlite.Value{}
	}
	return out
}

// hooks reads a file with hooks.
func (f *finder) hooks(c *conventions.Convention, p string, text []byte) []guest.Resource {
	if c.Format == conventions.Executable {
		event := word(places.Name(c, f.place(p)))
		return []guest.Resource{hook(c, p, event, event+"/0/0", "", "executable", bundles.Digest(text))}
	}
	v, reason := parse(c.Format, text)
	if reason != "" {
		return []guest.Resource{broken(c, p, reason)}
	}
	named := strings.Contains(f.place(p), "hooks")
	rows := f.rowsOf(c, p, v, named)
	if reason := dropped(v, named); len(rows) == 0 && reason != "" {
		return []guest.Resource{broken(c, p, reason)}
	}
	return rows
}

// rowsOf returns the rows of the hooks in a value.
func (f *finder) rowsOf(c *conventions.Convention, p string, v jsonlite.Value, named bool) (rows []guest.Resource) {
	for h := range handlers(v, named) {
		if len(rows) == maxHooks {
			break
		}
		key := h.event + "/" + strconv.Itoa(h.group) + "/" + strconv.Itoa(h.index)
		r := hook(c, p, h.event, key, h.matcher, handlerType(h.handler), bundles.Digest(canonical(h.handler)))
		if f.commands {
			if command := commandOf(h.handler); command != "" {
				r.Attributes["command"] = abi.String(guest.Truncate(command, maxCommand))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

const (
	// maxHooks is far more than anybody has in a file.
	maxHooks = 500
	// maxCommand keeps a command within a resource's attributes, in bytes.
	maxCommand = 4 << 10
)

func hook(c *conventions.Convention, p, event, key, matcher, handler, sum string) guest.Resource {
	r := guest.Resource{Kind: guest.Hook, Path: p, Key: key, Name: event, Convention: c.ID, Attributes: map[string]guest.Value{
		"event": abi.String(event), "type": abi.String(handler), "digest": abi.String(sum),
	}}
	if matcher != "" {
		r.Attributes["matcher"] = abi.String(guest.Truncate(matcher, abi.MaxName))
	}
	return r
}

// parse reads a file's text as JSON, converting TOML first. The reason says what is wrong and
// where, without quoting the text.
func parse(format conventions.Format, text []byte) (v jsonlite.Value, reason string) {
	var err error
	if format == conventions.TOML {
		v, err = toml.Parse(text)
	} else {
		v, err = jsonlite.Parse(text, jsonlite.Options{AllowComments: true, AllowDuplicates: true, AllowInvalidUTF8: true, MaxDepth: places.JSONDepth})
	}
	if syntax, ok := errors.AsType[*jsonlite.SyntaxError](err); ok {
		return v, "invalid JSON in line " + strconv.Itoa(syntax.Line(text)) + ": " + syntax.Reason
	}
	if err != nil {
		return v, err.Error()
	}
	if v.Kind() != jsonlite.Object {
		return v, "line 1: it is " + string(v.Kind()) + ", where an object belongs"
	}
	return v, ""
}

// agentPlugin is the convention of the open specification's manifest, whose name other
// programs use, too.
const agentPlugin = "agent-plugin"

// plainList is GitHub Copilot's list of plugins, whose name other programs use, too.
const plainList = "marketplace.json"

// plugin reads a plugin's manifest at a place of the table.
func plugin(c *conventions.Convention, p, place string, text []byte) []guest.Resource {
	r := guest.Resource{Kind: guest.Plugin, Path: p, Convention: c.ID, Name: places.Name(c, place), Content: withheld(p)}
	fields := map[string]string{}
	switch c.Format {
	case conventions.JSON, conventions.TOML:
		v, reason := parse(c.Format, text)
		if c.ID == agentPlugin && reason != "" && !bundles.MentionsAgentPlugin(text) || place == plainList && !bundles.IsListOfPlugins(v) {
			return nil // probably another program's
		}
		if reason != "" {
			r.Status, r.Error = abi.StatusInvalid, reason
			break
		}
		for key, e := range v.Members() {
			fields[key], _ = e.Text()
		}
		if c.ID == agentPlugin {
			if !bundles.IsAgentPlugin(v) {
				return nil
			}
			problem, ignored := bundles.Check(v)
			if problem != "" {
				r.Status, r.Error = abi.StatusInvalid, problem
			}
			for _, note := range ignored[:min(len(ignored), abi.MaxFindings)] {
				r.Findings = append(r.Findings, guest.Finding{Code: abi.FindingUnknownField, Severity: abi.SeverityWarning, Message: guest.Truncate(note, abi.MaxMessage)})
			}
		}
	case conventions.Markdown, conventions.YAML:
		block, _, err := frontmatter.Find(text, true)
		if err != nil {
			break
		}
		v, err := frontmatter.Parse(block, frontmatter.Options{Lenient: true})
		if err != nil {
			r.Findings = []guest.Finding{{Code: abi.FindingFrontmatterInvalid, Severity: abi.SeverityWarning, Message: "front matter can't be read"}}
		}
		for _, m := range v.Map {
			if m.Value.Kind == frontmatter.String {
				fields[m.Key] = m.Value.Text
			}
		}
	}
	describe(&r, c, fields)
	return []guest.Resource{r}
}

// pathKeys are the fields of a manifest that name paths of the plugin.
var pathKeys = []string{"skills", "commands", "agents", "hooks", "mcpServers", "rules"}

// leadsTo adds to the row of a manifest which of the paths that it names lead nowhere.
func (f *finder) leadsTo(p string, rows []guest.Resource, text []byte) []guest.Resource {
	v, reason := parse(conventions.JSON, text)
	if len(rows) != 1 || rows[0].Status == abi.StatusInvalid || reason != "" || bundles.IsList(p) {
		return rows
	}
	dir := path.Dir(p)
	if strings.HasPrefix(path.Base(dir), ".") && dir != "." { // .claude-plugin and the like
		dir = path.Dir(dir)
	}
	for _, key := range pathKeys {
		value, _ := v.Get(key)
		list := []jsonlite.Value{value}
		if value.Kind() == jsonlite.Array {
			list = slices.Collect(value.Elements())
		}
		for _, one := range list {
			to, ok := one.Text()
			if !ok || to == "" || strings.ContainsAny(to, "*?$:") || len(rows[0].Findings) == abi.MaxFindings {
				continue
			}
			at := path.Join(dir, to)
			if _, err := fs.Stat(f.root, at); fs.ValidPath(at) && errors.Is(err, fs.ErrNotExist) {
				rows[0].Findings = append(rows[0].Findings, guest.Finding{
					Code: abi.FindingPathMissing, Severity: abi.SeverityWarning,
					Message: guest.Truncate(key+" names "+strconv.Quote(guest.Truncate(to, 80))+", which leads nowhere", abi.MaxMessage),
				})
			}
		}
	}
	return rows
}

func describe(r *guest.Resource, c *conventions.Convention, fields map[string]string) {
	if r.Status == abi.StatusInvalid || c.Name != conventions.FromField {
		return
	}
	if name := strings.TrimSpace(fields["name"]); name != "" {
		r.Name = guest.Truncate(name, abi.MaxName)
	} else {
		if dir := path.Dir(path.Dir(r.Path)); dir != "." {
			r.Name = guest.Truncate(path.Base(dir), abi.MaxName)
		}
		r.Findings = append(r.Findings, guest.Finding{Code: abi.FindingNameMissing, Severity: abi.SeverityWarning, Message: "the manifest has no name"})
	}
	r.Description = guest.Truncate(strings.TrimSpace(fields["description"]), abi.MaxDescription)
	if version := fields["version"]; version != "" {
		attribute(r, "version", guest.Truncate(version, abi.MaxWord))
	}
}
