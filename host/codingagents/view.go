package codingagents

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/snapshot"
)

// Input is the input of Of.
type Input struct {
	Client *Client
	// Start is the directory that the client is started in. Project is the nearest one with
	// .git: Start itself, one above it, or empty if there is none. Both are absolute and free
	// of links.
	Start, Project string
	// Home is the user's home directory, whose length can count. It is free of links if User
	// is set, which says that what the client reads there was looked at.
	Home string
	User bool
	// Moved are directories that environment variables substitute for some in the home
	// directory; see User. They are the Directory of their finds.
	Moved map[string]string
	// Looked are the directories that were looked at, of those that Directories names.
	Looked []string
	// Plugins are those that the user has installed and enabled, in order. A plugin's
	// directory is the Directory of its finds.
	Plugins []Plugin
	// Below are directories below Start on the way to a file, its own first, as far as they
	// were looked at. Only For uses them.
	Below []string
	// Finds are what was found in all of them.
	Finds []Find
	// Read reads a text that another one imports at its Path: anywhere, if user is set. It
	// reports whether there is one, as far as that may be known.
	Read func(f *Find, user bool) bool
}

// Plugin is an installed plugin: the client's name for it, and its directory.
type Plugin struct{ Name, Dir string }

// Find is something that a resolver found.
type Find struct {
	// Directory is the one of Looked that it was found in.
	Directory string
	// Path is where it was found, below Directory, before links were followed: the file, or
	// the directory of a skill.
	Path string
	// Linked says that the file, or the SKILL.md of a skill, is a link. Place is the
	// directory of its place, such as .agents/skills; empty means PlaceOf. RealPlace is its
	// target over links; empty if there are none.
	Linked           bool
	Place, RealPlace string
	snapshot.Resource

	user   bool   // found among the user's files
	plugin string // that brings it
	by     *Find  // imports it
}

// View is what a client would see at its start.
type View struct {
	// Client is the coding agent.
	Client string `json:"client"`
	// Name is what its makers call it.
	Name string `json:"name"`
	// Version is the version that the rules describe.
	Version string `json:"version"`
	// Judged says that the rules are compared with the program itself. Otherwise they are as
	// its makers document them.
	Judged bool `json:"judged"`
	// Root is the directory that it is started in.
	Root string `json:"root"`
	// Project is the directory that it takes for the top of the project.
	Project string `json:"project"`
	// Items are what it sees, in its order, and then what it leaves out.
	Items []Item `json:"items"`
	// Budget is what there is room for, and what is used.
	Budget Usage `json:"budget"`
	// NotLookedAt lists directories where the client looks, and imported paths, that weren't
	// looked at.
	NotLookedAt []string `json:"not_looked_at"`
}

// Item is one thing that a client sees or leaves out.
type Item struct {
	// ID is that of the resource.
	ID string `json:"id"`
	// Kind is that of the resource.
	Kind abi.Kind `json:"kind"`
	// Convention is the id of the row of the table of conventions by which it was found.
	Convention string `json:"convention"`
	// Path is that of the file as it was found, absolute.
	Path string `json:"path"`
	// Name is the client's name for it; empty for instructions.
	Name string `json:"name"`
	// Bytes is what it would take of the client's context with nothing cut: the text of
	// instructions, and for others the line in a list.
	Bytes int64 `json:"bytes" minimum:"0"`
	// Tokens is what it takes, as an estimate: one for four bytes.
	Tokens int64 `json:"tokens" minimum:"0"`
	// Included says that the client sees it.
	Included bool `json:"included"`
	// CutBytes is how many of the bytes are cut off; all if there is no room for it.
	CutBytes int64 `json:"cut_bytes" minimum:"0"`
	// Description is what a list shows of a description.
	Description string `json:"description,omitempty"`
	// Reason is why it is missing, or not whole; absent if all of it is there.
	Reason Reason `json:"reason,omitempty"`
	// Detail says the reason for a person, and whether another could replace an included
	// item.
	Detail string `json:"detail,omitempty"`
	// User says that it is the user's own, and not the project's.
	User bool `json:"user,omitempty"`
	// Imports are what its text names with @, as written there.
	Imports []string `json:"imports,omitempty"`
	// ImportedBy is the file whose text names this one with @.
	ImportedBy string `json:"imported_by,omitempty"`

	find  *Find
	below bool // it lies below the start's directory, or is imported there
}

// Reason says why something isn't in a client's context, or not whole.
type Reason string

