package codingagents

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/snapshot"
)

// skill is a skill that is to be listed, or keeps another of its name out of the list.
type skill struct {
	*Find
	name        string // as the client calls it
	description string
	at          string // the place by which it is sorted
	cutBefore   bool   // the description was too long
	reason      Reason // why it isn't listed; one of Skills.Counted
	detail      string
	rivals      []string // other files that can be listed in its place
	shared      string   // the base of its path, if that isn't its place
	run         int      // number of its run of neighbors, for ByRun
}

// skills adds the list of skills.
func (v *viewer) skills() {
	rules := v.in.Client.Skills
	if rules == nil {
		return
	}
	list := v.unique(v.candidates())
	for i := 1; i < len(list); i++ {
		if list[i].run = list[i-1].run; v.runOf(list[i]) != v.runOf(list[i-1]) {
			list[i].run++
		}
	}
	places := map[string]int{} // in the order in which they are looked through
	for _, s := range list {
		if _, known := places[s.at]; !known {
			places[s.at] = len(places)
		}
	}
	slices.SortStableFunc(list, func(a, b *skill) int {
		if user := v.in.Client.User; user != nil && user.Last && a.user != b.user {
			return applicability.TrueFirst(b.user, a.user)
		}
		switch rules.Names {
		case ByRun:
			return cmp.Or(a.run-b.run, strings.Compare(a.name, b.name))
		case ByPlace:
			return cmp.Or(places[a.at]-places[b.at], ByLetter.compare(a.name, b.name))
		case ByPath:
			return cmp.Or(places[a.at]-places[b.at], comparePaths(a.Path, b.Path))
		}
		return cmp.Or(rules.Names.compare(a.name, b.name), strings.Compare(a.Path, b.Path))
	})
	roots := v.roots(list)
	lines := make([]line, len(list))
	for i, s := range list {
		lines[i] = line{size: rules.Line.size(s, roots), description: s.description}
	}
	fit := rules.Budget.fit(lines, roots)
	if b := rules.Budget; b != nil {
		u := &v.view.Budget
		u.SkillTokens, u.WindowTokens, u.UsedTokens, u.Builtin = b.Tokens, b.Window, fit.used, len(b.Builtin)
		u.Shortened, u.Dropped = fit.shortened, fit.dropped
	}
	for i, s := range list {
		shown := fit.shown[i]
		it := snapshot.ClientItem{Name: s.name, Included: shown >= 0, Bytes: lines[i].full(), Detail: s.rivalry()}
		switch {
		case shown < 0:
			it.CutBytes, it.Reason, it.Detail = it.Bytes, snapshot.ClientNoRoom, "the list of skills has no room for it, even without descriptions"
		case shown < len(s.description):
			it.Description = s.description[:shown]
			it.CutBytes, it.Reason = it.Bytes-lines[i].with(shown), snapshot.ClientShortened
			it.Detail = fmt.Sprintf("%d of the %d bytes of its description are shown", shown, len(s.description))
		case s.cutBefore:
			it.Description, it.Reason = s.description, snapshot.ClientLongDescription
			it.Detail = fmt.Sprintf("its description is cut to %d characters", rules.MaxDescription)
		default:
			it.Description = s.description
		}
		v.add(s.Find, it)
	}
}

// candidates lists what is looked at, in that order, and leaves out what can't be listed.
func (v *viewer) candidates() (list []*skill) {
	rules := v.in.Client.Skills
	looked := map[string]bool{} // a home directory can be one of the project's
	look := func(finds []*Find) {
		if rules.Names == ByPath {
			byPath(finds)
		}
		for _, f := range finds {
			if looked[f.Path] || f.user && v.builtin(f) {
				continue
			}
			looked[f.Path] = true
			reason, detail := v.refuse(f)
			if reason != "" && !slices.Contains(rules.Counted, reason) {
				v.leave(f, reason, detail)
				continue
			}
			s := v.skill(f)
			s.reason, s.detail = reason, detail
			list = append(list, s)
		}
	}
	for i := range len(rules.Places) + 1 {
		var own []*Find
		for _, convention := range v.userSkills(i) {
			own = append(own, v.users(convention)...)
		}
		look(own)
		if i == len(rules.Places) {
			break
		}
		for _, dir := range v.walkSkills() {
			var here []*Find
			for _, convention := range rules.Places[i] {
				if v.searches(dir, convention) {
					here = append(here, v.project(dir, convention)...)
				}
			}
			look(here)
		}
	}
	if plugins := v.in.Client.plugins(); plugins != nil {
		for i := range v.in.Plugins {
			for _, convention := range plugins.Skills {
				look(v.brought(&v.in.Plugins[i], convention))
			}
		}
	}
	return list
}

