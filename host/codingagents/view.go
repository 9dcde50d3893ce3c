package codingagents

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
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
	// Nested are instruction files of the project in directories below its top, in git's index.
	// Only Of uses them.
	Nested []string
	// Finds are what was found in all of them.
	Finds []Find
	// Servers are the MCP servers of the project's files. Only Compare uses them.
	Servers []Server
	// Read reads a text that another one imports at its Path: anywhere, if user is set. It
	// reports whether there is one, as far as that may be known.
	Read func(f *Find, user bool) bool
	// ProjectOf returns the nearest directory with .git: dir, one above it, or nothing.
	ProjectOf func(dir string) string
}

// Server is an MCP server in a file of the project: its name, the file's absolute path after
// links, and a digest of what it starts or dials.
type Server struct {
	Name, Path string
	Digest     []byte
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
	file   bool   // a skill that is a single file
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
	// Judged says what the rules were compared with, and when: "program 2.1.332, 2026-11-28" or
	// "documentation, 2026-08-22".
	Judged string `json:"judged"`
	// Root is the directory that it is started in.
	Root string `json:"root"`
	// Project is the directory that it takes for the top of the project.
	Project string `json:"project"`
	// Items are what it sees, in its order, and then what it leaves out.
	Items []Item `json:"items"`
	// Budget is what there is room for, and what is used.
	Budget snapshot.ClientBudget `json:"budget"`
	// NotLookedAt lists directories where the client looks, and imported paths, that weren't
	// looked at.
	NotLookedAt []string `json:"not_looked_at"`
	// OnFile lists instruction files in directories below, as far as git's index has them, that
	// it reads as soon as it works on a file of their directory.
	OnFile []string `json:"on_file,omitempty"`
}

// Item is one thing that a client sees or leaves out.
type Item struct {
	snapshot.ClientItem

	find  *Find
	below bool // it lies below the start's directory, or is imported there
}

// Reason says why something isn't in a client's context, or not whole.
type Reason = snapshot.ClientReason

// bytesPerToken is the estimate of tokens, rounded up.
const bytesPerToken = 4