// The reasons.
const (
	Cut             Reason = "cut"                  // the end is cut off: the budget was used up
	Shortened       Reason = "shortened"            // the description is cut
	NoRoom          Reason = "no_room"              // the budget was used up before
	Overridden      Reason = "overridden"           // another one is read in its place
	Blank           Reason = "blank"                // there is nothing in it
	TooLarge        Reason = "too_large"            // larger than the client reads
	NotAlways       Reason = "not_always"           // its mode isn't always
	Elsewhere       Reason = "elsewhere"            // the client looks for it in another directory
	Invalid         Reason = "invalid"              // it can't be read, or isn't what it should be
	NoName          Reason = "no_name"              //
	NoDescription   Reason = "no_description"       //
	NameTooLong     Reason = "name_too_long"        //
	Hidden          Reason = "hidden"               // it lies in a directory whose name begins with a dot
	TooDeep         Reason = "too_deep"             //
	LinkedFile      Reason = "linked_file"          // SKILL.md is a link
	Duplicate       Reason = "duplicate"            // another one is listed in its place
	Policy          Reason = "policy"               // its own policy removes it from the list
	LongDescription Reason = "description_too_long" // its description is longer than allowed
)

// Usage is what there is room for, and what is used.
type Usage struct {
	// InstructionBytes bounds all instructions; 0 means no bound.
	InstructionBytes int64 `json:"instruction_bytes" minimum:"0"`
	// UsedBytes is what the instructions take.
	UsedBytes int64 `json:"used_bytes" minimum:"0"`
	// SkillTokens bounds the list of skills; 0 means no bound. It is a share of a context of
	// WindowTokens.
	SkillTokens int64 `json:"skill_tokens" minimum:"0"`
	// WindowTokens is the size of the client's context.
	WindowTokens int64 `json:"window_tokens" minimum:"0"`
	// UsedTokens is what the list takes, with the coding agent's own skills, as an estimate.
	UsedTokens int64 `json:"used_tokens" minimum:"0"`
	// Builtin is how many skills are the coding agent's own.
	Builtin int `json:"builtin_skills" minimum:"0"`
	// Shortened is how many skills have a shortened description for lack of room.
	Shortened int `json:"shortened_skills" minimum:"0"`
	// Dropped is how many skills aren't listed for lack of room.
	Dropped int `json:"dropped_skills" minimum:"0"`
}

// bytesPerToken is the estimate of tokens, rounded up.
const bytesPerToken = 4

func tokens(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// Directories returns where a client looks, from the top down to start. project and home
// are as in Input.
func Directories(c *Client, start, project, home string) []string {
	top := start
	for _, t := range []Top{c.instructionsTop(), c.skillsTop(), cmp.Or(c.ListsTop, Project)} {
		if dir := topOf(t, start, project, home); len(dir) < len(top) {
			top = dir
		}
	}
	return between(top, start)
}

func (c *Client) instructionsTop() Top {
	if c.Instructions == nil {
		return Project
	}
	return c.Instructions.Top
}

func (c *Client) skillsTop() Top {
	if c.Skills == nil {
		return Project
	}
	return c.Skills.Top
}

func topOf(t Top, start, project, home string) string {
	switch {
	case t == ProjectElseHome && project == "" && start != home && home != "" && isBelow(home, start):
		first, _, _ := strings.Cut(strings.TrimPrefix(start, strings.TrimSuffix(home, "/")+"/"), "/")
		return filepath.Join(home, first)
	case t == All || (t == ProjectElseAll || t == ProjectElseHome) && project == "":
		return "/"
	case project == "":
		return start
	}
	return project
}

// between lists the directories from top down to start, which lies in it.
func between(top, start string) []string {
	list := []string{start}
	for dir := start; dir != top && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		list = append(list, dir)
	}
	slices.Reverse(list)
	return list
}

// Of returns what a client would see.
func Of(in Input) *View {
	v := look(&in)
	v.instructions()
	v.skills()
	v.lists()
	v.fitList()
	v.once()
	slices.SortStableFunc(v.view.Items, func(a, b Item) int { return compareTrue(a.Included, b.Included) })
	return v.view
}

// look starts a view.
func look(in *Input) *viewer {
	c := in.Client
	v := &viewer{
		in: in, top: cmp.Or(in.Project, in.Start), finds: map[string]map[string][]*Find{}, seen: map[string]bool{},
		view: &View{
			Client: c.ID, Name: c.Name, Version: c.Version, Judged: c.Judged, Root: in.Start, Project: cmp.Or(in.Project, in.Start),
			Items: []Item{}, NotLookedAt: []string{},
		},
	}
	for i := range in.Finds {
		f := in.Finds[i].asSkill(c)
		byConvention := v.finds[f.Directory]
		if byConvention == nil {
			byConvention = map[string][]*Find{}
			v.finds[f.Directory] = byConvention
		}
		byConvention[f.Convention] = append(byConvention[f.Convention], f)
	}
	for _, byConvention := range v.finds {
		for _, list := range byConvention {
			slices.SortFunc(list, func(a, b *Find) int { return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Key, b.Key)) })
		}
	}
	for _, dir := range Directories(c, in.Start, in.Project, in.Home) {
		if !slices.Contains(in.Looked, dir) {
			v.view.NotLookedAt = append(v.view.NotLookedAt, dir)
		}
	}
	return v
}

