package codingagents

import (
	"fmt"
	"path"
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
)

// Client is what is known of one coding agent.
type Client struct {
	// ID is its id here, Reader its id in the table of conventions.
	ID, Reader, Name string
	// Aliases are other names that commands take for it. Program is the name of its program in
	// PATH; empty if it has none.
	Aliases []string
	Program string
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
	// WholeGit says that a directory .git counts only with HEAD, objects and refs in it.
	WholeGit bool
	// NotAtHome are conventions of skills and Lists that don't count in the home directory,
	// unless the user's files include them.
	NotAtHome []string
	// Imports is how it follows imports with @; nil if it doesn't.
	Imports *Imports
	// IgnoreGlobs says that the globs of its rules are patterns as in .gitignore, and ignore
	// case. NameGlobs says that those without a slash match names at any depth, and others
	// are relative to the top of the project.
	IgnoreGlobs, NameGlobs bool
	// Unlinked are conventions whose files don't count if they are links.
	Unlinked []string
	// IgnoreCase says that names of skills, subagents and texts are the same whose letters
	// differ only in case.
	IgnoreCase bool
	// FoldNames says that it ignores the case of the names of instruction files, but for that
	// of their directories. If there are several, one in the usual case counts.
	FoldNames bool
	// SkipHidden leaves out rules and subagents if their name, or that of a directory below
	// their place, begins with a dot.
	SkipHidden bool
	// LinksInside says that a file of the project counts only if it lies in the project, or
	// below the start without one, after links are followed.
	LinksInside bool
	// Dependencies says that it looks for skills in node_modules, too.
	Dependencies bool
	// Lists are the conventions of what else it lists by name: subagents, commands. It looks
	// for them from the start up to ListsTop, which is Project by default. ListsByName sorts
	// them. SubagentsDescribed leaves out subagents without a name or a description. Of equal
	// names the nearest counts. With ListsLater it is the last one: after the user's that are
	// only read in the home directory come those from the start up, and then the user's others.
	// What it doesn't say is as in the ones before.
	Lists      []string
	ListsLater bool
	// Primaries are the client's own agents that aren't subagents. A file with such a name
	// changes one, and adds a subagent only if it says so itself.
	Primaries          []string
	ListsTop           Top
	ListsByName        bool
	SubagentsDescribed bool
	// ListsByRun sorts what it lists by the bytes of names, and commands of the start before
	// those above. SubagentsByFile says that subagents are the same if their files are called
	// the same.
	ListsByRun, SubagentsByFile bool
	// Agreed are those of Lists that count in a project only once the user has agreed to each.
	Agreed []string
	// Builtin are names of a kind in Lists that are the client's own. Files whose names begin with
	// ListsWithout aren't listed, and with ListsNoLinks no links are.
	Builtin      map[abi.Kind][]string
	ListsWithout string
	ListsNoLinks bool
	// NoSkillsNames lists no command that has the name of a skill, even of one that comes with a
	// file.
	NoSkillsNames bool
	// GlobsOfProject says that the globs of the user's own rules are relative to the project.
	// With GlobsExact a glob with a slash at its beginning or end matches nothing.
	GlobsOfProject, GlobsExact bool
	// ListBudget bounds the list of skills and commands; nil if nothing does.
	ListBudget *ListBudget
	// Own are conventions besides those of the table: places that only this client reads.
	Own []conventions.Convention
	// Sources are where the rules come from.
	Sources []Source
}

// Judge says what the rules were compared with, and when: the program in a version, or its
// documentation.
func (c *Client) Judge() string {
	date := ""
	for _, s := range c.Sources {
		date = max(date, s.Date)
	}
	if c.Judged {
		return "program " + c.Version + ", " + date
	}
	return "documentation, " + date
}

