package codingagents

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
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
	user := v.in.Client.User
	if user != nil && !user.After {
		v.userInstructions(user)
	}
	defer func() {
		if user != nil && user.After {
			v.userInstructions(user)
		}
	}()
	dirs := v.walk(rules.Top, rules.Up)
	budget := &v.view.Budget
	budget.InstructionBytes = rules.MaxBytes
	first := -1 // the place that FirstOfAll has found
	nothing := !v.any(dirs)
	for _, dir := range dirs {
		taken := false
		for i, place := range rules.Places {
			for _, f := range v.finds[dir][place.Convention] {
				switch {
				case place.Otherwise && !nothing:
					v.leave(f, Overridden, "it is read where there is nothing else")
				case rules.Take == FirstOfDirectory && taken:
					v.leave(f, Overridden, "another file in the same directory is read in its place")
				case rules.Take == FirstOfAll && !v.isFirst(dirs, i, &first):
					v.leave(f, Overridden, fmt.Sprintf("%s reads %s here, and no other name", v.in.Client.Name, v.nameOf(dirs, rules.Places[first].Convention)))
				case place.LinksBelow && f.Source != "" && f.Source != f.Path && !isBelow(v.in.Start, f.Source):
					v.leave(f, Elsewhere, "it is a link, and those count that lead below the directory of the start")
				case place.TopOnly && dir != v.top:
					v.leave(f, Elsewhere, "it is read in the top directory of a project")
				default:
					taken = v.instruction(f, 0) || taken
				}
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
			case slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path }):
				// the home directory is one of the project's
			case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
				v.leave(f, Invalid, f.Error)
			case v.isBlank(f):
				v.leave(f, Blank, "there is nothing in it")
			case taken != "":
				v.leave(f, Overridden, taken+" is read in its place")
			default:
				taken = f.Path
				v.include(f, Item{}, 0)
			}
		}
	}
	for _, convention := range user.Rules {
		for _, f := range v.users(convention) {
			switch mode := f.Attributes["mode"].Text; {
			case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
				v.leave(f, Invalid, f.Error)
			case mode != "" && mode != "always":
				v.leave(f, NotAlways, "its mode is "+mode)
				v.imports(f, 0)
			case v.isBlank(f):
				v.leave(f, Blank, "there is nothing in it")
			case slices.ContainsFunc(v.view.Items, func(it Item) bool { return it.Path == f.Path }):
			default:
				v.include(f, Item{}, 0)
			}
		}
	}
}

// isBlank reports whether a text is blank, as far as it is known.
func (v *viewer) isBlank(f *Find) bool {
	return f.SizeBytes == 0 || f.Payload != nil && (len(bytes.TrimSpace(f.Payload)) == 0 || v.in.Client.Imports > 0 && imports.IsBlank(string(f.Payload)))
}

// users returns the finds of a convention in the home directory, and in directories that
// replace some in it.
func (v *viewer) users(convention string) (list []*Find) {
	if !v.in.User {
		return nil
	}
	add := func(f *Find) {
		own := *f
		own.user = true
		list = append(list, &own)
	}
	for _, f := range v.finds[v.in.Home][convention] {
		first, _, _ := strings.Cut(strings.TrimPrefix(f.Path, v.in.Home+"/"), "/")
		if v.in.Moved[first] == "" {
			add(f)
		}
	}
	for _, m := range v.in.Client.User.Moved {
		for _, f := range v.finds[v.in.Moved[m.Dir]][convention] {
			add(f)
		}
	}
	return list
}

// userPath returns the location of a path relative to the home directory, which may be
// replaced.
func (in *Input) userPath(rel string) string {
	first, rest, _ := strings.Cut(rel, "/")
	if dir := in.Moved[first]; dir != "" {
		return filepath.Join(dir, rest)
	}
	return filepath.Join(in.Home, rel)
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
			if len(v.finds[dir][v.in.Client.Instructions.Places[i].Convention]) > 0 {
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
	size := f.SizeBytes
	var it Item
	switch mode := f.Attributes["mode"].Text; {
	case v.in.Client.Imports > 0 && v.has(f):
		return true // already included under another name
	case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
		v.leave(f, Invalid, f.Error)
		return false
	case mode != "" && mode != "always":
		v.leave(f, NotAlways, "its mode is "+mode)
		v.imports(f, steps) // at once, whenever its own text follows
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
