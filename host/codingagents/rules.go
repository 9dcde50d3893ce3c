package codingagents

import (
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// Client is what is known of one coding agent.
type Client struct {
	// ID is what it is called by, Reader its id in the table of conventions.
	ID, Reader, Name string
	// Version is the one that the rules are of. Judged: test/clients compares them with
	// that version itself.
	Version string
	Judged  bool
	// Instructions are the texts that it begins with, Skills those it lists, each nil
	// where there are none.
	Instructions *Instructions
	Skills       *Skills
	// User is what it reads of the user's own; nil: nothing.
	User *User
	// Heads is how it reads front matter; HeadsOwn where that isn't known.
	Heads conventions.Heads
	// Imports is how many steps it follows what a text imports with @; 0: it doesn't. Only
	// what the user's own imports may lie out of the directory of the start.
	Imports int
	// Dependencies: it looks for skills in node_modules, too.
	Dependencies bool
	// Lists are the conventions of what else it lists by name: subagents, commands.
	Lists []string
	// Own are conventions beside those of the table: places that only this client looks
	// at. Their readers are this client alone.
	Own []conventions.Convention
	// Sources are where the rules are from.
	Sources []Source
}

// Source is where a fact is from, and when it was looked up there, as 2026-11-24.
type Source struct{ At, Date string }

// Top is where a walk ends or begins, above the directory of the start.
type Top string

// The tops.
const (
	// Project: the nearest directory with .git; without one, that of the start.
	Project Top = "project"
	// ProjectElseAll: the nearest directory with .git; without one, the file system's.
	ProjectElseAll Top = "project_else_all"
	// All: the file system's.
	All Top = "all"
)

// Instructions says which texts a client begins with.
type Instructions struct {
	Top Top
	// Up: from the start's directory to the top. Otherwise from the top down.
	Up   bool
	Take Take
	// Places are in order of precedence.
	Places []Place
	// MaxBytes is what all may have together; the one that goes beyond is cut, and
	// those behind it are left out. MaxFile leaves out what is larger. 0: no bound.
	MaxBytes, MaxFile int64
	// SkipBlank leaves out what has nothing but blanks, as well as what is empty.
	SkipBlank bool
}

// Take says which of the places of a walk are taken.
type Take string

// What is taken.
const (
	// FirstOfDirectory: in each directory the first place that there is.
	FirstOfDirectory Take = "first_of_directory"
	// FirstOfAll: the first place that there is in any directory, and that in each.
	FirstOfAll Take = "first_of_all"
	// Every: each place of each directory.
	Every Take = "every"
)

// Place is one convention that instructions are looked for by.
type Place struct {
	Convention string
	// TopOnly: in the project's top directory and no other.
	TopOnly bool
	// Otherwise: only where the places before have nothing in any directory, but for what is
	// Beside.
	Otherwise, Beside bool
}

// User says what a client reads below the user's home directory, by conventions whose
// places begin there.
type User struct {
	// Instructions are the files of which the first that isn't blank is read. They don't
	// count for the budget. After: behind the project's; otherwise before them.
	Instructions []string
	After        bool
	// Skills are looked through before the Places of the same index, and, where there is
	// one more, after all of them. Last: they come after the project's in the list,
	// whatever their names.
	Skills [][]string
	Last   bool
	// Rules are texts beside Instructions, each of which is read that applies always.
	Rules []string
	// Moved are directories of the home directory in the place of which the client takes
	// the one that an environment variable names.
	Moved []Moved
	// Plugins is what it takes of plugins that the user has installed for it and switched
	// on; nil: nothing.
	Plugins *Plugins
}

// Plugins says what a client takes of installed plugins. Which there are, and which of them
// are on, package installed says, and what each brings its manifest.
type Plugins struct {
	// Dir is the client's own directory, in the home directory, with all of that.
	Dir string
	// Settings: those of the directory of the start can switch plugins on and off.
	Settings bool
	// Skills are conventions of skills, which are listed with the user's and looked
	// through after all others. Lists are those of subagents and commands.
	Skills, Lists []string
	// Prefix: what a plugin brings has its name and a colon before its own. Where the
	// client goes by the nearest manifest that is Skills' Namespaces.
	Prefix bool
	// Own are conventions beside those of the table, with places below the home directory.
	Own []conventions.Convention
}

// Moved is a directory, relative to the home directory, and the environment variable that
// can name another one.
type Moved struct{ Variable, Dir string }

// Variables are the environment variables that decide where clients look.
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
	// Up as in Instructions.
	Up bool
	// Places are conventions, each list of them in the order in which a directory is
	// looked through, and one list after the other for the whole walk.
	Places [][]string
	// MaxDepth bounds the directories below the place; 0 doesn't. SkipHidden leaves out
	// what lies in a directory whose name begins with a dot, SkipLinks a SKILL.md that
	// is a link.
	MaxDepth   int
	SkipHidden bool
	SkipLinks  bool
	// RealPlaces: where a place itself is a link, paths begin with what it leads to.
	RealPlaces bool
	// HiddenAt are the conventions of which what SkipHidden says holds in any case.
	HiddenAt []string
	// NeedsName and NeedsDescription leave out what has none, MaxName whose name has
	// more characters. MaxDescription cuts descriptions to so many characters, the
	// last three of which are dots. 0: no bound.
	NeedsName, NeedsDescription bool
	MaxName, MaxDescription     int
	// NeedsUTF8 leaves out what has a byte in it that isn't UTF-8.
	NeedsUTF8 bool
	// OneLine: a description's blanks and line ends become single spaces.
	OneLine bool
	// Same says which ones are listed once.
	Same Same
	// Names is the order of names.
	Names Names
	// Namespaces are the conventions of manifests, in order of precedence: the skills
	// in the directory of one have its name and a colon before theirs.
	Namespaces []string
	// Policy is the convention of files beside a skill that can take it from the list.
	Policy string
	// Line is what a skill is shown as. Budget bounds all lines.
	Line   Line
	Budget *Budget
}

