package workspaces

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
)

// Collection is a repository that is a collection of skills, a plugin, or a list of plugins,
// as people publish them, with what is to be found in it. It is made at random, with some of
// the mistakes that people make.
type Collection struct {
	// Shape says what it is.
	Shape string
	// Files are texts by their slash-separated paths, Links the targets of links.
	Files, Links map[string]string
	// Parts are what is found.
	Parts []Part
}

// Part is something that is found in a collection.
type Part struct {
	Kind abi.Kind
	// Path is its own, of a skill its directory; of a plugin that a list names, that of
	// the list.
	Path string
	// Plugin is the one that brings it.
	Plugin  string
	Invalid bool
}

func (p Part) String() string {
	return fmt.Sprintf("%s %s of %q invalid %t", p.Kind, p.Path, p.Plugin, p.Invalid)
}

// Differences says, a line for each, what wasn't found of a collection and what was found
// beside it. Several parts may be the same: hooks of one file.
func (c *Collection) Differences(found []Part) (lines []string) {
	n := map[Part]int{}
	for _, p := range c.Parts {
		n[p]++
	}
	for _, p := range found {
		n[p]--
	}
	for p, left := range n {
		switch {
		case left > 0:
			lines = append(lines, fmt.Sprintf("not found, %d times: %s", left, p))
		case left < 0:
			lines = append(lines, fmt.Sprintf("found beside, %d times: %s", -left, p))
		}
	}
	slices.Sort(lines)
	return lines
}

// Count is how many parts there are of a kind.
func (c *Collection) Count(kind abi.Kind) (n int) {
	for _, p := range c.Parts {
		if p.Kind == kind {
			n++
		}
	}
	return n
}

// Write puts the collection into a directory.
func (c *Collection) Write(dir string) error {
	for name, text := range c.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, target := range c.Links {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, file); err != nil {
			return err
		}
	}
	return nil
}

// Collect makes a collection with about so many plugins, or so many skills where it has no
// plugins.
func Collect(r *rand.Rand, size int) *Collection {
	g := &collector{Rand: r, Collection: Collection{Files: map[string]string{}, Links: map[string]string{}}}
	switch r.IntN(6) {
	case 0:
		g.sorted(size)
	case 1:
		g.one()
	case 2:
		g.shared(size)
	default:
		g.listed(size)
	}
	return &g.Collection
}

type collector struct {
	*rand.Rand
	Collection
	n int // names that were given out
}

func oneOf[T any](g *collector, list ...T) T { return list[g.IntN(len(list))] }

func (g *collector) name(prefix string) string {
	g.n++
	return fmt.Sprintf("%s-%d", prefix, g.n)
}

// put writes a file; no path is written twice.
func (g *collector) put(name, text string) {
	if _, there := g.Files[name]; there {
		panic(name + " is there")
	}
	g.Files[name] = text
}

func (g *collector) json(name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	g.put(name, string(text))
}

func (g *collector) found(kind abi.Kind, p, plugin string) {
	g.Parts = append(g.Parts, Part{Kind: kind, Path: p, Plugin: plugin})
}

// headed is a text with front matter.
func headed(name string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\nBody of " + name + "\n"
}

// skill makes one, and sometimes what isn't one beside it.
func (g *collector) skill(dir, plugin string) {
	g.skillFiles(dir)
	g.found(abi.KindSkill, dir, plugin)
	if g.IntN(12) == 0 {
		g.Files[dir+"/SKILL.md"] = "---\nname: [\n---\n"
		g.Parts[len(g.Parts)-1].Invalid = true
	}
}

func (g *collector) skillFiles(dir string) {
	g.put(dir+"/SKILL.md", headed(path.Base(dir)))
	switch g.IntN(4) {
	case 0:
		g.put(dir+"/references/SKILL.md", headed("nested"))
	case 1:
		g.put(dir+"/agents/helper.md", headed("helper"))
	}
}