// userSkills returns the conventions of the user's skills that are searched before the places
// of an index.
func (v *viewer) userSkills(i int) []string {
	if user := v.in.Client.User; user != nil && i < len(user.Skills) {
		return user.Skills[i]
	}
	return nil
}

// searches reports whether a directory of the walk is searched for a convention.
func (v *viewer) searches(dir, convention string) bool {
	rules, user := v.in.Client.Skills, v.in.Client.User
	if rules.HomeApart && v.in.User && dir == v.in.Home && slices.Contains(slices.Concat(user.Skills...), convention) {
		return false
	}
	t := cmp.Or(rules.Tops[convention], rules.Top)
	top := topOf(t, v.in.Start, v.in.Project, v.in.Home)
	return isBelow(top, dir) && (t != ProjectAlone || dir == top)
}

// walkSkills lists the directories in which skills are searched.
func (v *viewer) walkSkills() []string {
	rules := v.in.Client.Skills
	top := v.in.Start
	for _, t := range v.in.Client.skillsTops() {
		if dir := topOf(t, v.in.Start, v.in.Project, v.in.Home); len(dir) < len(top) {
			top = dir
		}
	}
	dirs := between(top, v.in.Start)
	if rules.Up {
		slices.Reverse(dirs)
	}
	return dirs
}

// byPath sorts finds by their paths, those of one place together.
func byPath(finds []*Find) {
	places := map[string]int{}
	for _, f := range finds {
		if _, known := places[f.Place]; !known {
			places[f.Place] = len(places)
		}
	}
	slices.SortStableFunc(finds, func(a, b *Find) int { return cmp.Or(places[a.Place]-places[b.Place], comparePaths(a.Path, b.Path)) })
}

// builtin reports whether a skill is the client's own, which it keeps in the home directory.
func (v *viewer) builtin(f *Find) bool {
	b := v.in.Client.Skills.Budget
	return b != nil && strings.HasPrefix(f.Path, v.in.userPath(b.Root)+"/")
}

// PlaceOf returns the directory that a place spells out: the two names below dir, such as
// .agents/skills.
func PlaceOf(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	names := strings.Split(rel, "/")
	if err != nil || len(names) < 2 {
		return dir
	}
	return filepath.Join(dir, names[0], names[1])
}

// refuse returns why a client doesn't list a skill; empty if it does.
func (v *viewer) refuse(f *Find) (reason Reason, detail string) {
	rules := v.in.Client.Skills
	var below []string
	if rel, err := filepath.Rel(f.Place, f.Path); err == nil && rel != "." {
		below = strings.Split(rel, "/")
	}
	switch mode := f.Attributes["mode"].Text; {
	case f.isBroken():
		return snapshot.ClientInvalid, f.Error
	case v.outside(f, false):
		return snapshot.ClientElsewhere, outside
	case rules.NeedsUTF8 && !utf8.Valid(f.Payload):
		return snapshot.ClientInvalid, "it is not UTF-8"
	case v.unlinked(f):
		return snapshot.ClientLinkedFile, "its SKILL.md is a link"
	case rules.SkipLinkedDirs && f.inLinkedDir():
		return snapshot.ClientLinkedFile, "its directory is a link"
	case rules.SkipLinks && f.Linked:
		return snapshot.ClientLinkedFile, "its SKILL.md is a link, and links to directories alone are followed"
	case (rules.SkipHidden || slices.Contains(rules.HiddenAt, f.Convention)) && slices.ContainsFunc(below, func(name string) bool { return strings.HasPrefix(name, ".") }):
		return snapshot.ClientHidden, "it lies in a directory whose name begins with a dot"
	case slices.ContainsFunc(below, func(name string) bool { return slices.Contains(rules.Beside, name) }):
		return snapshot.ClientHidden, "it lies in a directory that isn't looked into"
	case rules.MaxDepth > 0 && len(below) > rules.MaxDepth:
		return snapshot.ClientTooDeep, fmt.Sprintf("it lies more than %d directories deep", rules.MaxDepth)
	case rules.Outermost && v.inSkill(f):
		return snapshot.ClientTooDeep, "it lies in a directory that is a skill itself"
	case rules.NeedsName && nameless(f):
		return snapshot.ClientNoName, "it says no name"
	case rules.NeedsDescription && strings.TrimSpace(f.Description) == "":
		return snapshot.ClientNoDescription, "it has no description"
	case rules.MaxName > 0 && utf8.RuneCountInString(f.Name) > rules.MaxName:
		return snapshot.ClientNameTooLong, fmt.Sprintf("its name has more than %d characters", rules.MaxName)
	case mode == "manual":
		return snapshot.ClientNotAlways, "its mode is manual"
	case mode == "glob":
		return snapshot.ClientNotAlways, "it comes with a file of its paths"
	}
	if detail := v.withdrawn(f); detail != "" {
		return snapshot.ClientPolicy, detail
	}
	return "", ""
}