// asSkill returns a find with the client's path and place for it. A find of a SKILL.md
// becomes the skill itself: its directory, whose name is used if it declares none.
func (f *Find) asSkill(c *Client) *Find {
	s := *f
	s.Place = cmp.Or(f.Place, PlaceOf(f.Directory, f.Path))
	if rest := strings.TrimPrefix(f.Path, s.Place); f.RealPlace != "" && rest != "" && c.Skills != nil && c.Skills.RealPlaces {
		s.Place, s.Path = f.RealPlace, f.RealPlace+rest
	}
	if c.Skills == nil || f.Kind != abi.KindSubagent || filepath.Base(f.Path) != "SKILL.md" {
		return &s
	}
	s.Kind, s.Path, s.Source = abi.KindSkill, filepath.Dir(s.Path), filepath.Dir(f.Source)
	if nameless(f) {
		s.Name = filepath.Base(s.Path)
	}
	return &s
}

// compareTrue sorts true first.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// viewer makes a view.
type viewer struct {
	in    *Input
	top   string // of the project, or where the client is started
	finds map[string]map[string][]*Find
	view  *View
	below bool            // whether additions lie below the start's directory
	seen  map[string]bool // instructions that the client has, by path and by target
	reads int             // of imported texts
}

// walk lists the directories of a walk in its order.
func (v *viewer) walk(t Top, up bool) []string {
	dirs := between(topOf(t, v.in.Start, v.in.Project, v.in.Home), v.in.Start)
	if up {
		slices.Reverse(dirs)
	}
	return dirs
}

func (v *viewer) add(f *Find, it Item) {
	it.User, it.below = f.user, v.below
	it.ID, it.Kind, it.Convention, it.find = f.ID(), f.Kind, f.Convention, f
	if it.Path = f.Path; f.Kind == abi.KindSkill {
		it.Path = filepath.Join(f.Path, "SKILL.md")
	}
	if it.Included {
		it.Tokens = tokens(it.Bytes - it.CutBytes)
	}
	v.tellImports(f, &it)
	v.view.Items = append(v.view.Items, it)
}

// leave adds what isn't included.
func (v *viewer) leave(f *Find, reason Reason, detail string) {
	name := f.Name
	if f.Kind == abi.KindInstructionFile {
		name = ""
	}
	v.add(f, Item{Name: name, Bytes: f.SizeBytes, Reason: reason, Detail: detail})
}

// lists adds what is listed by name.
func (v *viewer) lists() {
	c := v.in.Client
	begin := len(v.view.Items)
	for _, convention := range c.Lists {
		seen := map[string]bool{}
		for _, f := range v.listed(convention) {
			switch name := f.Name; {
			case f.Status == snapshot.StatusInvalid || f.Status == snapshot.StatusUnreadable:
				v.leave(f, Invalid, f.Error)
			case c.SubagentsDescribed && f.Kind == abi.KindSubagent && nameless(f):
				v.leave(f, NoName, "it says no name")
			case c.SubagentsDescribed && f.Kind == abi.KindSubagent && strings.Contains(name, ":"):
				v.leave(f, Invalid, "its name has a colon")
			case c.SubagentsDescribed && f.Kind == abi.KindSubagent && f.Description == "":
				v.leave(f, NoDescription, "it has no description")
			case f.Attributes["mode"].Text == "manual":
				v.leave(f, NotAlways, "its mode is manual")
			case seen[name]:
				v.leave(f, Duplicate, "another one of this name lies nearer")
			case c.ListsByName && f.Kind == abi.KindCommand && v.listsSkill(name):
				v.leave(f, Duplicate, "a skill has its name")
			default:
				seen[name] = true
				v.add(f, Item{Name: name, Included: true, Bytes: int64(len(name) + len(f.Description)), Description: f.Description})
			}
		}
	}
	if c.ListsByName {
		slices.SortStableFunc(v.view.Items[begin:], func(a, b Item) int {
			return cmp.Or(slices.Index(c.Lists, a.Convention)-slices.Index(c.Lists, b.Convention), ByLetter.compare(a.Name, b.Name))
		})
	}
	v.pluginLists()
}

// listed are the finds of a convention in the order of precedence.
func (v *viewer) listed(convention string) (list []*Find) {
	for _, dir := range v.walk(cmp.Or(v.in.Client.ListsTop, Project), true) {
		list = append(list, v.finds[dir][convention]...)
	}
	user := v.in.Client.User
	if user == nil || !slices.Contains(user.Lists, convention) {
		return list
	}
	own := v.users(convention)
	if slices.ContainsFunc(own, func(f *Find) bool { return f.Kind == abi.KindCommand }) {
		return append(own, list...)
	}
	return append(list, own...)
}

// listsSkill reports whether a skill of a name is listed.
func (v *viewer) listsSkill(name string) bool {
	return slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Included && it.Kind == abi.KindSkill && it.Name == name })
}