// sorted is a collection of skills, sorted into such directories as openai/skills has.
func (g *collector) sorted(size int) {
	g.Shape = "a collection of skills"
	for range 1 + size {
		name := g.name("skill")
		group := oneOf(g, "skills", "skills/.curated", "skills/.experimental", "skills/.system")
		switch g.IntN(6) {
		case 0:
			g.put(group+"/"+name+"/README.md", "no skill")
		case 1:
			g.skillFiles("skills/.other/" + name)
		case 2:
			g.skillFiles(group + "/deep/" + name)
		default:
			g.skill(group+"/"+name, "")
		}
	}
}

// kindOfClient is how an agent has its plugins.
type kindOfClient struct {
	name, manifest string
	lists          []string // empty: it has none
	// skills, agents, commands, rules, hooks and servers are the usual places; empty for what
	// it doesn't load.
	skills, agents, commands, rules, hooks, servers string
	optional                                        bool // no manifest is needed
	replaces                                        bool // paths of skills stand in the place of the usual one
}

var collectedClients = []kindOfClient{
	{name: "claude", manifest: ".claude-plugin/plugin.json", lists: []string{".claude-plugin/marketplace.json"}, skills: "skills", agents: "agents/*.md", commands: "commands/*.md", hooks: "hooks/hooks.json", servers: ".mcp.json", optional: true},
	{name: "codex", manifest: ".codex-plugin/plugin.json", lists: []string{".agents/plugins/marketplace.json"}, skills: "skills", commands: "commands/*.md", hooks: "hooks/hooks.json", servers: ".mcp.json"},
	{name: "cursor", manifest: ".cursor-plugin/plugin.json", lists: []string{".cursor-plugin/marketplace.json"}, skills: "skills", agents: "agents/*.md", commands: "commands/*.md", rules: "rules/*.mdc", hooks: "hooks/hooks.json", servers: "mcp.json", replaces: true},
	{name: "copilot", manifest: ".github/plugin/plugin.json", lists: []string{".github/plugin/marketplace.json", ".plugin/marketplace.json", "marketplace.json"}, skills: "skills", agents: "agents/*.agent.md", commands: "commands/*.md", hooks: "hooks.json", servers: ".mcp.json"},
	{name: "copilot", manifest: ".plugin/plugin.json", lists: []string{".github/plugin/marketplace.json"}, skills: "skills", agents: "agents/*.agent.md", commands: "commands/*.md", hooks: "hooks/hooks.json", servers: ".github/mcp.json"},
	{name: "gemini", manifest: "gemini-extension.json", skills: "skills", agents: "agents/*.md", commands: "commands/*.toml", hooks: "hooks/hooks.json"},
	{name: "open", manifest: "plugin.json", skills: "skills", servers: "mcp.json"},
}

// manifestOf begins a manifest.
func manifestOf(c *kindOfClient, name string) map[string]any {
	m := map[string]any{"name": name, "version": "1.0.0", "description": "What " + name + " is for."}
	if c.name == "open" {
		m["$schema"] = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	}
	return m
}

// one is a repository that is a plugin.
func (g *collector) one() {
	c := &collectedClients[g.IntN(len(collectedClients))]
	g.Shape = "a plugin of " + c.name
	m := manifestOf(c, "alone")
	g.parts(c, ".", "alone", m, true)
	g.json(c.manifest, m)
	g.found(abi.KindPlugin, c.manifest, "")
	if c.name == "gemini" { // whose manifest is where its servers are
		g.found(abi.KindMCPConfig, c.manifest, "")
	}
}