// Imports says how a client follows imports with @.
type Imports struct {
	// Of returns what a text imports, as written. Steps is how many levels are followed.
	Of    func(text string) []string
	Steps int
	// Inlined puts each text in the place of its import, wherever it is named, and so a file
	// that is read at the start can also be imported. Imports may then lie anywhere in the
	// project that contains the first importer: the nearest directory with .git, or else its
	// own. Otherwise each file counts once, and only those that the user's own files import
	// may lie outside the directory of the start. ElseStart has imports of a project's files
	// lie below the directory of the start, if there is no .git, in the place of the
	// importer's.
	Inlined, ElseStart bool
	// AsWritten begins relative paths where the importer was found, and not where links lead.
	// Links leads imports over links out of where they may lie.
	AsWritten, Links bool
	// Without are the conventions of texts that import nothing.
	Without []string
}

// Source is where a fact was found, and the date, as 2026-11-24.
type Source struct{ At, Date string }

// Top is where a walk ends or begins, above the directory of the start.
type Top string

// The tops.
const (
	// StartOnly: the directory of the start.
	StartOnly Top = "start"
	// Project: the nearest directory with .git; without one, that of the start.
	Project Top = "project"
	// ProjectElseAll: the nearest directory with .git; without one, the file system's root.
	ProjectElseAll Top = "project_else_all"
	// ProjectElseHome: the nearest directory with .git; without one, the topmost directory
	// below the user's home directory, or the file system's root if the start isn't in it.
	ProjectElseHome Top = "project_else_home"
	// ProjectElseThroughHome: the nearest directory with .git; without one, the user's home
	// directory, or the file system's root if the start isn't in it.
	ProjectElseThroughHome Top = "project_else_through_home"
	// All: the file system's root.
	All Top = "all"
	// ProjectAlone: as Project, and no directory below it.
	ProjectAlone Top = "project_alone"
	// AboveProject: the parent of the nearest directory with .git; without one, that of the
	// user's home directory, or the file system's root if the start isn't in it. The root itself
	// doesn't count, and above a start in the home directory nothing does.
	AboveProject Top = "above_project"
)

// Instructions says which texts a client starts with.
type Instructions struct {
	Top Top
	// Up walks from the directory of the start to the top, otherwise from the top down.
	Up   bool
	Take Take
	// Places are in order of precedence.
	Places []Place
	// Before are texts of the directory of the start that precede all others, also the user's.
	// One that isn't there is replaced by that of User.Before with the same index.
	Before []string
	// Rules are texts of the directory of the start that follow all others, and the user's
	// Rules. Of one convention's files with the same name the first counts. With
	// SkipLinkedRules those in directories don't count that are links.
	Rules           []string
	SkipLinkedRules bool
	// Parts are what is read of the walk, one after the other, in the place of all Places in
	// all directories.
	Parts []Part
	// MaxBytes bounds all texts together: the one that exceeds it is cut, and later ones are
	// left out. MaxFile leaves out larger files. 0 means no bound.
	MaxBytes, MaxFile int64
	// SkipBlank leaves out files with only white space, as well as empty ones, SkipBare those
	// with only comments and front matter, too.
	SkipBlank, SkipBare bool
	// ByPath sorts the texts of a walk by their paths.
	ByPath bool
	// ByPlace takes one place after the other, each on the whole walk, and before it the user's
	// own files of that place.
	ByPlace bool
	// EndsAbove is a directory in the home directory where a walk from below ends.
	EndsAbove string
	// Renamed says which settings name the files; nil if none do.
	Renamed *Renamed
	// AlwaysOnly says that rules that don't always apply are never read.
	AlwaysOnly bool
	// Shallow are conventions of which the files of a directory come before those of the
	// directories in it. Of those in Once that have the same text the first counts.
	Shallow, Once []string
	// ByName sorts the texts by their names, letter by letter. Of one name the last counts.
	// Called are names for texts that say none, by convention; otherwise it is that of the
	// file.
	ByName bool
	Called map[string]string
}

// Part is a part of a walk, and the conventions of what is read there.
type Part struct {
	Of          Stretch
	Conventions []string
}

// Stretch is some of the directories of a walk.
type Stretch string

// The stretches.
const (
	// Ends: the top of the walk, and then the directory of the start.
	Ends Stretch = "ends"
	// Between: the directories between these, the nearest to the start first.
	Between Stretch = "between"
	// UsersRules: none, but the Rules of User.
	UsersRules Stretch = "users_rules"
)

