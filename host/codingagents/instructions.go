package codingagents

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"waymark/plugins/agentfiles/imports"
	"waymark/snapshot"
)

// instructions adds the texts that the client starts with.
func (v *viewer) instructions() {
	rules := v.in.Client.Instructions
	if rules == nil {
		return
	}
	dirs := v.walk(rules.Top, rules.Up)
	if rules.ByPlace {
		v.byPlace(v.without(dirs))
		return
	}
	user := v.in.Client.User
	v.before()
	if user == nil {
		user = &User{}
	}
	if !user.After {
		v.userInstructions(user)
	}
	if len(rules.Parts) > 0 {
		v.parts()
		return
	}
	if !user.After {
		v.userRules(user)
	} else {
		defer func() { v.userInstructions(user); v.userRules(user) }()
	}
	defer v.rules()
	if rules.ByPath {
		v.byPath(v.without(dirs))
		return
	}
	v.view.Budget.InstructionBytes = rules.MaxBytes
	first := -1 // the place that FirstOfAll has found
	nothing := !v.any(dirs)
	for _, dir := range dirs {
		taken := false
		for i, place := range rules.Places {
			for _, f := range v.finds[dir][place.Convention] {
				switch {
				case place.Otherwise && !nothing:
					v.leave(f, Overridden, "it is read where there is nothing else")
				case rules.Take == FirstOfDirectory && taken && !place.Beside:
					v.leave(f, Overridden, "another file in the same directory is read in its place")
				case rules.Take == FirstOfAll && !v.isFirst(dirs, i, &first):
					v.leave(f, Overridden, fmt.Sprintf("%s reads %s here, and no other name", v.in.Client.Name, v.nameOf(dirs, rules.Places[first].Convention)))
				case place.LinksBelow && f.Source != "" && f.Source != f.Path && !isBelow(v.in.Start, f.Source):
					v.leave(f, Elsewhere, "it is a link, and those count that lead below the directory of the start")
				case place.TopOnly && dir != v.top:
					v.leave(f, Elsewhere, "it is read in the top directory of a project")
				default:
					taken = v.instruction(f, 0) && !place.Beside || taken
				}
			}
		}
	}
}