// parts makes what a plugin brings, and completes its manifest. What isn't loaded is there
// all the same, and isn't found.
func (g *collector) parts(c *kindOfClient, dir, name string, manifest map[string]any, loaded bool) {
	at := func(p string) string { return path.Join(dir, p) }
	found := func(kind abi.Kind, p string) {
		if loaded {
			g.found(kind, p, name)
		}
	}
	skill := func(dir string) {
		g.skillFiles(dir)
		found(abi.KindSkill, dir)
	}
	usual, listed := g.IntN(5), 0
	if c.name != "open" && g.IntN(4) == 0 {
		listed = 1 + g.IntN(3)
	}
	var paths []string
	for range listed {
		p := at("more/" + g.name("skill"))
		skill(p)
		paths = append(paths, "./"+strings.TrimPrefix(p, dir+"/"))
	}
	if paths != nil {
		manifest["skills"] = paths
	}
	for range usual {
		p := at(c.skills + "/" + g.name("skill"))
		if paths != nil && c.replaces {
			continue // or it would be found at the top of the root as a collection's
		}
		skill(p)
	}
	if usual > 0 {
		g.put(at(c.skills+"/README.md"), "no skill")
	}
	files := func(kind abi.Kind, place, text string, most int) {
		for range g.IntN(most) {
			name := g.name(string(kind))
			if place == "" {
				// Somewhere, and nobody's.
				g.put(at("unread/"+name+".md"), headed(name))
				continue
			}
			p := at(strings.Replace(place, "*", name, 1))
			if g.IntN(3) == 0 && !strings.HasPrefix(place, "rules") {
				p = path.Join(path.Dir(p), "team", path.Base(p))
			}
			g.put(p, strings.ReplaceAll(text, "NAME", name))
			found(kind, p)
		}
	}
	files(abi.KindSubagent, c.agents, headed("NAME"), 5)
	command := headed("NAME")
	if strings.HasSuffix(c.commands, ".toml") {
		command = "prompt = \"Do NAME\"\n"
	}
	files(abi.KindCommand, c.commands, command, 3)
	files(abi.KindInstructionFile, c.rules, "---\ndescription: NAME\n---\nRule\n", 3)
	if c.hooks != "" && g.IntN(5) == 0 {
		n := 1 + g.IntN(3)
		var hooks []any
		for range n {
			hooks = append(hooks, map[string]any{"hooks": []any{map[string]any{"type": "command", "command": Token}}})
			found(abi.KindHook, at(c.hooks))
		}
		g.json(at(c.hooks), map[string]any{"hooks": map[string]any{"Stop": hooks}})
	}
	if c.servers != "" && g.IntN(5) == 0 {
		v := map[string]any{"mcpServers": map[string]any{"s": map[string]any{"type": "stdio", "command": "node", "env": map[string]any{"T": Token}}}}
		if c.name == "open" {
			v["$schema"] = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
		}
		g.json(at(c.servers), v)
		if dir == "." && c.servers != "mcp.json" { // the project's own, too, and found as that
			g.found(abi.KindMCPConfig, c.servers, "")
		} else {
			found(abi.KindMCPConfig, at(c.servers))
		}
	}
	if g.IntN(8) == 0 && c.name != "open" {
		manifest["commands"] = "../../../outside" // which is nowhere, and replaces nothing
	}
}

// shared is a list whose plugins are some of the skills of one directory each, as
// anthropics/skills is: what an entry has is all that there is of it.
func (g *collector) shared(size int) {
	const list = ".claude-plugin/marketplace.json"
	g.Shape = "a list of plugins that share a directory"
	owner := map[string]string{} // the plugin that brings a skill, by its name
	var names []string
	for range 2 + 2*size {
		names = append(names, g.name("skill"))
	}
	var entries []any
	for range 1 + size/4 {
		name, skills := g.name("plugin"), []string{}
		for range 1 + g.IntN(6) {
			s := oneOf(g, names...)
			skills = append(skills, "./skills/"+s)
			if owner[s] == "" {
				owner[s] = name
			}
		}
		entries = append(entries, map[string]any{"name": name, "source": "./", "strict": false, "skills": skills})
		g.found(abi.KindPlugin, list, name)
	}
	for _, s := range names {
		g.skill("skills/"+s, owner[s])
	}
	g.json(list, map[string]any{"name": "m", "plugins": entries})
	g.found(abi.KindPlugin, list, "")
}

