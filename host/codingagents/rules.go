package codingagents

import (
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// Client is what is known of one coding agent.
type Client struct {
	// ID is its id here, Reader its id in the table of conventions.
	ID, Reader, Name string
	// Version is the version that the rules describe. Judged says that test/clients compares
	// them with that version itself.
	Version string
	Judged  bool
	// Instructions are the texts that it starts with, Skills those it lists; nil if there are
	// none.
	Instructions *Instructions
	Skills       *Skills
	// User is what it reads of the user's own; nil if nothing.
	User *User
	// Heads is how it reads front matter; HeadsOwn if unknown.
	Heads conventions.Heads
	// Imports is how many levels of imports with @ it follows; 0 means none. Only imports of
	// the user's own files may lie outside the directory of the start.
	Imports int
	// IgnoreGlobs says that the globs of its rules are patterns as in .gitignore, and ignore
	// case.
	IgnoreGlobs bool
	// Dependencies says that it looks for skills in node_modules, too.
	Dependencies bool
	// Lists are the conventions of what else it lists by name: subagents, commands. It looks
	// for them from the start up to ListsTop, which is Project by default. ListsByName sorts
	// them. SubagentsDescribed leaves out subagents without a name or a description.
	Lists              []string
	ListsTop           Top
	ListsByName        bool
	SubagentsDescribed bool
	// ListBudget bounds the list of skills and commands; nil if nothing does.
	ListBudget *ListBudget
	// Own are conventions besides those of the table: places that only this client reads.
	Own []conventions.Convention
	// Sources are where the rules come from.
	Sources []Source
}

// Source is where a fact was found, and the date, as 2026-11-24.
type Source struct{ At, Date string }

// Top is where a walk ends or begins, above the directory of the start.
type Top string

// The tops.
const (
	// Project: the nearest directory with .git; without one, that of the start.
	Project Top = "project"
	// ProjectElseAll: the nearest directory with .git; without one, the file system's root.
	ProjectElseAll Top = "project_else_all"
	// ProjectElseHome: the nearest directory with .git; without one, the topmost directory
	// below the user's home directory, or the file system's root if the start isn't in it.
	ProjectElseHome Top = "project_else_home"
	// All: the file system's root.
	All Top = "all"
)

// Instructions says which texts a client starts with.
type Instructions struct {
	Top Top
	// Up walks from the directory of the start to the top, otherwise from the top down.
	Up   bool
	Take Take
	// Places are in order of precedence.
	Places []Place
	// MaxBytes bounds all texts together: the one that exceeds it is cut, and later ones are
	// left out. MaxFile leaves out larger files. 0 means no bound.
	MaxBytes, MaxFile int64
	// SkipBlank leaves out files with only white space, as well as empty ones.
	SkipBlank bool
}

// Take says which of the places of a walk are taken.
type Take string

// What is taken.
const (
	// FirstOfDirectory: in each directory the first place that exists.
	FirstOfDirectory Take = "first_of_directory"
	// FirstOfAll: the first place that exists in any directory, and that one in each.
	FirstOfAll Take = "first_of_all"
	// Every: each place of each directory.
	Every Take = "every"
)

// Place is one convention by which instructions are found.
type Place struct {
	Convention string
	// TopOnly: only in the project's top directory.
	TopOnly bool
	// Otherwise: only if the earlier places have nothing in any directory, not counting those
	// that are Beside.
	Otherwise, Beside bool
	// LinksBelow: a link counts only if its target lies below the directory of the start.
	LinksBelow bool
}

// User says what a client reads below the user's home directory, by conventions whose places
// are relative to it.
type User struct {
	// Instructions are files of which the first that isn't blank is read. They don't count
	// for the budget. After puts them behind the project's instead of before.
	Instructions []string
	After        bool
	// Skills are searched before the Places of the same index and, if there is one more,
	// after all of them. Last lists them after the project's, whatever their names.
	Skills [][]string
	Last   bool
	// Rules are texts besides Instructions. All of them that always apply are read.
	Rules []string
	// Lists are those of the client's Lists that it reads here, too. If names are equal, the
	// project's subagent and the user's command count.
	Lists []string
	// Moved are directories in the home directory that an environment variable can replace.
	Moved []Moved
	// Plugins is what it takes of plugins that the user has installed and enabled for it; nil
	// if nothing.
	Plugins *Plugins
}

// Plugins says what a client takes of installed plugins. Package installed says which there
// are and which are enabled; a plugin's manifest says what it brings.
type Plugins struct {
	// Dir is the client's own directory with all of that, in the home directory.
	Dir string
	// Settings says that settings in the directory of the start can enable and disable
	// plugins.
	Settings bool
	// Skills are conventions of skills, which are listed with the user's and searched last.
	// Lists are those of subagents and commands.
	Skills, Lists []string
	// Prefix puts the plugin's name and a colon before the names of what it brings. For a
	// client that uses the nearest manifest, Skills.Namespaces does that.
	Prefix bool
	// Own are conventions besides those of the table, with places below the home directory.
	Own []conventions.Convention
}

// Moved is a directory, relative to the home directory, and the environment variable that can
// replace it.
type Moved struct{ Variable, Dir string }

// Variables lists the environment variables that decide where clients look.
func Variables() (names []string) {
	for i := range Clients {
		if user := Clients[i].User; user != nil {
			for _, m := range user.Moved {
				names = append(names, m.Variable)
			}
		}
	}
	return names
}

// Skills says which skills a client lists.
type Skills struct {
	Top Top
	// Up is as in Instructions.
	Up bool
	// Places are lists of conventions. Each list is in the order in which a directory is
	// searched; one list after the other is used for the whole walk.
	Places [][]string
	// MaxDepth bounds the directories below the place; 0 means no bound. SkipHidden leaves
	// out skills in a directory whose name begins with a dot, SkipLinks those whose SKILL.md
	// is a link.
	MaxDepth   int
	SkipHidden bool
	SkipLinks  bool
	// RealPlaces: if a place itself is a link, paths begin with its target.
	RealPlaces bool
	// HiddenAt are the conventions for which SkipHidden applies in any case.
	HiddenAt []string
	// NeedsName and NeedsDescription leave out skills without one, MaxName those with a
	// longer name. MaxDescription cuts descriptions, and ends them with three dots. Lengths
	// are in characters; 0 means no bound.
	NeedsName, NeedsDescription bool
	MaxName, MaxDescription     int
	// NeedsUTF8 leaves out files that aren't valid UTF-8.
	NeedsUTF8 bool
	// OneLine replaces white space in a description, including line ends, by single spaces.
	OneLine bool
	// ByDirectory names a skill by its directory, whatever name it has in its front matter.
	ByDirectory bool
	// Same says which skills are duplicates.
	Same Same
	// Names is the order of names.
	Names Names
	// Namespaces are the conventions of manifests, in order of precedence. The skills in the
	// directory of a manifest get its name and a colon as prefix.
	Namespaces []string
	// Policy is the convention of files beside a skill that can remove it from the list.
	Policy string
	// Line is the form of a skill in the list. Budget bounds all lines.
	Line   Line
	Budget *Budget
}

// Same says which skills are listed once.
type Same string

// What counts as the same.
const (
	// SameFile: the same file, reached over links; the first counts.
	SameFile Same = "file"
	// SameNameAny: the same name. Any of them counts, often the last, and the choice can
	// change from start to start.
	SameNameAny Same = "name_any"
	// SameNameFirst: the same name; the first counts.
	SameNameFirst Same = "name_first"
)

// Names is an order of names.
type Names string

// The orders.
const (
	// ByByte compares bytes.
	ByByte Names = "byte"
	// ByLetter compares letters ignoring case, after digits and signs.
	ByLetter Names = "letter"
	// ByPlace keeps the order in which places are searched, and sorts each place by letter.
	ByPlace Names = "place"
)

// Line is the form of a skill in a list.
type Line string

// The forms. A path is that of SKILL.md.
const (
	// LineAliased is "- name: description (file: r0/path)": paths are relative to roots that
	// are listed before and called r0, r1, ….
	LineAliased Line = "aliased"
	// LineXML is an element with name, description and location.
	LineXML Line = "xml"
	// LineName is the name and the description.
	LineName Line = "name"
)

// Budget bounds a list of skills. Descriptions are shortened first, evenly and a character at
// a time. If that isn't enough, all descriptions are dropped, and then the skills that don't
// fit; the first ones keep their places.
type Budget struct {
	// Tokens is Percent of Window, which is that of the client's own model. Each line is
	// counted separately, with its line end.
	Tokens, Percent, Window int64
	// FreeRoots is how many bytes the lines of LineAliased's roots may have before they
	// count, too.
	FreeRoots int64
	// Root is where the client's own skills are, below the user's home directory.
	Root string
	// Builtin are the client's own skills, which come first.
	Builtin []Builtin
}

// ListBudget bounds a list of skills and commands in characters, UTF-16 code units with line
// ends. Names always stay. The client's own entries have their descriptions first, then those
// of the list for which there is room.
type ListBudget struct {
	// Characters is for a model with this Window, in tokens.
	Characters, Window int
	// Builtin is how many entries of the list are the client's own, and BuiltinCharacters
	// what they take.
	Builtin, BuiltinCharacters int
}

// Builtin is a skill that comes with a client, with the length of its line. All of them are
// ASCII.
type Builtin struct {
	Name string
	// Description is its length in characters.
	Description int
}

// The dates of sources.
const (
	judged = "2026-11-24" // the program was run
	noted  = "2026-08-22" // it was read
	latest = "2026-11-25" // it was read again
)

// skillFiles makes the convention of all skills below some directories. It has the kind of
// another thing with front matter: resolvers don't look for skills in a skill, but some
// clients do. See Of.
func skillFiles(id, reader string, places ...string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{reader}, Scope: conventions.ScopeProject, Places: places,
		Kind: abi.KindSubagent, Format: conventions.Markdown, Name: conventions.FromField, Description: conventions.FromField,
	}
}

