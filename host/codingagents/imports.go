package codingagents

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/snapshot"
)

// maxReads bounds how many imported paths are looked at: no context has room for more.
const maxReads = 500

// include adds a text, and what it imports.
func (v *viewer) include(f *Find, it snapshot.ClientItem, steps int) {
	again := v.told[f.Path] // a text that is inlined twice is listed once
	v.told[f.Path], v.told[cmp.Or(f.Source, f.Path)] = true, true
	if f.by == nil || !v.inlined() {
		v.seen[f.Path], v.seen[cmp.Or(f.Source, f.Path)] = true, true
	}
	if it.Bytes, it.Included = f.size(), it.Reason != snapshot.ClientNoRoom; !again {
		v.add(f, it)
	}
	v.imports(f, steps)
}

// inlined reports whether a text that is imported stands wherever it is named.
func (v *viewer) inlined() bool { return v.in.Client.Imports != nil && v.in.Client.Imports.Inlined }

// has reports whether the client has a text already, by its path or its target.
func (v *viewer) has(f *Find) bool { return v.seen[f.Path] || v.seen[cmp.Or(f.Source, f.Path)] }

// imports adds what a text imports, each behind its importer, recursively. steps is the
// current depth.
func (v *viewer) imports(by *Find, steps int) {
	rules := v.in.Client.Imports
	if v.in.Read == nil || !rules.allows(by) {
		return
	}
	within, seen := v.in.Start, func(path string) bool { return v.seen[path] }
	if rules.Inlined {
		within, seen = v.within(by), by.comesFrom
	}
	for _, written := range rules.Of(string(by.Payload)) {
		path := by.imported(written, v.in.Home, rules.AsWritten)
		if seen(path) {
			continue
		}
		if v.reads++; v.reads > maxReads {
			v.view.NotLookedAt = append(v.view.NotLookedAt, path) // further ones are no news
			return
		}
		f := &Find{
			Path: path, Directory: by.Directory, user: by.user, by: by,
			Resource: snapshot.Resource{Kind: abi.KindInstructionFile, Convention: "imported", Source: path},
		}
		// Nothing outside the project is looked at. A word that begins with / often isn't a
		// file name.
		outside, there := !f.user && !isBelow(v.top, path) && !filepath.IsAbs(written), v.in.Read(f, f.user || rules.Links || rules.Inlined && !isBelow(v.top, within))
		if there && !rules.Inlined && v.has(f) || !there && !outside {
			continue
		}
		switch {
		case (!f.user || rules.Inlined) && (!isBelow(within, path) || !isBelow(within, f.Source) && !rules.Links):
			detail := "that counts only for what lies below the directory of the start"
			if rules.Inlined {
				detail = "that counts only for what lies below " + within
			}
			v.leave(f, snapshot.ClientElsewhere, detail)
		case steps == rules.Steps:
			v.leave(f, snapshot.ClientTooDeep, fmt.Sprintf("the %dth step: %d are followed", steps+1, steps))
		default:
			v.instruction(f, steps+1)
		}
	}
}

// allows reports whether a text can import others.
func (i *Imports) allows(f *Find) bool {
	return i != nil && (f.by != nil || !slices.Contains(i.Without, f.Convention))
}

// within returns the directory that a text's imports have to lie in, if they are inlined.
func (v *viewer) within(f *Find) string {
	for f.by != nil {
		f = f.by
	}
	if !f.user && v.in.Client.Imports.ElseStart {
		return v.top
	}
	dir, project := filepath.Dir(f.Path), ""
	if v.in.ProjectOf != nil {
		project = v.in.ProjectOf(dir)
	}
	return cmp.Or(project, dir)
}

// comesFrom reports whether a text is the one at path, or led to by its imports.
func (f *Find) comesFrom(path string) bool {
	for ; f != nil; f = f.by {
		if f.Path == path {
			return true
		}
	}
	return false
}

// imported returns the absolute path that a text imports. A relative path begins where the
// file lies, after links unless it is asWritten, and "~" is the user's home directory.
func (f *Find) imported(written, home string, asWritten bool) string {
	rest, ofHome := strings.CutPrefix(written, "~/")
	switch {
	case ofHome:
		return filepath.Join(home, rest)
	case filepath.IsAbs(written):
		return filepath.Clean(written)
	}
	if asWritten {
		return filepath.Join(filepath.Dir(f.Path), written)
	}
	return filepath.Join(filepath.Dir(cmp.Or(f.Source, f.Path)), written)
}

// tellImports records in an item what its text imports, and what imports it.
func (v *viewer) tellImports(f *Find, it *Item) {
	if it.Included && v.in.Client.Imports.allows(f) && f.Kind == abi.KindInstructionFile {
		it.Imports = v.in.Client.Imports.Of(string(f.Payload))
	}
	if f.by != nil {
		it.ImportedBy = f.by.Path
		by := f.by.Path
		if rel, ok := applicability.Below(v.in.Start, by); ok {
			by = rel
		}
		it.Detail = strings.TrimSuffix("imported by "+by+": "+it.Detail, ": ")
	}
}

// once removes missing items that are present in another way, or were reported before.
func (v *viewer) once() {
	told := map[string]bool{}
	v.view.Items = slices.DeleteFunc(v.view.Items, func(it Item) bool {
		if v.in.Client.Imports == nil || it.Included || it.Kind != abi.KindInstructionFile {
			return false
		}
		again := told[it.Path] || v.told[it.Path] || v.told[cmp.Or(it.find.Source, it.Path)]
		told[it.Path] = true
		return again
	})
}
