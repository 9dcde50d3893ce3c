package conventions

import "waymark/abi"

// Convention is one row of the table: places where agents look for files of one kind,
// who looks there, and what is to be taken from such a file. It is plain data, and the
// same type for the rows that are built in and for an operator's.
type Convention struct {
	// ID names the row: lower-case words joined by hyphens, unique in the table. It
	// never changes its meaning, since resources carry it.
	ID string
	// Readers are the ids of the agents that read it; see Agents.
	Readers []string
	// Nested are those of the readers that read it in directories below the top of a
	// project, too.
	Nested []string
	// Places are doublestar patterns without braces and classes, of paths below a
	// project's top directory for ScopeProject, below a home directory for ScopeUser,
	// below the file system's for ScopeMachine and below a plugin's directory for
	// ScopePlugin. "**" matches no or some directories, "*" is a name or a part of
	// one. A skill's place is that of its SKILL.md.
	Places []string
	Scope  Scope
	// Kind is what a file there is listed as. Empty: the file is known, and not
	// listed, since it is nothing for a chat to read.
	Kind abi.Kind
	// As says for a person what it is, in the plural or as a mass: "rules of one
	// mode".
	As     string
	Format Format
	// Name and Description say where those come from.
	Name, Description Derivation
	Applies           Applies
	// Imports: readers take @path in its text for a file that belongs to it.
	Imports bool
	// Source is where the fact is from, Date when it was looked up there, as
	// 2026-11-23.
	Source, Date string
}

// Scope says below what the places of a convention are.
type Scope string

// The scopes.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
	ScopeMachine Scope = "machine"
	// ScopePlugin: below the top of a plugin, an extension or another bundle. Such
	// names as agents/ and commands/ mean nothing elsewhere: whoever looks for them
	// has found the bundle's manifest first.
	ScopePlugin Scope = "plugin"
)

// Format says how a file is read.
type Format string

// The formats.
const (
	// Markdown may begin with front matter in YAML, of which unquoted globs are taken as
	// they stand. MDC is the same.
	Markdown Format = "markdown"
	TOML     Format = "toml"
	// JSON may have comments and trailing commas.
	JSON Format = "json"
	YAML Format = "yaml"
	// Text is shown as it is, without a head.
	Text Format = "text"
	// OpenAIYAML is agents/openai.yaml of a skill, as Codex reads it: its mode is manual
	// where it takes the skill from the list, and the description says by what. What isn't
	// wholly of the types that Codex expects says nothing.
	OpenAIYAML Format = "openai.yaml"
	// Executable is a program, of which nothing is read but its name.
	Executable Format = "executable"
)

// Derivation says where a name or a description comes from.
type Derivation string

// The derivations. Where a field isn't there or isn't a text, a name comes from the
// file, or from the directory of a skill; a description from the heading of Markdown,
// but of skills and subagents, whose description must be given.
const (
	// FromNothing: there is none.
	FromNothing Derivation = ""
	// FromField: the field "name", or "description", of front matter, TOML, JSON or
	// YAML.
	FromField Derivation = "front_matter"
	// FromHeading: the first line that isn't empty, without heading marks.
	FromHeading Derivation = "heading"
	// FromFile: the name of the file up to its first dot that isn't the first
	// character.
	FromFile Derivation = "file"
	// FromDirectory: the name of the directory that the file lies in.
	FromDirectory Derivation = "directory"
	// FromPath: the path below what the place spells out, with the file as in
	// FromFile and ":" for "/", as commands are called in subdirectories.
	FromPath Derivation = "path"
)

// Applies says when what is in a file applies, in the words of the attribute mode:
// always, glob, model or manual. The first of these that says something decides:
// ModeKey, AlwaysKey, GlobsKey, Described, Mode.
type Applies struct {
	// Mode is what holds when nothing in the file says otherwise. Empty: always.
	Mode string
	// GlobsKey is the field with the globs, a list or a text with commas. Where it
	// has some the mode is glob; where they match every file, always.
	GlobsKey string
	// AlwaysKey is a field that makes the mode always where it is true.
	AlwaysKey string
	// ModeKey is a field whose words stand for modes.
	ModeKey string
	Words   []Word
	// Described is the mode where there is a description and none of the above.
	// Empty: it makes no difference.
	Described string
}

// Word is what one word of a file stands for.
type Word struct{ Is, Mode string }

// Agent is a reader of files.
type Agent struct {
	// ID names it: lower-case words joined by hyphens.
	ID string
	// Name is what its makers call it.
	Name string
}
