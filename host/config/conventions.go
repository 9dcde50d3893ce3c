package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/internal/text"
	"waymark/plugins/conventions"
)

// Conventions says which of the known conventions are used, and how strictly.
type Conventions struct {
	Agents   []string `toml:"agents" join:"choice" check:"word" help:"The ids of agents, as 'agent snapshot --json' shows them under readers: what none of them reads isn't looked for. [] means all."`
	Strict   bool     `toml:"strict" join:"most" help:"true: what agents load with a warning, such as a skill whose name isn't its directory's, is invalid"`
	User     string   `toml:"user" join:"least" words:"off local pushed" help:"Files that agents read in the home directory, such as ~/.claude/CLAUDE.md: off doesn't look at them; local shows them on this machine, the agents' own hub included; pushed also sends them to another hub, or a Coder server, when one is pushed to. MCP servers in them are listed and never connected."`
	Children string   `toml:"children" join:"least" words:"off listed always" help:"Repositories in directories of the workspace itself, at most 64 of them: off doesn't look into them; listed shows what they have as being for their own files; always has it apply like what the workspace has. MCP servers of theirs are never connected. off also leaves out instruction files in directories below the top, which are listed, at most 200, where git's index has them."`
	Grants   []string `toml:"grants" join:"intersection" words:"hooks mcp hook-commands" help:"What is shown of files that hold more than text: hooks and mcp for the text of what holds hooks, or MCP servers, beside it; hook-commands for what a hook runs."`
}

// Convention is one [[convention]] table: a conventions.Convention, as far as a table can
// say it. A plugin has parts, which takes code, and so isn't among the kinds.
type Convention struct {
	ID          string                 `toml:"id" check:"word" example:"'acme-rules'" help:"of your own, lower-case words joined by hyphens"`
	Readers     []string               `toml:"readers" check:"readers" example:"['acme']" help:"who reads it, of the known agents or others"`
	Places      []string               `toml:"places" check:"places" example:"['.acme/rules/**/*.md']" help:"relative to a root; * stays within a name, ** is any number of directories"`
	Scope       conventions.Scope      `toml:"scope" words:"project user" example:"'project'" help:"user: below a home directory"`
	Kind        abi.Kind               `toml:"kind" words:"instruction_file skill subagent command hook mcp_config" example:"'instruction_file'" help:"what the files are"`
	Format      conventions.Format     `toml:"format" words:"markdown toml json yaml text executable" example:"'markdown'" help:"how they are read"`
	Name        conventions.Derivation `toml:"name" words:"front_matter heading file directory path" example:"'file'" help:"where the name is from"`
	Description conventions.Derivation `toml:"description" words:"front_matter heading" example:"'heading'" help:"where that is from"`
	Mode        string                 `toml:"mode" words:"always glob model manual" example:"'glob'" help:"when it applies, if the file doesn't say"`
	GlobsKey    string                 `toml:"globs_key" check:"name" example:"'globs'" help:"the field with the globs that it applies to; a.b is b in a"`
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

// OwnConventions returns the [[convention]] tables, with what they leave out filled in.
func (c *Config) OwnConventions() (list []conventions.Convention) {
	for _, o := range c.Own {
		name, description := conventions.FromFile, conventions.FromHeading
		if o.Kind == abi.KindSkill || o.Kind == abi.KindSubagent || o.Format == conventions.TOML || o.Format == conventions.JSON || o.Format == conventions.YAML {
			name, description = conventions.FromField, conventions.FromField
		}
		list = append(list, conventions.Convention{
			ID: o.ID, Readers: o.Readers, Places: o.Places, Scope: cmp.Or(o.Scope, conventions.ScopeProject),
			Kind: o.Kind, As: strings.ReplaceAll(string(o.Kind), "_", " "), Format: cmp.Or(o.Format, conventions.Markdown),
			Name: cmp.Or(o.Name, name), Description: cmp.Or(o.Description, description),
			Applies: conventions.Applies{Mode: o.Mode, GlobsKey: o.GlobsKey},
		})
	}
	return list
}

// DisabledConventions lists the ids of conventions, built in and own, of which every
// reader is switched off.
func (c *Config) DisabledConventions() (ids []string) {
	if len(c.Conventions.Agents) == 0 {
		return nil
	}
	for _, list := range [][]conventions.Convention{conventions.All, c.OwnConventions()} {
		for i := range list {
			if !slices.ContainsFunc(list[i].Readers, func(id string) bool { return slices.Contains(c.Conventions.Agents, id) }) {
				ids = append(ids, list[i].ID)
			}
		}
	}
	return ids
}

// maxOwn bounds the conventions of an operator: all are looked at in every root.
const maxOwn = 64

// idProblem says what is wrong with the id of an entry; "" for nothing.
func idProblem(id string) string {
	switch {
	case id == "":
		return "every [[convention]] entry needs an id of its own"
	case !abi.IsWord(id):
		return checkWord(id).Error()
	case slices.ContainsFunc(conventions.All, func(c conventions.Convention) bool { return c.ID == id }):
		return fmt.Sprintf("%.80q is built in: choose another id", id)
	}
	return ""
}

// checkConvention says what is missing in an entry that is right as far as it goes, or
// doesn't fit together.
func (d *document) checkConvention(id string, entry int) {
	c := d.config.Own[slices.IndexFunc(d.config.Own, func(o Convention) bool { return o.ID == id })]
	missing := func(key, hint string) {
		d.add(problem{path: []string{conventionsKey}, entry: entry, message: fmt.Sprintf("convention %q has no %s", c.ID, key), hint: hint})
	}
	switch {
	case len(c.Readers) == 0:
		missing("readers", `name the agents that read it, like readers = ["codex"]`)
	case len(c.Places) == 0:
		missing("places", `say where the files lie, like places = [".acme/rules/*.md"]`)
	case c.Kind == "":
		kind, _ := reflect.TypeFor[Convention]().FieldByName("Kind")
		missing("kind", "say what they are: "+strings.Join(words(kind.Tag), ", "))
	case c.Mode == "glob" && c.GlobsKey == "":
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