// listed is a list of plugins in directories of their own.
func (g *collector) listed(size int) {
	var c *kindOfClient
	for c == nil || c.lists == nil {
		c = &collectedClients[g.IntN(len(collectedClients))]
	}
	list := oneOf(g, c.lists...)
	g.Shape = "a list of plugins of " + c.name
	base := oneOf(g, "plugins", "all/of/them", "")
	doc := map[string]any{"name": "m", "owner": map[string]any{"name": "o"}}
	written := func(p string) string { return "./" + p }
	if base != "" && c.name != "codex" && g.IntN(3) == 0 {
		doc["metadata"] = map[string]any{"pluginRoot": "./" + base}
		written = func(p string) string { return strings.TrimPrefix(p, base+"/") }
	}
	var entries []any
	for range 1 + size {
		name := g.name("plugin")
		e := map[string]any{"name": name, "version": "1.0.0", "description": "What " + name + " is for."}
		entries = append(entries, e)
		switch g.IntN(12) {
		case 0:
			e["source"] = oneOf(g, map[string]any{"source": "github", "repo": "o/r"}, map[string]any{"source": "npm", "package": "p"}, map[string]any{"source": "url", "url": "https://host/r.git"}, map[string]any{"source": "git-subdir", "url": "https://host/r.git", "path": "p"})
			g.found(abi.KindPlugin, list, "")
			continue
		case 1:
			e["source"] = oneOf(g, "./nowhere", "../outside", "/etc", "")
			g.found(abi.KindPlugin, list, "")
			continue
		}
		dir := path.Join(base, name)
		e["source"] = written(dir)
		if c.name == "codex" {
			e["source"] = map[string]any{"source": "local", "path": "./" + dir}
		}
		g.found(abi.KindPlugin, list, name)
		g.plugin(c, dir, name, e)
	}
	if g.IntN(3) == 0 { // what nobody lists isn't a plugin
		g.skillFiles(path.Join(base, "unlisted/skills/s"))
		g.json(path.Join(base, "unlisted", c.manifest), manifestOf(c, "unlisted"))
	}
	doc["plugins"] = entries
	g.json(list, doc)
	g.found(abi.KindPlugin, list, "")
}

// plugin makes one that a list names.
func (g *collector) plugin(c *kindOfClient, dir, name string, entry map[string]any) {
	m := manifestOf(c, name)
	row := func(p string, invalid bool) {
		g.Parts = append(g.Parts, Part{Kind: abi.KindPlugin, Path: p, Plugin: name, Invalid: invalid})
	}
	g.put(path.Join(dir, "README.md"), "About it")
	manifest := path.Join(dir, c.manifest)
	switch n := g.IntN(10); {
	case n == 0: // it has one that can't be used
		g.parts(c, dir, name, m, false)
		g.put(manifest, oneOf(g, `{"name":`, `[]`, ``))
		row(manifest, true)
	case n == 1: // it is one of the open specification's, for who knows of these
		if c.name == "claude" {
			g.parts(c, dir, name, m, true)
			g.json(manifest, m)
			row(manifest, false)
			return
		}
		open := &collectedClients[len(collectedClients)-1]
		m = manifestOf(open, name)
		g.parts(open, dir, name, m, true)
		g.put(path.Join(dir, "agents/none.md"), headed("none"))
		g.json(path.Join(dir, open.manifest), m)
		row(path.Join(dir, open.manifest), false)
	case n == 2 && (c.name == "claude" || c.name == "cursor"): // it is one skill
		g.put(path.Join(dir, "SKILL.md"), headed(name))
		g.put(path.Join(dir, "references/SKILL.md"), headed("nested"))
		g.found(abi.KindSkill, dir, name)
		g.json(manifest, m)
		row(manifest, false)
	case n == 2 && c.name == "copilot": // a plain one
		g.parts(c, dir, name, m, true)
		g.json(path.Join(dir, "plugin.json"), m)
		row(path.Join(dir, "plugin.json"), false)
	case n < 5 && c.optional: // the entry is what says where its parts are
		g.parts(c, dir, name, entry, true)
	default:
		g.parts(c, dir, name, m, true)
		g.json(manifest, m)
		row(manifest, false)
	}
}

// Paths are the files, in order.
func (c *Collection) Paths() []string { return slices.Sorted(maps.Keys(c.Files)) }
