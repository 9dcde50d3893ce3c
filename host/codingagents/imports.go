package codingagents

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/plugins/agentfiles/imports"
	"waymark/snapshot"
)

// maxReads bounds how many imported paths are looked at: no context has room for more.
const maxReads = 500

// include adds a text, and what it imports.
func (v *viewer) include(f *Find, it Item, steps int) {
	v.seen[f.Path], v.seen[cmp.Or(f.Source, f.Path)] = true, true
	it.Bytes, it.Included = f.SizeBytes, it.Reason != NoRoom
	v.add(f, it)
	v.imports(f, steps)
}

// has reports whether the client has a text already, by its path or its target.
func (v *viewer) has(f *Find) bool { return v.seen[f.Path] || v.seen[cmp.Or(f.Source, f.Path)] }

// imports adds what a text imports, each behind its importer, recursively. steps is the
// current depth.
func (v *viewer) imports(by *Find, steps int) {
	if v.in.Client.Imports == 0 || v.in.Read == nil {
		return
	}
	for _, written := range imports.Of(string(by.Payload)) {
		path := by.imported(written, v.in.Home)
		if v.seen[path] {
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
		outside, there := !f.user && !isBelow(v.top, path) && !filepath.IsAbs(written), v.in.Read(f, f.user)
		if there && v.has(f) || !there && !outside {
			continue
		}
		switch {
		case !f.user && (!isBelow(v.in.Start, path) || !isBelow(v.in.Start, f.Source)):
			v.leave(f, Elsewhere, "that counts only for what lies below the directory of the start")
		case steps == v.in.Client.Imports:
			v.leave(f, TooDeep, fmt.Sprintf("the %dth step: %d are followed", steps+1, steps))
		default:
			v.instruction(f, steps+1)
		}
	}
}

// imported returns the absolute path that a text imports. A relative path begins where the
// file lies, after links, and "~" is the user's home directory.
func (f *Find) imported(written, home string) string {
	rest, ofHome := strings.CutPrefix(written, "~/")
	switch {
	case ofHome:
		return filepath.Join(home, rest)
	case filepath.IsAbs(written):
		return filepath.Clean(written)
	}
	return filepath.Join(filepath.Dir(cmp.Or(f.Source, f.Path)), written)
}

// tellImports records in an item what its text imports, and what imports it.
func (v *viewer) tellImports(f *Find, it *Item) {
	if it.Included && v.in.Client.Imports > 0 && f.Kind == abi.KindInstructionFile {
		it.Imports = imports.Of(string(f.Payload))
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
		if v.in.Client.Imports == 0 || it.Included || it.Kind != abi.KindInstructionFile {
			return false
		}
		again := told[it.Path] || v.has(it.find)
		told[it.Path] = true
		return again
	})
}
