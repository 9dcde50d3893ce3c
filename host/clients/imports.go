package clients

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/host/applies"
	"waymark/snapshot"
)

// Imported are the paths that a text imports, absolute: relative ones begin where the file
// lies, after links, and "~" is the user's home directory.
func (f *Find) Imported(home string) (paths []string) {
	for _, written := range f.Attributes["imports"].List {
		switch rest, ofHome := strings.CutPrefix(written, "~/"); {
		case ofHome && home != "":
			paths = append(paths, filepath.Join(home, rest))
		case filepath.IsAbs(written):
			paths = append(paths, filepath.Clean(written))
		case !ofHome:
			paths = append(paths, filepath.Join(filepath.Dir(cmp.Or(f.Source, f.Path)), written))
		}
	}
	return paths
}

// IsUsers reports whether a find is one of the user's own files.
func (in *Input) IsUsers(f *Find) bool {
	if !in.User {
		return false
	}
	for _, dir := range in.Moved {
		if f.Directory == dir {
			return true
		}
	}
	return f.Directory == in.Home
}

// leftOut is something that isn't included, unless something else brings it.
type leftOut struct {
	find   *Find
	reason Reason
	detail string
}

// has reports whether the client has a text already, by its path or what that leads to.
func (v *viewer) has(f *Find) bool { return v.seen[f.Path] || v.seen[cmp.Or(f.Source, f.Path)] }

// include adds a text, and what it imports.
func (v *viewer) include(f *Find, it Item, steps int) {
	v.seen[f.Path], v.seen[cmp.Or(f.Source, f.Path)] = true, true
	it.Bytes, it.Included = f.SizeBytes, it.Reason != NoRoom
	v.add(f, it)
	v.imports(f, steps)
}

// imports adds what a text imports, each behind the one that does, and what that imports in
// its turn. steps is how many there were.
func (v *viewer) imports(by *Find, steps int) {
	if v.in.Client.Imports == 0 {
		return
	}
	detail := "imported by " + by.Path
	if rel, ok := applies.Below(v.in.Start, by.Path); ok {
		detail = "imported by " + rel
	}
	leave := func(f *Find, reason Reason, why string) {
		v.left = append(v.left, leftOut{f, reason, detail + why})
	}
	for _, path := range by.Imported(v.in.Home) {
		found := v.imported[path]
		if found == nil || v.has(found) {
			continue
		}
		f := *found
		f.user, f.Directory, f.importedBy = by.user, by.Directory, by.Path
		switch {
		case !f.user && !(isBelow(v.in.Start, path) && isBelow(v.in.Start, cmp.Or(f.Source, path))):
			leave(&f, Elsewhere, ", which counts only for what lies below the directory of the start")
		case steps == v.in.Client.Imports:
			leave(&f, TooDeep, fmt.Sprintf(", the %dth step: %d are followed", steps+1, steps))
		case f.Status == snapshot.StatusUnreadable || f.Status == snapshot.StatusInvalid:
			leave(&f, Invalid, ": "+f.Error)
		case f.SizeBytes > v.in.Client.Instructions.MaxFile:
			leave(&f, TooLarge, fmt.Sprintf(", and larger than %d bytes", v.in.Client.Instructions.MaxFile))
		case isBlank(&f):
			leave(&f, Blank, ", and there is nothing in it")
		default:
			v.view.Budget.UsedBytes += f.SizeBytes
			v.include(&f, Item{Detail: detail}, steps+1)
		}
	}
}

// leaveImports adds what wasn't imported after all.
func (v *viewer) leaveImports() {
	slices.SortStableFunc(v.left, func(a, b leftOut) int { return compareTrue(a.find.importedBy != "", b.find.importedBy != "") })
	for _, l := range v.left {
		if !v.seen[l.find.Path] {
			v.seen[l.find.Path] = true
			v.leave(l.find, l.reason, l.detail)
		}
	}
	v.left = nil
}
