package conventions

import (
	"cmp"

	"waymark/abi"
)

// Convention is one row of the table: the places where agents look for files of one kind,
// which agents do, and what to derive from such a file. It is plain data; built-in rows and
// an operator's have the same type.
type Convention struct {
	// ID names the row: lower-case words joined by hyphens, unique in the table. Its meaning
	// never changes, because resources carry it.
	ID string
	// Readers are the ids of the agents that read it; see Agents.
	Readers []string
	// Nested are those of the readers that also read it in directories below the top of a
	// project.
	Nested []string
	// Places are doublestar patterns without braces and classes. They are relative to a
	// project's top directory for ScopeProject, a home directory for ScopeUser, the file
	// system's root for ScopeMachine and a plugin's directory for ScopePlugin. "**" matches
	// any number of directories, "*" a name or a part of one. A skill's place is that of its
	// SKILL.md.
	Places []string
	Scope  Scope
	// Kind is the kind as which a file there is listed. If empty, the file is known but not
	// listed, because a chat has no use for it.
	Kind abi.Kind
	// As says for a person what it is, as a plural or mass noun: "rules of one mode".
	As     string
	Format Format
	// Name and Description say where those come from.
	Name, Description Derivation
	Applies           Applies
	// Each is the field with a list of which each entry is listed by itself, under its "slug".
	// Without such a list the file is listed as one.
	Each string
	// Imports says that readers take @path in its text for a file that belongs to it.
	Imports bool
	// Source is where the fact was found, and Date when, as 2026-11-23.
	Source, Date string
}

// Scope says what the places of a convention are relative to.
type Scope string

// The scopes.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
	ScopeMachine Scope = "machine"
	// ScopePlugin: below the top of a plugin, an extension or another bundle. Names such as
	// agents/ and commands/ mean nothing elsewhere; code that looks for them has found the
	// bundle's manifest first.
	ScopePlugin Scope = "plugin"
)

// Format says how a file is read.
type Format string

// The formats.
const (
	// Markdown may begin with front matter in YAML, in which unquoted globs are taken
	// literally. MDC is the same.
	Markdown Format = "markdown"
	TOML     Format = "toml"
	// JSON may have comments and trailing commas.
	JSON Format = "json"
	YAML Format = "yaml"
	// Text is shown unchanged, without front matter.
	Text Format = "text"
	// OpenAIYAML is agents/openai.yaml of a skill, as Codex reads it. Its mode is manual if
	// it removes the skill from the list, and the description then names the reason. A file
	// that isn't entirely of the types that Codex expects has no effect.
	OpenAIYAML Format = "openai.yaml"
	// Executable is a program, of which only the name is read.
	Executable Format = "executable"
)

// Derivation says where a name or a description comes from.
type Derivation string

// The derivations. If a field is missing or isn't a text, a name comes from the file, or from
// the directory of a skill. A description then comes from the heading of Markdown, except for
// skills and subagents, which must have one.
const (
	// FromNothing: there is none.
	FromNothing Derivation = ""
	// FromField: the field "name", or "description", of front matter, TOML, JSON or YAML.
	FromField Derivation = "front_matter"
	// FromHeading: the first non-empty line, without heading marks.
	FromHeading Derivation = "heading"
	// FromFile: the name of the file up to its first dot that isn't the first character.
	FromFile Derivation = "file"
	// FromDirectory: the name of the directory that contains the file.
	FromDirectory Derivation = "directory"
	// FromPath: the path below the literal part of the place, with the file as in FromFile
	// and ":" for "/", as commands in subdirectories are called.
	FromPath Derivation = "path"
)

// Applies says when the content of a file applies, in the words of the attribute mode:
// always, glob, model or manual. The first of these that has a value decides: ManualKey,
// ModeKey, AlwaysKey, GlobsKey, Described, Mode.
type Applies struct {
	// Mode is the mode if nothing in the file says otherwise. Empty: always.
	Mode string
	// GlobsKey is the field with the globs, a list or a text with commas; "a.b" is b in a. With
	// globs the mode is glob, or always if they match every file.
	GlobsKey string
	// GlobsOfAll says that they match every file only if each of them is "**" without a "/**"
	// at its end. For Claude Code "**/*" is a pattern like any other.
	GlobsOfAll bool
	// AlwaysKey is a field that makes the mode always if it is true.
	AlwaysKey string
	// ManualKey is a field that makes the mode manual if it is true.
	ManualKey string
	// ModeKey is a field whose words stand for modes.
	ModeKey string
	Words   []Word
	// Described is the mode if there is a description and none of the above. Empty: it makes
	// no difference.
	Described string
}

// Word is the mode that one word of a file stands for.
type Word struct{ Is, Mode string }

// Agent is a reader of files.
type Agent struct {
	// ID names it: lower-case words joined by hyphens.
	ID string
	// Name is what its makers call it.
	Name string
}

// All is the table.
var All = whole(table)

// whole fills in what rows have from the ones before. It makes no new rows: a copy would be in
// the memory of each guest.
func whole(rows []Convention) []Convention {
	like := &rows[0]
	for i := range rows {
		c := &rows[i]
		if c.Scope != "" {
			like = c
			continue
		}
		c.Scope, c.Kind, c.Name, c.Description = like.Scope, like.Kind, like.Name, like.Description
		c.As, c.Format, c.Source, c.Date = cmp.Or(c.As, like.As), cmp.Or(c.Format, like.Format), cmp.Or(c.Source, like.Source), cmp.Or(c.Date, like.Date)
	}
	return rows
}