// parts adds the texts of a walk that has parts, and leaves out those of none.
func (v *viewer) parts() {
	rules := v.in.Client.Instructions
	dirs := between(topOf(rules.Top, v.in.Start, v.in.Project, v.in.Home), v.in.Start)
	read := map[*Find]bool{}
	for _, part := range rules.Parts {
		of := dirs
		switch part.Of {
		case UsersRules:
			if v.in.Client.User != nil {
				v.userRules(v.in.Client.User)
			}
			continue
		case Ends:
			of = slices.Compact([]string{dirs[0], dirs[len(dirs)-1]})
		case Between:
			of = slices.Clone(dirs[min(1, len(dirs)-1) : len(dirs)-1])
			slices.Reverse(of)
		}
		for _, dir := range of {
			for _, place := range rules.Places {
				for _, f := range v.finds[dir][place.Convention] {
					if !slices.Contains(part.Conventions, place.Convention) {
						continue
					}
					read[f] = true
					v.placed(f, place)
				}
			}
		}
	}
	for _, dir := range dirs {
		for _, place := range rules.Places {
			for _, f := range v.finds[dir][place.Convention] {
				if !read[f] {
					v.leave(f, Elsewhere, "it isn't read in this directory, for a start here")
				}
			}
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

// byPlace adds the texts of one place after the other.
func (v *viewer) byPlace(dirs []string) {
	for _, place := range v.in.Client.Instructions.Places {
		var list []*Find
		if place.User != "" {
			list = v.users(place.User)
		}
		for _, dir := range dirs {
			list = append(list, v.finds[dir][place.Convention]...)
		}
		for _, f := range list {
			switch {
			case !f.user && place.TopOnly && f.Directory != v.top, !f.user && place.InProject && v.in.Project == "":
				v.leave(f, Elsewhere, "it is read in the top directory of a project")
			case place.SkipLinks && f.Source != cmp.Or(f.RealPlace, f.Place)+strings.TrimPrefix(f.Path, f.Place):
				v.leave(f, LinkedFile, "it is a link, and links aren't followed")
			default:
				v.instruction(f, 0)
			}
		}
	}
}

// placed adds a text of a place.
func (v *viewer) placed(f *Find, place Place) (taken bool) {
	if place.OneText && f.Payload != nil && f.Status == snapshot.StatusOK {
		text := string(bytes.TrimPrefix(f.Payload, []byte("\ufeff")))
		if c := v.in.Client.Imports; c != nil && len(c.Of(text)) > 0 {
			text += filepath.Dir(f.Path) // it can import something else elsewhere
		}
		if v.texts[text] {
			v.leave(f, Duplicate, "another one has the same text")
			return true
		}
		v.texts[text] = true
	}
	return v.instruction(f, 0)
}

// byPath adds all texts of a walk in the order of their paths. Of several names of a file the
// first one on the walk counts.
func (v *viewer) byPath(dirs []string) {
	var list []*Find
	for _, dir := range dirs {
		for _, place := range v.in.Client.Instructions.Places {
			for _, f := range v.finds[dir][place.Convention] {
				if !slices.ContainsFunc(list, func(other *Find) bool { return cmp.Or(other.Source, other.Path) == cmp.Or(f.Source, f.Path) }) {
					list = append(list, f)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Find) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range list {
		v.instruction(f, 0)
	}
}

// rules adds the texts that follow all others.
func (v *viewer) rules() {
	c := v.in.Client
	list := func(finds []*Find) {
		taken := map[string]bool{}
		for _, f := range finds {
			if name := filepath.Base(f.Path); taken[name] {
				v.leave(f, Duplicate, "another one has its name")
			} else if c.Instructions.SkipLinkedRules && f.Linked && f.Place != f.Directory {
				v.leave(f, LinkedFile, "it is a link, and files alone are read there")
			} else if !slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path }) {
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

// before adds the texts that precede all others.
func (v *viewer) before() {
	c := v.in.Client
	for i, convention := range c.Instructions.Before {
		list := slices.Clone(v.finds[v.in.Start][convention])
		if c.User != nil && i < len(c.User.Before) {
			list = append(list, v.users(c.User.Before[i])...)
		}
		for taken := false; len(list) > 0; list = list[1:] {
			if taken {
				v.leave(list[0], Overridden, "another file is read in its place")
			} else {
				taken = v.instruction(list[0], 0)
			}
		}
	}
}

// userInstructions adds the user's own text.
func (v *viewer) userInstructions(user *User) {
	taken := ""
	for _, convention := range user.Instructions {
		for _, f := range v.users(convention) {
			switch {
			case slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path }) || user.EachInstruction && v.has(f):
				// the home directory is one of the project's
			case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
				v.leave(f, Invalid, f.Error)
			case v.isBlank(f):
				if v.leave(f, Blank, "there is nothing in it"); user.BlankTakes && taken == "" {
					taken = f.Path
				}
			case taken != "" && !user.EachInstruction:
				v.leave(f, Overridden, taken+" is read in its place")
			default:
				taken = f.Path
				v.include(f, Item{}, 0)
			}
		}
	}
}

// userRules adds the user's rules.
func (v *viewer) userRules(user *User) {
	if user.RulesLater {
		return
	}
	for _, convention := range user.Rules {
		for _, f := range v.users(convention) {
			switch mode := f.Attributes["mode"].Text; {
			case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
				v.leave(f, Invalid, f.Error)
			case v.in.Client.SkipHidden && isHidden(f):
				v.leave(f, Hidden, "its name begins with a dot, or that of a directory that it lies in")
			case mode != "" && mode != "always":
				v.leave(f, NotAlways, "its mode is "+mode)
				v.imports(f, 0)
			case v.unlinked(f):
				v.leave(f, LinkedFile, "it is a link")
			case v.isBlank(f):
				v.leave(f, Blank, "there is nothing in it")
			case v.isSaid(f):
				v.leave(f, Duplicate, "an earlier one has the same text")
			case slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path }):
			default:
				v.include(f, Item{}, 0)
			}
		}
	}
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
	said := v.texts[text]
	v.texts[text] = true
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
		if it := &v.view.Items[i]; it.Included || it.Reason == NotAlways {
			last[c.fold(c.textName(it.find))] = it.Path
		}
	}
	for i := range v.view.Items {
		it := &v.view.Items[i]
		it.Name = c.textName(it.find)
		if path := last[c.fold(c.textName(it.find))]; it.Included && path != it.Path {
			it.Included, it.Tokens, it.Reason, it.Detail = false, 0, Duplicate, "a later one has its name: "+path
			v.view.Budget.UsedBytes -= it.Bytes
		}
	}
	has := func(it *Item) bool { return last[c.fold(c.textName(it.find))] == it.Path }
	told := map[string]bool{} // one file can be found in two ways
	v.view.Items = slices.DeleteFunc(v.view.Items, func(it Item) bool {
		again := told[it.Path] || it.Reason != NotAlways && !it.Included && has(&it)
		told[it.Path] = true
		return again
	})
	slices.SortStableFunc(v.view.Items, func(a, b Item) int {
		return cmp.Or(compareTrue(a.Included, b.Included), ByLetter.compare(c.textName(a.find), c.textName(b.find)))
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
				return f.Status != snapshot.StatusUnreadable && f.Status != snapshot.StatusInvalid && (mode == "" || mode == "always") &&
					(rules.MaxFile == 0 || f.SizeBytes <= rules.MaxFile) && !v.isBlank(f) && (!place.TopOnly || dir == v.top)
			}) {
				return true
			}
		}
	}
	return false
}

// isFirst reports whether a place is the first one that has something in any directory.
func (v *viewer) isFirst(dirs []string, place int, first *int) bool {
	for i := 0; *first < 0 && i < len(v.in.Client.Instructions.Places); i++ {
		for _, dir := range dirs {
			if slices.ContainsFunc(v.finds[dir][v.in.Client.Instructions.Places[i].Convention], func(f *Find) bool { return f.Status == snapshot.StatusOK }) {
				*first = i
			}
		}
	}
	return place == *first
}

// nameOf returns the name of the files of a convention.
func (v *viewer) nameOf(dirs []string, convention string) string {
	for _, dir := range dirs {
		for _, f := range v.finds[dir][convention] {
			return filepath.Base(f.Path)
		}
	}
	return convention
}

// instruction adds one text, as far as there is room for it. taken is false for a text that
// leaves its place to another. steps is the depth of imports that led to it.
func (v *viewer) instruction(f *Find, steps int) (taken bool) {
	rules, budget := v.in.Client.Instructions, &v.view.Budget
	size := f.size()
	var it Item
	switch mode := f.Attributes["mode"].Text; {
	case v.in.Client.Imports != nil && v.has(f) && (f.by == nil || !v.inlined()):
		return true // already included under another name
	case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
		v.leave(f, Invalid, f.Error)
		return false
	case v.outside(f, true):
		v.leave(f, Elsewhere, outside)
		return true
	case v.in.Client.SkipHidden && f.by == nil && isHidden(f):
		v.leave(f, Hidden, "its name begins with a dot, or that of a directory that it lies in")
		return false
	case mode != "" && mode != "always":
		v.leave(f, NotAlways, "its mode is "+mode)
		v.imports(f, steps) // at once, whenever its own text follows
		return false
	case v.unlinked(f):
		v.leave(f, LinkedFile, "it is a link")
		return false
	case rules.MaxFile > 0 && size > rules.MaxFile:
		v.leave(f, TooLarge, fmt.Sprintf("%s reads files of up to %d bytes", v.in.Client.Name, rules.MaxFile))
		return true
	case size == 0, rules.SkipBlank && v.isBlank(f):
		detail := "there is nothing in it"
		if rules.Take == FirstOfDirectory {
			detail += ", and nothing is read in its place"
		}
		v.leave(f, Blank, detail)
		return true
	case v.isSaid(f):
		v.leave(f, Duplicate, "an earlier one has the same text")
		return true
	case rules.MaxBytes > 0 && budget.UsedBytes >= rules.MaxBytes:
		it.CutBytes, it.Reason = size, NoRoom
		it.Detail = fmt.Sprintf("the %d bytes for all instructions were used up before", rules.MaxBytes)
	case rules.MaxBytes > 0 && budget.UsedBytes+size > rules.MaxBytes:
		it.CutBytes, it.Reason = budget.UsedBytes+size-rules.MaxBytes, Cut
		it.Detail = fmt.Sprintf("there was room for %d bytes of it", size-it.CutBytes)
	}
	budget.UsedBytes += size - it.CutBytes
	v.include(f, it, steps)
	return true
}