// Same says which skills are listed once.
type Same string

// What counts as the same.
const (
	// SameFile: the same file, reached over links; the first counts.
	SameFile Same = "file"
	// SameNameAny: the same name; any of them counts, and which one can change from start
	// to start. Often it is the last.
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
	// ByLetter compares letters whatever their case, after digits and signs.
	ByLetter Names = "letter"
)

// Line is the form of a skill in a list.
type Line string

// The forms. A path is that of SKILL.md.
const (
	// LineAliased is "- name: description (file: r0/path)": paths are relative to roots
	// that are listed before and called r0, r1, ….
	LineAliased Line = "aliased"
	// LineXML is an element with name, description and location.
	LineXML Line = "xml"
	// LineName is the name and the description.
	LineName Line = "name"
)

// Budget bounds a list of skills: descriptions are shortened first, evenly and a
// character at a time; where that isn't enough all go, and then the skills that don't
// fit, the first of which keep their places.
type Budget struct {
	// Tokens is Percent of Window, which is that of the client's own model. Each line
	// is counted by itself, with its line end.
	Tokens, Percent, Window int64
	// FreeRoots is how many bytes the lines of LineAliased's roots may have before they
	// count, too.
	FreeRoots int64
	// Root is where the client's own skills are, below the user's home directory.
	Root string
	// Builtin are the client's own skills, which come first.
	Builtin []Builtin
}

// Builtin is a skill that a client brings: how long its line is. None of them has
// anything but ASCII.
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

// skillFiles makes the convention of all skills below some directories. Its kind is that
// of another thing with a head: a resolver doesn't look for skills in a skill, as some
// clients do. See Of.
func skillFiles(id, reader string, places ...string) conventions.Convention {
	return conventions.Convention{
		ID: id, Readers: []string{reader}, Scope: conventions.ScopeProject, Places: places,
		Kind: abi.KindSubagent, Format: conventions.Markdown, Name: conventions.FromField, Description: conventions.FromField,
	}
}

// userFile makes the convention of a file of the user's with instructions, by its place
// below the home directory.
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

// policies are the files beside skills of Codex that can take them from the list.
var policies = conventions.Convention{
	ID: "codex-skill-policy", Readers: []string{"codex"}, Scope: conventions.ScopeProject, Kind: abi.KindInstructionFile, Format: conventions.OpenAIYAML,
	Places: []string{".agents/skills/**/agents/openai.yaml", ".codex/skills/**/agents/openai.yaml"},
}

// ofPlugins is a convention with a place in the plugins that Codex has installed.
func ofPlugins(c conventions.Convention, place string) conventions.Convention {
	c.Scope, c.Places = conventions.ScopeUser, []string{".codex/plugins/cache/*/*/*/" + place}
	return c
}

// Clients are all whose rules are known, in order of their ids.
var Clients = []Client{
	{
		ID: "claude", Reader: "claude-code", Name: "Claude Code", Version: "2.1.277", Imports: 4,
		Instructions: &Instructions{
			Top: All, Take: Every, MaxFile: 4 << 20, SkipBlank: true,
			Places: []Place{
				{Convention: "claude-md"}, {Convention: "claude-dir-md"}, {Convention: "claude-rules", Beside: true}, {Convention: "claude-local-md"},
				{Convention: "agents-md", Otherwise: true}, {Convention: "claude-dir-agents-md", Otherwise: true},
			},
		},
		Skills: &Skills{
			Top: Project, Up: true, Places: [][]string{{"claude-skills"}}, MaxDepth: 1,
			MaxDescription: 1536, Same: SameNameFirst, Names: ByByte, Line: LineName,
		},
		User: &User{
			Instructions: []string{"claude-dir-md"}, Rules: []string{"claude-rules"}, Skills: [][]string{{"claude-skills"}},
			Moved:   []Moved{{"CLAUDE_CONFIG_DIR", ".claude"}},
			Plugins: &Plugins{Dir: ".claude", Settings: true, Skills: []string{"plugin-skills", "plugin-skill"}, Lists: []string{"plugin-agents", "plugin-commands"}, Prefix: true},
		},
		Lists: []string{"claude-agents", "claude-commands"},
		Sources: []Source{
			{"https://code.claude.com/docs/en/memory", noted},
			{"https://code.claude.com/docs/en/skills", noted},
			{"https://code.claude.com/docs/en/plugins-reference", latest},
			{"https://raw.githubusercontent.com/anthropics/claude-code/v2.1.277/mods/agents-md/README.md", noted},
			{"Claude Code 2.1.332, what it sends to its model, for imports and what hides AGENTS.md", "2026-11-27"},
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

// Lookup returns the client of an id; nil where there is none.
func Lookup(id string) *Client {
	for i := range Clients {
		if Clients[i].ID == id {
			return &Clients[i]
		}
	}
	return nil
}

// IDs are those of Clients.
func IDs() []string {
	ids := make([]string, len(Clients))
	for i := range Clients {
		ids[i] = Clients[i].ID
	}
	return ids
}

// Conventions lists the ids of all that a client's rules name.
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

// UserRows returns those of what a client reads in the home directory; without those of
// Rows, if they are looked for there in any case.
func (c *Client) UserRows(beside bool) []conventions.Convention {
	if c.User == nil {
		return nil
	}
	ids := slices.Concat(append(slices.Clone(c.User.Skills), c.User.Instructions, c.User.Rules)...)
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
