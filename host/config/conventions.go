package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/plugins/conventions"
)

// Conventions says which of the known conventions are used, and how strictly.
type Conventions struct {
	// Agents are the ids of the readers whose conventions are used; empty means all.
	Agents []string
	// Strict makes what agents load with a warning invalid.
	Strict bool
	// User is what becomes of the files that agents read in the home directory: UserOff,
	// UserLocal or UserPushed.
	User string
	// Children is what becomes of repositories at the top of the workspace: ChildrenOff,
	// ChildrenListed or ChildrenAlways.
	Children string
	// Grants are of GrantHooks, GrantMCP and GrantHookCommands.
	Grants []string
}

// What becomes of the files in the home directory.
const (
	// UserOff: they aren't looked at.
	UserOff = "off"
	// UserLocal: they stay on this machine.
	UserLocal = "local"
	// UserPushed: they are pushed like all else.
	UserPushed = "pushed"
)

// What becomes of projects in the workspace.
const (
	// ChildrenOff: they aren't looked into.
	ChildrenOff = "off"
	// ChildrenListed: what they have is listed, and is for their own files.
	ChildrenListed = "listed"
	// ChildrenAlways: what they have applies as if it were the workspace's.
	ChildrenAlways = "always"
)

// What may be shown of files that hold more than text.
const (
	// GrantHooks and GrantMCP show the text of what holds hooks, or MCP servers, beside
	// it.
	GrantHooks = "hooks"
	GrantMCP   = "mcp"
	// GrantHookCommands shows what a hook runs.
	GrantHookCommands = "hook-commands"
)

// schema returns the [conventions] table.
func (c *Conventions) schema() table {
	return table{
		{"agents", choice(setList(&c.Agents, intersection, checkWord), func(a, b string) bool { return a == b })},
		{"strict", setBool(&c.Strict, most)},
		{"user", setWord(&c.User, least, UserOff, UserLocal, UserPushed)},
		{"children", setWord(&c.Children, least, ChildrenOff, ChildrenListed, ChildrenAlways)},
		{"grants", setList(&c.Grants, intersection, oneOf(GrantHooks, GrantMCP, GrantHookCommands))},
	}
}

// conventionSchema returns the table of one [[convention]].
func conventionSchema(c *conventions.Convention) table {
	return table{
		{"id", setText(&c.ID, later, checkWord)},
		{"readers", setWords(&c.Readers)},
		{"places", setPlaces(&c.Places)},
		{"scope", setWord(&c.Scope, later, conventions.ScopeProject, conventions.ScopeUser)},
		{"kind", setWord(&c.Kind, later, ownKinds...)},
		{"format", setWord(&c.Format, later, formats...)},
		{"name", setWord(&c.Name, later, conventions.FromField, conventions.FromHeading, conventions.FromFile, conventions.FromDirectory, conventions.FromPath)},
		{"description", setWord(&c.Description, later, conventions.FromField, conventions.FromHeading)},
		{"mode", setWord(&c.Applies.Mode, later, "always", "glob", "model", "manual")},
		{"globs_key", setText(&c.Applies.GlobsKey, later, checkName)},
	}
}

// conventionList is the [[convention]] entries that there are.
func (c *Config) conventionList() entries {
	var l entries
	own := c.OwnConventions()
	for i := range own {
		l.names = append(l.names, own[i].ID)
	}
	l.of = func(id string) (have, fresh table) {
		i := slices.Index(l.names, id)
		return conventionSchema(&own[i]), conventionSchema(&conventions.Convention{ID: id})
	}
	return l
}

// ownKinds are those that a table can say all of. A plugin has parts, which takes code.
var ownKinds = []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand, abi.KindHook, abi.KindMCPConfig}

var formats = []conventions.Format{
	conventions.Markdown, conventions.TOML, conventions.JSON, conventions.YAML, conventions.Text, conventions.Executable,
}

