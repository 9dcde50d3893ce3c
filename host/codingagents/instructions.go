package codingagents

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"waymark/host/applicability"
	"waymark/plugins/agentfiles/imports"
	"waymark/snapshot"
)

// instructions adds the texts that the client starts with.
func (v *viewer) instructions() {
	rules := v.in.Client.Instructions
	if rules == nil {
		return
	}
	user := v.in.Client.User
	if user == nil || rules.ByPlace { // which has its own way with the user's
		user = &User{}
	}
	v.view.Budget.InstructionBytes = rules.MaxBytes
	for i, convention := range rules.Before {
		list := slices.Clone(v.finds[v.in.Start][convention])
		if i < len(user.Before) {
			list = append(list, v.users(user.Before[i])...)
		}
		v.firstOf(list, false, true)
	}
	var own []*Find
	for _, convention := range user.Instructions {
		own = append(own, v.users(convention)...)
	}
	if !user.After {
		v.firstOf(own, user.EachInstruction, user.BlankTakes)
	}
	v.texts(v.sequence(user), rules.Take, !v.any(v.walk(rules.Top, rules.Up)))
	v.rules()
	if user.After {
		v.firstOf(own, user.EachInstruction, user.BlankTakes)
		v.texts(v.usersRules(user), Every, false)
	}
}

// placedText is a text, and the place of it. unread says that it lies in no directory in which
// it is read.
type placedText struct {
	*Find
	place  Place
	unread bool
}

// sequence lists the texts of the walk, and the user's rules before or among them, in the order
// in which they are read. Last come those that are read in other directories alone.
func (v *viewer) sequence(user *User) (list []placedText) {
	rules := v.in.Client.Instructions
	dirs := v.without(v.walk(rules.Top, rules.Up))
	add := func(dirs []string, places ...Place) {
		for _, dir := range dirs {
			for _, place := range places {
				for _, f := range v.finds[dir][place.Convention] {
					list = append(list, placedText{Find: f, place: place})
				}
			}
		}
	}
	switch {
	case rules.ByPlace:
		for _, place := range rules.Places {
			for _, f := range v.users(place.User) {
				list = append(list, placedText{Find: f, place: place})
			}
			add(dirs, place)
		}
	case len(rules.Parts) > 0:
		for _, part := range rules.Parts {
			if part.Of == UsersRules {
				list = append(list, v.usersRules(user)...)
			}
			add(part.Of.of(dirs), slices.DeleteFunc(slices.Clone(rules.Places), func(p Place) bool { return !slices.Contains(part.Conventions, p.Convention) })...)
		}
		read := map[*Find]bool{}
		for _, s := range list {
			read[s.Find] = true
		}
		n := len(list)
		add(dirs, rules.Places...)
		for i := range list[n:] {
			list[n+i].unread = true
		}
		list = slices.DeleteFunc(list, func(s placedText) bool { return s.unread && read[s.Find] })
	case user.After || user.RulesLater:
		add(dirs, rules.Places...)
	default:
		list = v.usersRules(user)
		add(dirs, rules.Places...)
	}
	if rules.ByPath { // of several names of a file the first one on the walk counts
		seen := map[string]bool{}
		list = slices.DeleteFunc(list, func(s placedText) bool {
			again := seen[cmp.Or(s.Source, s.Path)]
			seen[cmp.Or(s.Source, s.Path)] = true
			return again
		})
		slices.SortStableFunc(list, func(a, b placedText) int { return strings.Compare(a.Path, b.Path) })
	}
	return list
}

// of returns the directories of a walk, from the top down, that are in a stretch.
func (s Stretch) of(dirs []string) []string {
	switch last := len(dirs) - 1; s {
	case Ends:
		return slices.Compact([]string{dirs[0], dirs[last]})
	case Between:
		dirs = slices.Clone(dirs[min(1, last):last])
		slices.Reverse(dirs)
		return dirs
	}
	return nil
}