// Renamed are settings that name instruction files.
type Renamed struct {
	// File has the settings: in the directory of the start, or else in the home directory.
	// Each of Keys leads to a name or a list of names; the first one that does counts.
	File string
	Keys [][]string
	// Places are the conventions of the files that have their names otherwise. The files of
	// the settings come before, or with Instead in their place. Those of the user's own are in
	// the directory Dir.
	Places  []string
	Instead bool
	Dir     string
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
	// that are Beside. These are read besides the first of a directory.
	Otherwise, Beside bool
	// User is the convention of the user's own files of the place; see Instructions.ByPlace.
	User string
	// InProject: only in a project, with .git.
	InProject bool
	// SkipLinks leaves out links, SkipBare files with only blanks, comments and front matter.
	SkipLinks, SkipBare bool
	// LinksBelow: a link counts only if its target lies below the directory of the start.
	LinksBelow bool
	// OneText: a text counts once, wherever it lies.
	OneText bool
}

// User says what a client reads below the user's home directory, by conventions whose places
// are relative to it.
type User struct {
	// Instructions are files of which the first that isn't blank is read. They don't count
	// for the budget. After puts them behind the project's instead of before. EachInstruction
	// reads all of them. With BlankTakes, a blank one also keeps the later ones out.
	Instructions    []string
	After           bool
	EachInstruction bool
	BlankTakes      bool
	// Before are read in the place of those of Instructions.Before that don't exist, by
	// index.
	Before []string
	// Skills are searched before the Places of the same index and, if there is one more,
	// after all of them. Last lists them after the project's, whatever their names.
	Skills [][]string
	Last   bool
	// Rules are texts besides Instructions. All of them that always apply are read. With
	// RulesLater they are read directly before Instructions.Rules, in the same way.
	Rules      []string
	RulesLater bool
	// Lists are those of the client's Lists that it reads here, too, and others that it reads
	// only here. Of equal names the project's subagent and the user's command count. With
	// ListsLast the project's command counts instead.
	Lists     []string
	ListsLast bool
	// Subagents are conventions of subagents besides Lists, which win over the project's.
	Subagents []string
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
	// client that uses the nearest manifest, Skills.Namespaces does that. PrefixSubagents does
	// so for subagents alone.
	Prefix, PrefixSubagents bool
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
	// Tops are the tops of some of Places, by convention, in place of Top.
	Tops map[string]Top
	// HomeApart says that what lies in the home directory counts as the user's even if that
	// directory is on the walk.
	HomeApart bool
	// Files are conventions of skills that are single files. One without a name is called
	// like the directory that it lies in.
	Files []string
	// Outermost says that nothing below a skill is another one.
	Outermost bool
	// MaxDepth bounds the directories below the place; 0 means no bound. SkipHidden leaves
	// out skills in a directory whose name begins with a dot, SkipLinks those whose SKILL.md
	// is a link.
	MaxDepth   int
	SkipHidden bool
	SkipLinks  bool
	// SkipLinkedDirs leaves out those whose directory is a link.
	SkipLinkedDirs bool
	// RealPlaces: if a place itself is a link, paths begin with its target.
	RealPlaces bool
	// HiddenAt are the conventions for which SkipHidden applies in any case.
	HiddenAt []string
	// NeedsName and NeedsDescription leave out skills without one, MaxName those with a
	// longer name. MaxDescription cuts descriptions, and ends them with three dots. Lengths
	// are in characters; 0 means no bound.
	NeedsName, NeedsDescription bool
	MaxName, MaxDescription     int
	// Beside are names of directories that aren't looked into.
	Beside []string
	// NoSigns are characters that names can't have; hyphens stand for them.
	NoSigns string
	// NeedsUTF8 leaves out files that aren't valid UTF-8.
	NeedsUTF8 bool
	// OneLine replaces white space in a description, including line ends, by single spaces.
	OneLine bool
	// ByDirectory names a skill by its directory, whatever name it has in its front matter.
	ByDirectory bool
	// Same says which skills are duplicates. One that isn't listed for one of the reasons in
	// Counted still keeps others of its name out.
	Same    Same
	Counted []Reason
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
	// SameNameLast: the same name; the last counts, and is listed in the place of the first.
	// Which one is the last of a place can change from start to start.
	SameNameLast Same = "name_last"
	// SameFileOrName: the same file or the same name; the first counts.
	SameFileOrName Same = "file_or_name"
	// SameNever: all are listed.
	SameNever Same = "never"
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
	// ByPath is the same with each place sorted by path: the bytes of a name, and then of
	// those below it.
	ByPath Names = "path"
	// ByRun keeps the order in which places are searched. Neighbors are sorted by bytes if
	// both are the start's, or both lie above it, or both are of one place of the user's.
	ByRun Names = "run"
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
	// LineBare is the name alone.
	LineBare Line = "bare"
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
	// Element is what an entry takes besides its name, its description and its location
	// ("project" or "user"), if these are written as XML. After the first entry that has no
	// room, all are listed by name. The client's own come before commands.
	Element int
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

// Clients are all clients whose rules are known, in order of their ids.
var Clients = []Client{claude, cline, codex, continued, copilotCLI, copilotVSCode, gemini, kilo, opencode, pi, qwen}

// Lookup returns the client with an id or another name of it; nil if there is none.
func Lookup(name string) *Client {
	for i := range Clients {
		if c := &Clients[i]; c.ID == name || c.Reader == name || slices.Contains(c.Aliases, name) {
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
		ids = append(append(ids, c.Instructions.Before...), c.Instructions.Rules...)
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

// RowsAbove returns those of Rows that are also looked for above the directory of the start.
func (c *Client) RowsAbove() []conventions.Convention {
	var ids []string
	if c.Instructions != nil {
		ids = append(append(ids, c.Instructions.Before...), c.Instructions.Rules...)
	}
	if c.Skills != nil {
		for convention, top := range c.Skills.Tops {
			if top == StartOnly {
				ids = append(ids, convention)
			}
		}
	}
	if c.ListsTop == StartOnly {
		ids = append(ids, c.Lists...)
	}
	return slices.DeleteFunc(c.Rows(), func(row conventions.Convention) bool { return slices.Contains(ids, row.ID) })
}

// UserRows returns the conventions of what a client reads in the home directory, except those
// of beside.
func (c *Client) UserRows(beside []conventions.Convention) []conventions.Convention {
	if c.User == nil {
		return nil
	}
	ids := slices.Concat(append(slices.Clone(c.User.Skills), c.User.Before, c.User.Instructions, c.User.Rules, c.User.Lists, c.User.Subagents)...)
	if c.Skills != nil {
		ids = append(append(ids, c.Skills.Namespaces...), c.Skills.Policy)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(beside, func(row conventions.Convention) bool { return row.ID == id })
	})
	return c.rows(ids)
}

// WithNames returns the client with instruction files of other names, which settings give,
// before its own.
func (c *Client) WithNames(names []string) *Client {
	rules := c.Instructions.Renamed
	own, instructions, user := *c, *c.Instructions, *c.User
	own.Instructions, own.User, own.Own = &instructions, &user, slices.Clone(c.Own)
	instructions.Renamed = nil
	var places []Place
	for i, name := range names {
		known := slices.IndexFunc(c.Instructions.Places, func(p Place) bool {
			return slices.Contains(rules.Places, p.Convention) && slices.Contains(c.rows([]string{p.Convention})[0].Places, name)
		})
		place := Place{Convention: fmt.Sprintf("named-%d", i), User: fmt.Sprintf("user-named-%d", i)}
		if known >= 0 {
			place = c.Instructions.Places[known]
		} else {
			own.Own = append(own.Own, userFile(place.Convention, c.Reader, name), userFile(place.User, c.Reader, path.Join(rules.Dir, name)))
		}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	for _, p := range c.Instructions.Places {
		if !slices.Contains(places, p) && (!rules.Instead || !slices.Contains(rules.Places, p.Convention)) {
			places = append(places, p)
		}
	}
	instructions.Places, user.Instructions = places, nil
	for _, p := range places {
		if p.User != "" && !slices.Contains(user.Rules, p.User) {
			user.Instructions = append(user.Instructions, p.User)
		}
	}
	return &own
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