// OwnConventions returns the [[convention]] tables, with what they leave out filled in.
func (c *Config) OwnConventions() []conventions.Convention {
	list := slices.Clone(c.Own)
	for i := range list {
		o := &list[i]
		name, description := conventions.FromFile, conventions.FromHeading
		if o.Kind == abi.KindSkill || o.Kind == abi.KindSubagent || o.Format == conventions.TOML || o.Format == conventions.JSON || o.Format == conventions.YAML {
			name, description = conventions.FromField, conventions.FromField
		}
		o.Scope, o.Format = cmp.Or(o.Scope, conventions.ScopeProject), cmp.Or(o.Format, conventions.Markdown)
		o.Name, o.Description = cmp.Or(o.Name, name), cmp.Or(o.Description, description)
		o.As = cmp.Or(o.As, strings.ReplaceAll(string(o.Kind), "_", " "))
	}
	return list
}

// DisabledConventions lists the ids of conventions, built in and own, of which every
// reader is switched off.
func (c *Config) DisabledConventions() (ids []string) {
	if len(c.Conventions.Agents) == 0 {
		return nil
	}
	for _, list := range [][]conventions.Convention{conventions.All, c.Own} {
		for i := range list {
			if !slices.ContainsFunc(list[i].Readers, func(id string) bool { return slices.Contains(c.Conventions.Agents, id) }) {
				ids = append(ids, list[i].ID)
			}
		}
	}
	return ids
}

// conventionsKey is the name of the list of [[convention]] entries.
const conventionsKey = "convention"

// applyConventions merges the [[convention]] entries by their ids.
func (d *document) applyConventions(c *Config) {
	entries, ok := d.entries(conventionsKey)
	if !ok {
		return
	}
	c.Own = slices.Clone(c.Own)
	seen := make(map[string]bool)
	for i, have := range entries {
		id, _ := have["id"].(string)
		if wrong := idProblem(id, seen); wrong != "" {
			p := []string{conventionsKey}
			if _, ok := have["id"]; ok {
				p = append(p, "id")
			}
			d.add(problem{path: p, entry: i, message: wrong})
			d.apply(conventionSchema(&conventions.Convention{}), have, []string{conventionsKey}, i)
			continue
		}
		seen[id] = true
		at := slices.IndexFunc(c.Own, func(o conventions.Convention) bool { return o.ID == id })
		if at < 0 {
			c.Own = append(c.Own, conventions.Convention{})
			at = len(c.Own) - 1
		}
		before := len(d.problems)
		d.entry = id
		d.apply(conventionSchema(&c.Own[at]), have, []string{conventionsKey}, i)
		if len(d.problems) == before {
			d.checkConvention(&c.Own[at], i)
		}
	}
	if len(c.Own) > maxOwn {
		d.add(problem{path: []string{conventionsKey}, message: fmt.Sprintf("convention: there are %d entries, at most %d are taken", len(c.Own), maxOwn)})
	}
}

// maxOwn bounds the conventions of an operator, maxPlaces the places of one: all are
// looked at in every root.
const (
	maxOwn    = 64
	maxPlaces = 32
)

func idProblem(id string, seen map[string]bool) string {
	switch {
	case id == "":
		return "convention.id: every [[convention]] entry needs an id of its own"
	case !abi.IsWord(id):
		return fmt.Sprintf("convention.id: %.80q is not lower-case words joined by hyphens, of at most %d bytes", id, abi.MaxWord)
	case seen[id]:
		return fmt.Sprintf("convention.id: there is an entry for %.80q already: put its keys into one entry", id)
	case slices.ContainsFunc(conventions.All, func(c conventions.Convention) bool { return c.ID == id }):
		return fmt.Sprintf("convention.id: %.80q is built in: choose another id", id)
	}
	return ""
}