// texts adds texts in their order, as far as they are taken. nothing says that those that are
// Otherwise count.
func (v *viewer) texts(list []placedText, take Take, nothing bool) {
	dir, taken, first := "", false, ""
	if take == FirstOfAll {
		for _, s := range list {
			places := v.in.Client.Instructions.Places
			if at := slices.Index(places, s.place); s.Status == snapshot.StatusOK && (first == "" || at < slices.IndexFunc(places, func(p Place) bool { return p.Convention == first })) {
				first = s.place.Convention
			}
		}
	}
	for _, s := range list {
		if s.Directory != dir {
			dir, taken = s.Directory, false
		}
		f, place := s.Find, s.place
		switch {
		case s.unread:
			v.leave(f, snapshot.ClientElsewhere, "it isn't read in this directory, for a start here")
		case place.Otherwise && !nothing:
			v.leave(f, snapshot.ClientOverridden, "it is read where there is nothing else")
		case take == FirstOfDirectory && taken && !place.Beside:
			v.leave(f, snapshot.ClientOverridden, "another file in the same directory is read in its place")
		case take == FirstOfAll && place.Convention != first:
			v.leave(f, snapshot.ClientOverridden, fmt.Sprintf("%s reads %s here, and no other name", v.in.Client.Name, v.nameOf(list, first)))
		case place.LinksBelow && !f.user && f.Source != "" && f.Source != f.Path && !isBelow(v.in.Start, f.Source):
			v.leave(f, snapshot.ClientElsewhere, "it is a link, and those count that lead below the directory of the start")
		case !f.user && (place.TopOnly && dir != v.top || place.InProject && v.in.Project == ""):
			v.leave(f, snapshot.ClientElsewhere, "it is read in the top directory of a project")
		case place.SkipLinks && f.Source != cmp.Or(f.RealPlace, f.Place)+strings.TrimPrefix(f.Path, f.Place):
			v.leave(f, snapshot.ClientLinkedFile, "it is a link, and links aren't followed")
		case place.OneText && !v.below && v.hasText(f):
			v.leave(f, snapshot.ClientDuplicate, "another one has the same text")
		default:
			taken = v.instruction(f, 0) && !place.Beside || taken
		}
	}
}

// without returns the directories of a walk below the one where it ends.
func (v *viewer) without(dirs []string) []string {
	if ends := v.in.Client.Instructions.EndsAbove; ends != "" {
		if at := slices.Index(dirs, v.in.userPath(ends)); at >= 0 {
			return dirs[at+1:]
		}
	}
	return dirs
}

// hasText reports whether an earlier file has a text, and remembers it.
func (v *viewer) hasText(f *Find) bool {
	if f.Payload == nil || f.Status != snapshot.StatusOK {
		return false
	}
	text := string(bytes.TrimPrefix(f.Payload, []byte("\ufeff")))
	if c := v.in.Client.Imports; c != nil && len(c.Of(text)) > 0 {
		text += filepath.Dir(f.Path) // it can import something else elsewhere
	}
	has := v.texted[text]
	v.texted[text] = true
	return has
}

// rules adds the texts that follow all others: of one convention and name the first.
func (v *viewer) rules() {
	c := v.in.Client
	list := func(finds []*Find) {
		taken := map[string]bool{}
		for _, f := range finds {
			if name := filepath.Base(f.Path); taken[name] {
				v.leave(f, snapshot.ClientDuplicate, "another one has its name")
			} else if c.Instructions.SkipLinkedRules && f.Linked && f.Place != f.Directory {
				v.leave(f, snapshot.ClientLinkedFile, "it is a link, and files alone are read there")
			} else if !v.tells(f) {
				taken[name] = v.instruction(f, 0)
			}
		}
	}
	if c.User != nil && c.User.RulesLater {
		for _, convention := range c.User.Rules {
			list(v.users(convention))
		}
	}
	for _, convention := range c.Instructions.Rules {
		list(v.finds[v.in.Start][convention])
	}
}

// firstOf adds the first of some texts, or with each all of them. With blankTakes a blank one
// also keeps the later ones out.
func (v *viewer) firstOf(list []*Find, each, blankTakes bool) {
	for taken := ""; len(list) > 0; list = list[1:] {
		switch f := list[0]; {
		case taken != "" && !each && !v.isBlank(f) && !f.isBroken():
			v.leave(f, snapshot.ClientOverridden, taken+" is read in its place")
		case v.instruction(f, 0) && (blankTakes || !v.isBlank(f)):
			taken = cmp.Or(taken, f.Path)
		}
	}
}

// usersRules lists the user's rules.
func (v *viewer) usersRules(user *User) (list []placedText) {
	if user.RulesLater {
		return nil
	}
	for _, convention := range user.Rules {
		for _, f := range v.users(convention) {
			list = append(list, placedText{Find: f, place: Place{Beside: true}})
		}
	}
	return list
}

// tells reports whether something is said of a file already.
func (v *viewer) tells(f *Find) bool {
	return slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path })
}

// isBroken reports whether a find can't be read.
func (f *Find) isBroken() bool {
	return f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid
}