// userFile makes the convention of a user's instruction file, by its place below the home
// directory.
func userFile(id, reader, place string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{reader}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
		Description: conventions.FromHeading, Places: []string{place},
	}
}

// manifest makes the convention of a plugin's manifest among the skills of Codex.
func manifest(id, name string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{"codex"}, Scope: conventions.ScopeProject, Kind: abi.KindPlugin, Format: conventions.JSON,
		Places: []string{".agents/skills/**/" + name, ".codex/skills/**/" + name}, Name: conventions.FromField,
	}
}

// policies are the files beside skills of Codex that can remove them from the list.
var policies = conventions.Convention{
	ID: "codex-skill-policy", Readers: []string{"codex"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.OpenAIYAML,
	Places: []string{".agents/skills/**/agents/openai.yaml", ".codex/skills/**/agents/openai.yaml"},
}

// ofPlugins returns a convention with a place in the plugins that Codex has installed.
func ofPlugins(c conventions.Convention, place string) conventions.Convention {
	c.Scope, c.Places = conventions.ScopeUser, []string{".codex/plugins/cache/*/*/*/" + place}
	return c
}

// Clients are all clients whose rules are known, in order of their ids.
var Clients = []Client{
	{
		ID: "claude", Reader: "claude-code", Name: "Claude Code", Version: "2.1.332", Judged: true, Imports: 4, Heads: conventions.HeadsClaude, IgnoreGlobs: true,
		Instructions: &Instructions{
			Top: All, Take: Every, MaxFile: 4 << 20, SkipBlank: true,
			Places: []Place{
				{Convention: "claude-md"}, {Convention: "claude-dir-md"}, {Convention: "claude-rules", Beside: true, LinksBelow: true}, {Convention: "claude-local-md"},
				{Convention: "agents-md", Otherwise: true}, {Convention: "claude-dir-agents-md", Otherwise: true},
			},
		},
		Skills: &Skills{
			Top: ProjectElseHome, Up: true, Places: [][]string{{"claude-skill-files"}}, MaxDepth: 1,
			MaxDescription: 1536, ByDirectory: true, Same: SameNameFirst, Names: ByPlace, Line: LineName,
		},
		User: &User{
			Instructions: []string{"claude-dir-md"}, Rules: []string{"claude-rules"}, Skills: [][]string{{"claude-skill-files"}},
			Lists:   []string{"claude-agents", "claude-commands"},
			Moved:   []Moved{{"CLAUDE_CONFIG_DIR", ".claude"}},
			Plugins: &Plugins{Dir: ".claude", Settings: true, Skills: []string{"plugin-skills", "plugin-skill"}, Lists: []string{"plugin-agents", "plugin-commands"}, Prefix: true},
		},
		ListBudget: &ListBudget{Characters: 30_000, Window: 1_000_000, Builtin: 13, BuiltinCharacters: 6074},
		Lists:      []string{"claude-agents", "claude-commands"}, ListsTop: ProjectElseHome, ListsByName: true, SubagentsDescribed: true,
		Own: []conventions.Convention{skillFiles("claude-skill-files", "claude-code", ".claude/skills/*/SKILL.md")},
		Sources: []Source{
			{"https://code.claude.com/docs/en/memory", noted},
			{"https://code.claude.com/docs/en/skills", noted},
			{"https://code.claude.com/docs/en/plugins-reference", latest},
			{"https://raw.githubusercontent.com/anthropics/claude-code/v2.1.277/mods/agents-md/README.md", noted},
			{"Claude Code 2.1.332, what it sends to its model", "2026-11-28"},
		},
	},
	{
		ID: "codex", Reader: "codex", Name: "Codex", Version: "0.169.0", Judged: true, Heads: conventions.HeadsSerde, Dependencies: true,
		Instructions: &Instructions{
			Top: Project, Take: FirstOfDirectory, MaxBytes: 32 << 10, SkipBlank: true,
			Places: []Place{{Convention: "agents-override-md"}, {Convention: "agents-md"}},
		},
		Skills: &Skills{
			Top: Project, Places: [][]string{{"codex-skill-files"}, {"agents-skill-files"}},
			MaxDepth: 6, SkipHidden: true, SkipLinks: true, RealPlaces: true,
			NeedsDescription: true, MaxName: 64, MaxDescription: 1024, NeedsUTF8: true, OneLine: true,
			Same: SameFile, Names: ByByte, Line: LineAliased,
			Namespaces: []string{"codex-plugin", "claude-plugin", "codex-nested-plugin", "claude-nested-plugin"}, Policy: "codex-skill-policy",
			Budget: &Budget{
				Tokens: 5440, Percent: 2, Window: 272_000, FreeRoots: 142, Root: ".codex/skills/.system",
				Builtin: []Builtin{{"imagegen", 570}, {"openai-docs", 624}, {"skill-creator", 106}, {"skill-installer", 225}},
			},
		},
		User: &User{
			Instructions: []string{"codex-user-override-md", "codex-user-md"},
			Skills:       [][]string{nil, {"codex-skill-files", "agents-skill-files"}}, Last: true,
			Moved: []Moved{{"CODEX_HOME", ".codex"}},
			Plugins: &Plugins{Dir: ".codex", Skills: []string{"codex-plugin-skill-files", "plugin-skills"}, Own: []conventions.Convention{
				ofPlugins(skillFiles("codex-plugin-skill-files", "codex"), "skills/**/SKILL.md"),
				ofPlugins(policies, "**/agents/openai.yaml"),
				ofPlugins(manifest("codex-nested-plugin", ""), "**/.codex-plugin/plugin.json"),
				ofPlugins(manifest("claude-nested-plugin", ""), "**/.claude-plugin/plugin.json"),
			}},
		},
		Own: []conventions.Convention{
			skillFiles("codex-skill-files", "codex", ".codex/skills/**/SKILL.md"),
			skillFiles("agents-skill-files", "codex", ".agents/skills/**/SKILL.md"),
			policies,
			userFile("codex-user-override-md", "codex", ".codex/AGENTS.override.md"),
			userFile("codex-user-md", "codex", ".codex/AGENTS.md"),
			manifest("codex-nested-plugin", ".codex-plugin/plugin.json"),
			manifest("claude-nested-plugin", ".claude-plugin/plugin.json"),
		},
		Sources: []Source{
			{"@openai/codex 0.169.0, codex debug prompt-input", judged},
			{"https://github.com/openai/codex: codex-rs/core/src/agents_md.rs, codex-rs/core-skills/src/{loader,render,model_visible}.rs", judged},
		},
	},
	{
		ID: "copilot", Reader: "copilot", Name: "GitHub Copilot CLI", Version: "documentation of 2026-11",
		Instructions: &Instructions{
			Top: Project, Take: Every,
			Places: []Place{
				{Convention: "copilot-instructions", TopOnly: true}, {Convention: "copilot-rules", TopOnly: true},
				{Convention: "agents-md"}, {Convention: "claude-md", TopOnly: true}, {Convention: "gemini-md", TopOnly: true},
			},
		},
		Skills: &Skills{
			Top: Project, Up: true, Places: [][]string{{"copilot-skills", "claude-skills", "agents-skills"}}, MaxDepth: 1,
			Same: SameNameFirst, Names: ByByte, Line: LineName,
		},
		User: &User{
			Instructions: []string{"copilot-user-md"}, Skills: [][]string{nil, {"copilot-user-skills", "agents-skills"}},
			Plugins: &Plugins{Dir: ".copilot", Skills: []string{"plugin-skills"}, Lists: []string{"plugin-agents", "plugin-commands"}},
		},
		Lists: []string{"copilot-agents", "copilot-prompts"},
		Own: []conventions.Convention{
			userFile("copilot-user-md", "copilot", ".copilot/copilot-instructions.md"),
			{
				ID: "copilot-user-skills", Readers: []string{"copilot"}, Scope: conventions.ScopeProject, Kind: abi.KindSkill, Format: conventions.Markdown,
				Name: conventions.FromField, Description: conventions.FromField, Places: []string{".copilot/skills/*/SKILL.md"},
			},
		},
		Sources: []Source{
			{"https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-custom-instructions", noted},
			{"https://docs.github.com/en/copilot/how-tos/copilot-on-github/customize-copilot/customize-cloud-agent/add-skills", latest},
			{"https://docs.github.com/copilot/reference/copilot-cli-reference/cli-plugin-reference", latest},
		},
	},
	{
		ID: "opencode", Reader: "opencode", Name: "opencode", Version: "1.18.33", Judged: true, Heads: conventions.HeadsMatter, Dependencies: true,
		Instructions: &Instructions{
			Top: ProjectElseAll, Up: true, Take: FirstOfAll,
			Places: []Place{{Convention: "agents-md"}, {Convention: "claude-md"}, {Convention: "opencode-context-md"}},
		},
		Skills: &Skills{
			Top: ProjectElseAll, Up: true,
			Places:    [][]string{{"claude-skill-files", "agents-skill-files"}, {"opencode-skill-files"}},
			HiddenAt:  []string{"opencode-skill-files", "opencode-user-skill-files"},
			NeedsName: true, NeedsDescription: true, Same: SameNameAny, Names: ByLetter, Line: LineXML,
		},
		User: &User{
			Instructions: []string{"opencode-user-md", "claude-dir-md"},
			Skills:       [][]string{{"claude-skill-files", "agents-skill-files"}, {"opencode-user-skill-files"}, {"opencode-skill-files"}},
			Moved:        []Moved{{"XDG_CONFIG_HOME", ".config"}},
		},
		Lists: []string{"opencode-agents", "opencode-commands"},
		Own: []conventions.Convention{
			skillFiles("claude-skill-files", "opencode", ".claude/skills/**/SKILL.md"),
			skillFiles("agents-skill-files", "opencode", ".agents/skills/**/SKILL.md"),
			userFile("opencode-user-md", "opencode", ".config/opencode/AGENTS.md"),
			skillFiles("opencode-user-skill-files", "opencode", ".config/opencode/skill/**/SKILL.md", ".config/opencode/skills/**/SKILL.md"),
			skillFiles("opencode-skill-files", "opencode", ".opencode/skill/**/SKILL.md", ".opencode/skills/**/SKILL.md"),
			{
				ID: "opencode-context-md", Readers: []string{"opencode"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.Markdown,
				Description: conventions.FromHeading, Places: []string{"CONTEXT.md"},
			},
		},
		Sources: []Source{
			{"opencode-ai 1.18.33, opencode debug skill, debug config and run", judged},
			{"https://github.com/anomalyco/opencode: packages/opencode/src/session/instruction.ts, packages/opencode/src/skill", judged},
		},
	},
}

// Lookup returns the client with an id; nil if there is none.
func Lookup(id string) *Client {
	for i := range Clients {
		if Clients[i].ID == id {
			return &Clients[i]
		}
	}
	return nil
}

// IDs returns the ids of Clients.
func IDs() []string {
	ids := make([]string, len(Clients))
	for i := range Clients {
		ids[i] = Clients[i].ID
	}
	return ids
}

// Conventions lists the ids of all conventions that a client's rules name.
func (c *Client) Conventions() (ids []string) {
	if c.Instructions != nil {
		for _, p := range c.Instructions.Places {
			ids = append(ids, p.Convention)
		}
	}
	if s := c.Skills; s != nil {
		for _, list := range s.Places {
			ids = append(ids, list...)
		}
		ids = append(ids, s.Namespaces...)
		ids = append(ids, s.Policy)
	}
	return append(ids, c.Lists...)
}

// Rows returns the conventions that a client's rules name, from the table and its own.
func (c *Client) Rows() []conventions.Convention { return c.rows(c.Conventions()) }

// UserRows returns the conventions of what a client reads in the home directory. With beside,
// it omits those of Rows.
func (c *Client) UserRows(beside bool) []conventions.Convention {
	if c.User == nil {
		return nil
	}
	ids := slices.Concat(append(slices.Clone(c.User.Skills), c.User.Instructions, c.User.Rules, c.User.Lists)...)
	if c.Skills != nil {
		ids = append(append(ids, c.Skills.Namespaces...), c.Skills.Policy)
	}
	if beside {
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(c.Conventions(), id) })
	}
	return c.rows(ids)
}

func (c *Client) rows(ids []string) (rows []conventions.Convention) {
	for _, list := range [][]conventions.Convention{conventions.All, c.Own} {
		for i := range list {
			if slices.Contains(ids, list[i].ID) {
				rows = append(rows, list[i])
			}
		}
	}
	return rows
}