// checkConvention says what is missing in an entry that is right as far as it goes, or
// doesn't fit together.
func (d *document) checkConvention(c *conventions.Convention, entry int) {
	missing := func(key, hint string) {
		d.add(problem{path: []string{conventionsKey}, entry: entry, message: fmt.Sprintf("convention %q has no %s", c.ID, key), hint: hint})
	}
	switch {
	case len(c.Readers) == 0:
		missing("readers", `name the agents that read it, like readers = ["codex"]`)
	case len(c.Places) == 0:
		missing("places", `say where the files lie, like places = [".acme/rules/*.md"]`)
	case c.Kind == "":
		missing("kind", "say what they are: "+words(ownKinds))
	case c.Applies.Mode == "glob" && c.Applies.GlobsKey == "":
		missing("globs_key", `name the field of the front matter that holds them, since mode is "glob"`)
	case c.Kind == abi.KindSkill && !slices.ContainsFunc(c.Places, func(p string) bool { return strings.Contains(p, "/") }):
		missing("place of a skill", `a skill is a directory: name a file in it, like ".acme/skills/*/SKILL.md"`)
	}
}

// checkAgents finds agents that nothing is known of.
func (d *document) checkAgents(c *Config) {
	at := d.present([]string{"conventions", "agents"})
	if at == nil || d.wrongBelow("conventions") || d.wrongBelow(conventionsKey) {
		return
	}
	var known []string
	for _, a := range conventions.Agents {
		known = append(known, a.ID)
	}
	for i := range c.Own {
		known = append(known, c.Own[i].Readers...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, id := range c.Conventions.Agents {
		if slices.Contains(known, id) {
			continue
		}
		hint := "known are " + strings.Join(known, ", ")
		if best := text.Nearest(id, known); best != "" {
			hint = "did you mean " + best + "?"
		}
		d.add(problem{path: at, message: fmt.Sprintf("conventions.agents: no convention has the reader %.80q", id), hint: hint})
	}
}

func checkWord(s string) error {
	if !abi.IsWord(s) {
		return fmt.Errorf("%.80q is not lower-case words joined by hyphens, of at most %d bytes", s, abi.MaxWord)
	}
	return nil
}

// setWords is setList for ids, as many as a resource may have.
func setWords(dst *[]string) key {
	k := setList(dst, later, checkWord)
	k.check = atMost(abi.MaxReaders)
	return k
}

func atMost(n int) func([]string) error {
	return func(list []string) error {
		if len(list) > n {
			return fmt.Errorf("there are %d, at most %d are taken", len(list), n)
		}
		return nil
	}
}

// oneOf accepts these texts.
func oneOf(known ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(known, s) {
			return nil
		}
		return notOneOf(s, known)
	}
}

func notOneOf(s string, known []string) error {
	if best := text.Nearest(s, known); best != "" {
		return fmt.Errorf("%.80q is not known: did you mean %q?", s, best)
	}
	return fmt.Errorf("%.80q is not known: write one of %s", s, words(known))
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return out
}

func words[T ~string](list []T) string {
	list = slices.DeleteFunc(slices.Clone(list), func(s T) bool { return s == "" })
	return strings.Join(texts(list), ", ")
}

// setPlaces is setPatterns for places, which the resolvers compare name by name.
func setPlaces(dst *[]string) key {
	k := setList(dst, later, checkPlace)
	k.check = func(list []string) error {
		if err := atMost(maxPlaces)(list); err != nil {
			return err
		}
		var bad *vfs.PatternError
		if _, err := (vfs.View{Reads: list}).Compile(); errors.As(err, &bad) {
			return fmt.Errorf("%.80q %s", bad.Pattern, bad.Problem)
		}
		return nil
	}
	return k
}

func checkPlace(s string) error {
	if err := checkPattern(s); err != nil {
		return err
	}
	first, _, _ := strings.Cut(s, "/")
	switch {
	case strings.ContainsAny(s, `{}[]\`):
		return fmt.Errorf("%.80q has braces, brackets or a backslash: write a place for each, with * and ** alone", s)
	case first == "**":
		return fmt.Errorf("%.80q would search all of a root: begin with a directory", s)
	case path.Base(s) == "**":
		return fmt.Errorf("%.80q names no file: write %q for all below", s, s+"/*")
	}
	return nil
}