// inSkill reports whether a skill lies in the directory of another one of the same place.
func (v *viewer) inSkill(f *Find) bool {
	for _, list := range v.finds[f.Directory] {
		for _, other := range list {
			if other.Kind == abi.KindSkill && !other.file && other.Place == f.Place && other.Path != f.Path && isBelow(other.Path, f.Path) {
				return true
			}
		}
	}
	return false
}

// runOf is equal for neighbors that ByRun sorts.
func (v *viewer) runOf(s *skill) string {
	switch {
	case s.plugin != "":
		return "of plugins"
	case s.user:
		return s.Convention
	case s.Directory == v.in.Start:
		return "of the start"
	}
	return "above"
}

// inLinkedDir reports whether the directory of a skill is a link, below its place.
func (f *Find) inLinkedDir() bool {
	path := f.Path
	if f.RealPlace != "" {
		path = f.RealPlace + strings.TrimPrefix(path, f.Place)
	}
	return !f.Linked && f.Source != "" && f.Source != path
}

// nameless reports whether a find says no name of its own.
func nameless(f *Find) bool {
	return slices.ContainsFunc(f.Findings, func(x snapshot.Finding) bool { return x.Code == abi.FindingNameMissing })
}

// withdrawn says how a file beside a skill removes it from the list; empty if none does.
func (v *viewer) withdrawn(f *Find) string {
	for _, p := range v.finds[f.Directory][v.in.Client.Skills.Policy] {
		if p.Path == filepath.Join(f.Path, "agents", "openai.yaml") && p.Attributes["mode"].Text == "manual" {
			return "agents/openai.yaml takes it from the list: " + p.Description
		}
	}
	return ""
}

// skill returns a find as the client names and describes it.
func (v *viewer) skill(f *Find) *skill {
	rules := v.in.Client.Skills
	s := &skill{Find: f, name: f.Name, description: f.Description, at: f.Place}
	if rules.ByDirectory {
		s.name = filepath.Base(f.Path)
	}
	if rules.Line == LineBare {
		s.description = ""
	}
	if rules.OneLine {
		s.name, s.description = strings.Join(strings.Fields(s.name), " "), strings.Join(strings.Fields(s.description), " ")
	}
	if rules.NoSigns != "" {
		s.name = strings.Map(func(r rune) rune {
			if strings.ContainsRune(rules.NoSigns, r) {
				return '-'
			}
			return r
		}, s.name)
	}
	const dots = "..."
	if limit := rules.MaxDescription; limit > 0 && utf8.RuneCountInString(s.description) > limit {
		s.description, s.cutBefore = string([]rune(s.description)[:limit-len(dots)])+dots, true
	}
	if space := cmp.Or(v.prefix(f), v.namespace(f)); space != "" {
		s.name = space + ":" + s.name
	}
	return s
}

// namespace returns the name of the innermost plugin that contains a skill.
func (v *viewer) namespace(f *Find) string {
	rules := v.in.Client.Skills
	if len(rules.Namespaces) == 0 {
		return ""
	}
	for dir := f.Path; ; dir = filepath.Dir(dir) {
		for _, convention := range rules.Namespaces {
			for _, looked := range v.in.Looked {
				for _, m := range v.finds[looked][convention] {
					if filepath.Dir(filepath.Dir(m.Path)) != dir {
						continue
					}
					if m.isBroken() {
						return "" // the client doesn't look for another
					}
					if nameless(m) {
						return filepath.Base(dir)
					}
					return m.Name
				}
			}
		}
		if dir == filepath.Dir(dir) || dir == v.top {
			return ""
		}
	}
}

// unique leaves out what the client takes for duplicates.
func (v *viewer) unique(list []*skill) []*skill {
	rules := v.in.Client.Skills
	if rules.Same == SameNever {
		return list
	}
	key := func(s *skill) string { return s.Source }
	if rules.Same != SameFile {
		key = func(s *skill) string { return v.in.Client.fold(s.name) }
	}
	if rules.Same == SameFileOrName {
		list = v.firstOfFiles(list)
	}
	chosen := map[string]*skill{}
	for _, s := range list {
		k := key(s)
		switch old := chosen[k]; {
		case old != nil && rules.Same == SameNameLast:
			s.at, chosen[k] = old.at, s
		case old == nil,
			rules.Same == SameNameAny && (s.reason == "" || old.reason != "") && (s.Source != old.Source || depth(s.Path) <= depth(old.Path)),
			rules.Same == SameFile && s.Place == old.Place && depth(s.Path) < depth(old.Path):
			chosen[k] = s
		}
	}
	kept := list[:0:0]
	for _, s := range list {
		winner := chosen[key(s)]
		if winner == s {
			if s.reason != "" {
				v.leave(s.Find, s.reason, s.detail)
			} else {
				kept = append(kept, s)
			}
			continue
		}
		v.leave(s.Find, snapshot.ClientDuplicate, same(s, winner, rules.Same))
		if (rules.Same == SameNameAny || rules.Same == SameNameLast && s.Place == winner.Place) && s.Source != winner.Source {
			winner.rivals = append(winner.rivals, s.textPath())
		}
	}
	return kept
}