// isBlank reports whether a text is blank, as far as it is known.
func (v *viewer) isBlank(f *Find) bool {
	return f.SizeBytes == 0 || f.Payload != nil && (len(bytes.TrimSpace(bytes.TrimPrefix(f.text(), []byte("\ufeff")))) == 0 || v.skipsBare(f) && imports.IsBlank(string(f.Payload)))
}

// headBytes is how many bytes at the beginning of a file, such as front matter, the client
// takes out.
func (f *Find) headBytes() int {
	n, _ := strconv.Atoi(f.Attributes["head_bytes"].Text)
	return n
}

// text is what the client takes of a file, as far as it is known.
func (f *Find) text() []byte { return f.Payload[min(f.headBytes(), len(f.Payload)):] }

func (f *Find) size() int64 { return max(0, f.SizeBytes-int64(f.headBytes())) }

// isSaid reports whether an earlier file had the same text, and remembers the text. It is
// only for the conventions in Instructions.Once.
func (v *viewer) isSaid(f *Find) bool {
	rules := v.in.Client.Instructions
	if rules == nil || !slices.Contains(rules.Once, f.Convention) || f.Payload == nil {
		return false
	}
	text := strings.ReplaceAll(string(f.text()), "\r\n", "\n")
	if f.headBytes() > 0 {
		text = strings.TrimSpace(text)
	}
	said := v.texted[text]
	v.texted[text] = true
	return said
}

// byName sorts texts by their names, and leaves out those whose name a later one has, even one
// that is switched off.
func (v *viewer) byName() {
	c := v.in.Client
	if c.Instructions == nil || !c.Instructions.ByName {
		return
	}
	last := map[string]string{} // paths by name
	for i := range v.view.Items {
		if it := &v.view.Items[i]; it.Included || it.Reason == snapshot.ClientNotAlways {
			last[c.fold(c.textName(it.find))] = it.Path
		}
	}
	for i := range v.view.Items {
		it := &v.view.Items[i]
		it.Name = c.textName(it.find)
		if path := last[c.fold(c.textName(it.find))]; it.Included && path != it.Path {
			it.Included, it.Tokens, it.Reason, it.Detail = false, 0, snapshot.ClientDuplicate, "a later one has its name: "+path
			v.view.Budget.UsedBytes -= it.Bytes
		}
	}
	has := func(it *Item) bool { return last[c.fold(c.textName(it.find))] == it.Path }
	told := map[string]bool{} // one file can be found in two ways
	v.view.Items = slices.DeleteFunc(v.view.Items, func(it Item) bool {
		again := told[it.Path] || it.Reason != snapshot.ClientNotAlways && !it.Included && has(&it)
		told[it.Path] = true
		return again
	})
	slices.SortStableFunc(v.view.Items, func(a, b Item) int {
		return cmp.Or(applicability.TrueFirst(a.Included, b.Included), ByLetter.compare(c.textName(a.find), c.textName(b.find)))
	})
}

// textName is what the client calls a text.
func (c *Client) textName(f *Find) string {
	base := filepath.Base(f.Path)
	return cmp.Or(f.Name, c.Instructions.Called[f.Convention], strings.TrimSuffix(base, filepath.Ext(base)))
}

// place returns that of a text; the zero Place if it is none of the walk's.
func (v *viewer) place(f *Find) (p Place) {
	for _, p := range v.in.Client.Instructions.Places {
		if p.Convention == f.Convention || p.User == f.Convention {
			return p
		}
	}
	return p
}

func (v *viewer) skipsBare(f *Find) bool {
	return v.in.Client.Instructions.SkipBare || v.place(f).SkipBare
}

// users returns the finds of a convention in the home directory, and in directories that
// replace some in it.
func (v *viewer) users(convention string) (list []*Find) {
	if !v.in.User || v.in.Client.User == nil {
		return nil
	}
	add := func(f *Find) {
		own := *f
		own.user = true
		list = append(list, &own)
	}
	for _, f := range v.finds[v.in.Home][convention] {
		if dir, _ := v.in.moved(strings.TrimPrefix(f.Path, v.in.Home+"/")); dir == "" {
			add(f)
		}
	}
	for i, m := range v.in.Client.User.Moved {
		if slices.ContainsFunc(v.in.Client.User.Moved[:i], func(other Moved) bool { return other.Variable == m.Variable }) {
			continue // one directory in the place of two
		}
		for _, f := range v.finds[v.in.Moved[m.Dir]][convention] {
			add(f)
		}
	}
	return list
}