func tokens(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// Directories returns where a client looks, from the top down to start. project and home
// are as in Input.
func Directories(c *Client, start, project, home string) []string {
	top := start
	for _, t := range append(c.skillsTops(), c.instructionsTop(), cmp.Or(c.ListsTop, Project)) {
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

func (c *Client) skillsTops() []Top {
	if c.Skills == nil {
		return nil
	}
	return append(slices.Collect(maps.Values(c.Skills.Tops)), c.Skills.Top)
}

func topOf(t Top, start, project, home string) string {
	switch {
	case t == ProjectElseHome && project == "" && start != home && home != "" && isBelow(home, start):
		first, _, _ := strings.Cut(strings.TrimPrefix(start, strings.TrimSuffix(home, "/")+"/"), "/")
		return filepath.Join(home, first)
	case t == StartOnly, t == AboveProject && start == home:
		return start
	case t == AboveProject:
		top := cmp.Or(project, home)
		if !isBelow(top, start) {
			top = start
			for filepath.Dir(filepath.Dir(top)) != filepath.Dir(top) {
				top = filepath.Dir(top)
			}
			return top
		}
		if dir := filepath.Dir(top); dir != filepath.Dir(dir) {
			return dir
		}
		return top
	case t == ProjectElseThroughHome && project == "" && home != "" && isBelow(home, start):
		return home
	case t == All || (t == ProjectElseAll || t == ProjectElseHome || t == ProjectElseThroughHome) && project == "":
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
	v.byName()
	v.skills()
	v.lists()
	v.fitList()
	v.once()
	if nestedRules[in.Client.ID].Instructions == OnFile {
		v.view.OnFile = slices.DeleteFunc(slices.Clone(in.Nested), func(path string) bool {
			at := in.Client.Place(path)
			return at.Row == nil || !in.Client.isNested(at.Row.ID) || at.Directory == in.Start || !isBelow(in.Start, at.Directory)
		})
	}
	slices.SortStableFunc(v.view.Items, func(a, b Item) int { return applicability.TrueFirst(a.Included, b.Included) })
	return v.view
}

// look starts a view.
func look(in *Input) *viewer {
	c := in.Client
	v := &viewer{
		in: in, top: cmp.Or(in.Project, in.Start), finds: map[string]map[string][]*Find{}, seen: map[string]bool{}, told: map[string]bool{}, texted: map[string]bool{},
		view: &View{
			Client: c.ID, Name: c.Name, Version: c.Version, Judged: c.Judge(), Root: in.Start, Project: cmp.Or(in.Project, in.Start),
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
		for convention, list := range byConvention {
			slices.SortFunc(list, func(a, b *Find) int { return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Key, b.Key)) })
			if c.Instructions != nil && slices.Contains(c.Instructions.Shallow, convention) {
				slices.SortStableFunc(list, func(a, b *Find) int {
					one, other := strings.Split(a.Path, "/"), strings.Split(b.Path, "/")
					return cmp.Or(len(one)-len(other), slices.Compare(one, other))
				})
			}
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
	switch {
	case c.Skills == nil || f.Kind != abi.KindSubagent:
	case slices.Contains(c.Skills.Files, f.Convention):
		if s.Kind, s.file = abi.KindSkill, true; nameless(f) {
			s.Name = filepath.Base(filepath.Dir(s.Path))
		}
	case filepath.Base(f.Path) == "SKILL.md":
		s.Kind, s.Path, s.Source = abi.KindSkill, filepath.Dir(s.Path), filepath.Dir(f.Source)
		if nameless(f) {
			s.Name = filepath.Base(s.Path)
		}
	}
	return &s
}

// textPath is the path of its text: of a skill's SKILL.md, for one that is a directory.
func (f *Find) textPath() string {
	if f.Kind == abi.KindSkill && !f.file {
		return filepath.Join(f.Path, "SKILL.md")
	}
	return f.Path
}

// viewer makes a view.
type viewer struct {
	in     *Input
	top    string // of the project, or where the client is started
	finds  map[string]map[string][]*Find
	view   *View
	below  bool            // whether additions lie below the start's directory
	seen   map[string]bool // instructions that the client has, by path and by target
	told   map[string]bool // those that are listed as such
	texted map[string]bool // texts of which the first counts
	reads  int             // of imported texts
}

// walk lists the directories of a walk in its order.
func (v *viewer) walk(t Top, up bool) []string {
	dirs := between(topOf(t, v.in.Start, v.in.Project, v.in.Home), v.in.Start)
	if t == ProjectAlone {
		dirs = dirs[:1]
	}
	if up {
		slices.Reverse(dirs)
	}
	return dirs
}

func (v *viewer) add(f *Find, said snapshot.ClientItem) {
	it := Item{ClientItem: said, find: f, below: v.below}
	it.ID, it.Kind, it.Convention, it.User = f.ID(), f.Kind, f.Convention, f.user
	it.Path = f.textPath()
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
	v.add(f, snapshot.ClientItem{Name: name, Bytes: f.SizeBytes, Reason: reason, Detail: detail})
}

// lists adds what is listed by name.
func (v *viewer) lists() {
	c := v.in.Client
	begin := len(v.view.Items)
	taken := map[string]bool{}
	v.listAll(v.allListed(), taken)
	if c.ListsByRun {
		slices.SortStableFunc(v.view.Items[begin:], func(a, b Item) int {
			commands := a.Kind == abi.KindCommand && b.Kind == abi.KindCommand
			if commands && (a.find.Directory == v.in.Start) != (b.find.Directory == v.in.Start) {
				return applicability.TrueFirst(a.find.Directory == v.in.Start, b.find.Directory == v.in.Start)
			}
			return cmp.Or(applicability.TrueFirst(a.Kind == abi.KindSubagent, b.Kind == abi.KindSubagent), strings.Compare(a.Name, b.Name), strings.Compare(fileName(a.find), fileName(b.find)))
		})
	}
	if c.ListsByName {
		slices.SortStableFunc(v.view.Items[begin:], func(a, b Item) int {
			return cmp.Or(strings.Compare(string(b.Kind), string(a.Kind)), ByLetter.compare(a.Name, b.Name))
		})
	}
	v.listAll(v.pluginsLists(), taken)
}

// listAll adds those that are listed. taken are names and files that keep later ones out.
func (v *viewer) listAll(list []*Find, taken map[string]bool) {
	c := v.in.Client
	for _, f := range list {
		name := f.Name
		if prefix := v.prefix(f); prefix != "" {
			name = prefix + ":" + name
		}
		key := string(f.Kind) + " " + c.fold(name)
		beside := "" // names subagents in one directory
		if c.SubagentsByFile && f.Kind == abi.KindSubagent && f.plugin == "" {
			key = fileName(f)
			beside = f.Place + key
		}
		if beside != "" && taken[beside] {
			v.leave(f, snapshot.ClientDuplicate, "another file of this name, ending with .agent.md, lies beside it")
			continue
		}
		reason, detail := v.unlisted(f)
		switch {
		case reason != "":
			v.leave(f, reason, detail)
			if beside != "" && reason == snapshot.ClientInvalid {
				taken[beside] = strings.HasSuffix(f.Path, ".agent.md")
			}
		case taken[key]:
			v.leave(f, snapshot.ClientDuplicate, "another one of its name counts")
		case f.Attributes["mode"].Text == "manual":
			taken[key] = c.ListsLater || c.Skills != nil && slices.Contains(c.Skills.Counted, snapshot.ClientNotAlways)
			v.leave(f, snapshot.ClientNotAlways, "its mode is manual")
		case f.Kind == abi.KindSubagent && slices.Contains(c.Primaries, f.Name) && f.Attributes["mode"].Text == "":
			taken[key] = c.ListsLater
			v.leave(f, snapshot.ClientNotAlways, "it changes an agent of "+c.Name+" that isn't a subagent")
		case (c.ListsByName || c.ListsByRun) && f.Kind == abi.KindCommand && v.listsSkill(name):
			v.leave(f, snapshot.ClientDuplicate, "a skill has its name")
		default:
			taken[key] = true
			v.list(f, name, f.Description)
		}
	}
}

// list adds something that is listed by a name.
func (v *viewer) list(f *Find, name, description string) {
	v.add(f, snapshot.ClientItem{Name: name, Included: true, Bytes: int64(len(name) + len(description)), Description: description})
}

// unlisted returns why something that lists could have isn't listed, whatever else there is;
// empty if it is.
func (v *viewer) unlisted(f *Find) (reason Reason, detail string) {
	c := v.in.Client
	described := c.SubagentsDescribed && f.Kind == abi.KindSubagent
	switch {
	case f.isBroken():
		return snapshot.ClientInvalid, f.Error
	case c.ListsWithout != "" && strings.HasPrefix(filepath.Base(f.Path), c.ListsWithout):
		return snapshot.ClientHidden, "its name begins with " + c.ListsWithout
	case c.ListsNoLinks && f.Linked:
		return snapshot.ClientLinkedFile, "it is a link, and links aren't followed"
	case v.outside(f, false):
		return snapshot.ClientElsewhere, outside
	case described && nameless(f):
		return snapshot.ClientNoName, "it says no name"
	case described && strings.Contains(f.Name, ":"):
		return snapshot.ClientInvalid, "its name has a colon"
	case described && f.Description == "":
		return snapshot.ClientNoDescription, "it has no description"
	case c.SkipHidden && isHidden(f):
		return snapshot.ClientHidden, "its name begins with a dot, or that of a directory that it lies in"
	case slices.Contains(c.Agreed, f.Convention) && !f.user:
		return snapshot.ClientPolicy, "it is listed once the user has agreed to it"
	case slices.Contains(c.Builtin[f.Kind], f.Name):
		return snapshot.ClientDuplicate, "another one of this name is the coding agent's own"
	}
	return "", ""
}

// allListed are the finds of all lists, each in the order of precedence.
func (v *viewer) allListed() (all []*Find) {
	c, user := v.in.Client, v.in.Client.User
	if user == nil {
		user = &User{}
	}
	own := slices.DeleteFunc(slices.Clone(user.Lists), func(id string) bool { return slices.Contains(c.Lists, id) })
	if !c.ListsLater {
		for _, convention := range slices.Concat(user.Subagents, c.Lists, own) {
			all = append(all, v.listed(convention)...)
		}
		return all
	}
	for _, convention := range own {
		all = append(all, v.users(convention)...)
	}
	for _, dir := range v.walk(cmp.Or(c.ListsTop, Project), true) {
		for _, convention := range c.Lists {
			all = append(all, v.finds[dir][convention]...)
		}
	}
	n := len(all)
	for _, convention := range c.Lists {
		if slices.Contains(user.Lists, convention) { // the home directory can be on the walk
			all = append(all, slices.DeleteFunc(v.users(convention), func(f *Find) bool {
				return slices.ContainsFunc(all[:n], func(other *Find) bool { return other.Path == f.Path })
			})...)
		}
	}
	return v.later(all)
}

// later returns finds in the reverse order. Each has what it doesn't say from those before it
// that have its name.
func (v *viewer) later(all []*Find) (list []*Find) {
	before := map[string]*Find{}
	for _, f := range all {
		if !f.isBroken() && !v.outside(f, false) {
			key, whole := string(f.Kind)+" "+f.Name, *f
			if old := before[key]; old != nil {
				whole.Description = cmp.Or(f.Description, old.Description)
				if f.Attributes["mode"].Text == "" {
					whole.Attributes = old.Attributes
				}
			}
			f, before[key] = &whole, &whole
		}
		list = append(list, f)
	}
	slices.Reverse(list)
	return list
}

// outside is why a link out of the project isn't followed.
const outside = "it is a link that leads out of the project"

// outside reports whether a file of the project lies elsewhere after links are followed. With
// above, that is also said of files above the project.
func (v *viewer) outside(f *Find, above bool) bool {
	if !v.in.Client.LinksInside || f.user {
		return false
	}
	return (above || isBelow(v.top, f.Path)) && !isBelow(v.top, cmp.Or(f.Source, f.Path))
}

// fold returns a name as it is compared with others.
func (c *Client) fold(name string) string {
	if c.IgnoreCase {
		return strings.ToLower(name)
	}
	return name
}

// unlinked reports whether a file doesn't count because it is a link.
func (v *viewer) unlinked(f *Find) bool {
	return f.Linked && slices.Contains(v.in.Client.Unlinked, f.Convention)
}

// listed are the finds of a convention in the order of precedence.
func (v *viewer) listed(convention string) (list []*Find) {
	if slices.Contains(v.in.Client.Lists, convention) {
		for _, dir := range v.walk(cmp.Or(v.in.Client.ListsTop, Project), true) {
			list = append(list, v.project(dir, convention)...)
		}
	}
	user := v.in.Client.User
	if user == nil || !slices.Contains(user.Lists, convention) && !slices.Contains(user.Subagents, convention) {
		return list
	}
	own := v.users(convention)
	if !user.ListsLast && slices.ContainsFunc(own, func(f *Find) bool { return f.Kind == abi.KindCommand }) {
		return append(own, list...)
	}
	return append(list, own...)
}

// project are the finds of a directory that count as the project's.
func (v *viewer) project(dir, convention string) []*Find {
	if dir == v.in.Home && slices.Contains(v.in.Client.NotAtHome, convention) {
		return nil
	}
	return v.finds[dir][convention]
}

// fileName is what a subagent's file is called below its place.
func fileName(f *Find) string {
	rel := strings.TrimPrefix(f.Path, f.Place)
	return strings.TrimSuffix(strings.TrimSuffix(rel, filepath.Ext(rel)), ".agent")
}

// isHidden reports whether a name in a find's path, below its place, begins with a dot.
func isHidden(f *Find) bool { return strings.Contains(strings.TrimPrefix(f.Path, f.Place), "/.") }

// listsSkill reports whether a skill of a name is listed.
func (v *viewer) listsSkill(name string) bool {
	counts := v.in.Client.Skills != nil && slices.Contains(v.in.Client.Skills.Counted, snapshot.ClientNotAlways)
	return slices.ContainsFunc(v.view.Items, func(it Item) bool {
		later := it.Reason == snapshot.ClientNotAlways && (counts || v.in.Client.NoSkillsNames && it.find.Attributes["mode"].Text == "glob")
		return (it.Included || later) && it.Kind == abi.KindSkill && it.Name == name
	})
}