// firstOfFiles leaves out skills that are the same file as an earlier one.
func (v *viewer) firstOfFiles(list []*skill) (kept []*skill) {
	first := map[string]*skill{}
	for _, s := range list {
		if other := first[s.Source]; other != nil {
			v.leave(s.Find, snapshot.ClientDuplicate, same(s, other, SameFile))
			continue
		}
		first[s.Source] = s
		kept = append(kept, s)
	}
	return kept
}

func depth(path string) int { return strings.Count(path, "/") }

func same(s, winner *skill, rule Same) string {
	path := winner.textPath()
	switch {
	case s.Source == winner.Source:
		return "it is the same as " + path
	case rule == SameNameAny:
		return "another one has its name, and which of them is listed can change from start to start: " + path
	}
	return "another one has its name: " + path
}

// rivalry says that a skill is one of several; empty if it is the only one.
func (s *skill) rivalry() string {
	if len(s.rivals) == 0 {
		return ""
	}
	return "one of several of its name, and which of them is listed can change from start to start: " + strings.Join(s.rivals, ", ")
}

// roots returns the directories of the skills of a list, in the order in which they are
// numbered.
func (v *viewer) roots(list []*skill) map[string]int {
	rules := v.in.Client.Skills
	roots := map[string]int{}
	add := func(s *skill) {
		if _, ok := roots[s.root()]; !ok {
			roots[s.root()] = len(roots)
		}
	}
	for i, conventions := range rules.Places {
		for _, convention := range v.userSkills(i) {
			for _, s := range list {
				if s.user && s.Convention == convention {
					add(s)
				}
			}
		}
		if i == 1 && rules.Budget != nil {
			roots[v.in.userPath(rules.Budget.Root)] = len(roots)
		}
		for _, dir := range v.walk(rules.Top, rules.Up) {
			for _, s := range list {
				if !s.user && s.Directory == dir && slices.Contains(conventions, s.Convention) {
					add(s)
				}
			}
		}
	}
	count := map[string]int{}
	for _, s := range list {
		count[s.Place]++
	}
	for _, s := range list {
		if s.plugin != "" && count[s.Place] == 1 { // plugins with one skill share their marketplace's
			s.shared = filepath.Dir(filepath.Dir(s.Directory))
		}
		add(s)
	}
	return roots
}

// root is the base of a skill's path, in a list with roots.
func (s *skill) root() string { return cmp.Or(s.shared, s.Place) }

// size is what a skill's line takes without its description.
func (l Line) size(s *skill, roots map[string]int) int64 {
	path := s.textPath()
	switch l {
	case LineAliased:
		return int64(len(fmt.Sprintf("- %s: (file: r%d%s)", s.name, roots[s.root()], strings.TrimPrefix(path, s.root()))))
	case LineXML:
		return int64(len("  <skill>\n    <name></name>\n    <description></description>\n    <location></location>\n  </skill>") + len(s.name) + len(path))
	case LineBare:
		return int64(len(", ") + len(s.name))
	case LineName:
	}
	return int64(len("- : ") + len(s.name))
}

// comparePaths compares name by name.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// compare compares two names.
func (n Names) compare(a, b string) int {
	if n == ByLetter {
		if order := slices.Compare(letters(a), letters(b)); order != 0 {
			return order
		}
		return -strings.Compare(a, b) // small letters come first
	}
	return strings.Compare(a, b)
}

// signs are the ASCII signs in the order of those who compare by letters; digits and letters
// come after them.
const signs = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

func letters(s string) []rune {
	list := slices.DeleteFunc([]rune(strings.ToLower(norm.NFD.String(s))), func(r rune) bool { return unicode.Is(unicode.Mn, r) }) // accents
	for i, r := range list {
		if at := strings.IndexRune(signs, r); at >= 0 {
			list[i] = rune(at - len(signs)) //nolint:gosec // a small number
		} else if unicode.IsSpace(r) {
			list[i] = -rune(len(signs)) - 1
		}
	}
	return list
}