// userPath returns the location of a path relative to the home directory, which may be
// replaced.
func (in *Input) userPath(rel string) string {
	if dir, rest := in.moved(rel); dir != "" {
		return filepath.Join(dir, rest)
	}
	return filepath.Join(in.Home, rel)
}

// moved looks up whether rel, a path relative to the home directory, begins with a directory
// that is replaced. It returns the replacement and the rest of rel, or empty strings.
func (in *Input) moved(rel string) (dir, rest string) {
	for stands, dir := range in.Moved {
		if rest, ok := strings.CutPrefix(rel, stands+"/"); ok {
			return dir, rest
		}
	}
	return "", ""
}

// any reports whether there are instructions that keep those that are Otherwise from being
// read.
func (v *viewer) any(dirs []string) bool {
	rules := v.in.Client.Instructions
	for _, place := range rules.Places {
		if place.Otherwise || place.Beside {
			continue
		}
		for _, dir := range dirs {
			if user := v.in.Client.User; user != nil && v.in.User && dir == v.in.Home && slices.Contains(user.Instructions, place.Convention) {
				continue // it is the user's own
			}
			if slices.ContainsFunc(v.finds[dir][place.Convention], func(f *Find) bool {
				mode := f.Attributes["mode"].Text
				return !f.isBroken() && (mode == "" || mode == "always") &&
					(rules.MaxFile == 0 || f.SizeBytes <= rules.MaxFile) && !v.isBlank(f) && (!place.TopOnly || dir == v.top)
			}) {
				return true
			}
		}
	}
	return false
}

// nameOf returns the name of the files of a convention.
func (v *viewer) nameOf(list []placedText, convention string) string {
	for _, s := range list {
		if s.place.Convention == convention {
			return filepath.Base(s.Path)
		}
	}
	return convention
}

// instruction adds one text, as far as there is room for it. taken is false for a text that
// leaves its place to another. steps is the depth of imports that led to it.
func (v *viewer) instruction(f *Find, steps int) (taken bool) {
	rules, budget := v.in.Client.Instructions, &v.view.Budget
	size := f.size()
	own := f.user && f.by == nil
	var it snapshot.ClientItem
	switch mode := f.Attributes["mode"].Text; {
	case v.in.Client.Imports != nil && v.has(f) && (f.by == nil || !v.inlined()), own && v.tells(f):
		return true // already included, perhaps under another name
	case f.isBroken():
		v.leave(f, snapshot.ClientInvalid, f.Error)
		return false
	case v.outside(f, true):
		v.leave(f, snapshot.ClientElsewhere, outside)
		return true
	case v.in.Client.SkipHidden && f.by == nil && isHidden(f):
		v.leave(f, snapshot.ClientHidden, "its name begins with a dot, or that of a directory that it lies in")
		return false
	case mode != "" && mode != "always":
		v.leave(f, snapshot.ClientNotAlways, "its mode is "+mode)
		v.imports(f, steps) // at once, whenever its own text follows
		return false
	case v.unlinked(f):
		v.leave(f, snapshot.ClientLinkedFile, "it is a link")
		return false
	case rules.MaxFile > 0 && size > rules.MaxFile && !own:
		v.leave(f, snapshot.ClientTooLarge, fmt.Sprintf("%s reads files of up to %d bytes", v.in.Client.Name, rules.MaxFile))
		return true
	case size == 0, (rules.SkipBlank || own) && v.isBlank(f):
		detail := "there is nothing in it"
		if rules.Take == FirstOfDirectory && !own {
			detail += ", and nothing is read in its place"
		}
		v.leave(f, snapshot.ClientBlank, detail)
		return true
	case v.isSaid(f):
		v.leave(f, snapshot.ClientDuplicate, "an earlier one has the same text")
		return true
	case own && rules.MaxBytes > 0: // which isn't for it
		v.include(f, it, steps)
		return true
	case rules.MaxBytes > 0 && budget.UsedBytes >= rules.MaxBytes:
		it.CutBytes, it.Reason = size, snapshot.ClientNoRoom
		it.Detail = fmt.Sprintf("the %d bytes for all instructions were used up before", rules.MaxBytes)
	case rules.MaxBytes > 0 && budget.UsedBytes+size > rules.MaxBytes:
		it.CutBytes, it.Reason = budget.UsedBytes+size-rules.MaxBytes, snapshot.ClientCut
		it.Detail = fmt.Sprintf("there was room for %d bytes of it", size-it.CutBytes)
	}
	budget.UsedBytes += size - it.CutBytes
	v.include(f, it, steps)
	return true
}
