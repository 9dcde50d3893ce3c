package host

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waymark/abi"
	"waymark/host/config"
	"waymark/host/vfs"
	"waymark/internal/text"
)

const (
	// maxNested bounds how many instruction files below the top of a root are listed, and
	// maxNestedDepth how many directories deep they are.
	maxNested      = 200
	maxNestedDepth = 8
	// maxNestedPath bounds their paths, which have to be patterns.
	maxNestedPath = 512
)

// nested are the instruction files in directories below the top of a root, as git's index has
// them: each is for the files of its directory.
type nested struct {
	known  bool
	of     map[string]vfs.Tracked // by project: "." and the children
	files  []string               // the listed ones, the least deep first
	more   int
	logged string
}

// findNested looks for nested instruction files in those workspaces in scope that are
// repositories, or contain some. For a scope near events it looks only if an event names an
// index or what leads to one. No directory is listed: who has thousands waits for none of
// them, and what git ignores isn't found. The caller holds h.turn.
func (h *Host) findNested(s scope) {
	for _, slot := range h.slots {
		if slot.open == nil || !slot.spec.Children || slot.open.File() != "" || h.config.children == config.ChildrenOff {
			slot.nested = nested{}
			continue
		}
		n := &slot.nested
		if !s.covers(slot) || n.known && !n.concerned(slot.open.Path(), s.nearIn(slot), slot.children.names) {
			continue
		}
		next := nested{known: true, of: map[string]vfs.Tracked{}, logged: n.logged}
		for _, dir := range append([]string{"."}, slot.children.names...) {
			found, err := slot.open.Tracked(dir, n.of[dir], isNested)
			if err != nil {
				h.log.Debug("git's index wasn't read", slog.Any("error", err))
			}
			next.of[dir] = found
			for _, name := range found.Names {
				next.files = append(next.files, path.Join(dir, name))
			}
		}
		slices.SortFunc(next.files, leastDeep)
		next.files = slices.Compact(next.files)
		next.more = max(0, len(next.files)-maxNested)
		next.files = next.files[:len(next.files)-next.more]
		if problem := next.lost(slot.open.Path()); problem != next.logged {
			if next.logged = problem; problem != "" {
				h.log.Warn(problem)
			}
		}
		slot.nested = next
	}
}

// nestedIn returns the nested instruction files of a repository, the least deep first.
func nestedIn(project string) (files []string) {
	root, err := vfs.OpenRoot(project, vfs.RootOptions{})
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	found, _ := root.Tracked(".", vfs.Tracked{}, isNested) // what can't be read has none
	slices.SortFunc(found.Names, leastDeep)
	for _, name := range found.Names[:min(len(found.Names), maxNested)] {
		files = append(files, filepath.Join(root.Path(), name))
	}
	return files
}

// leastDeep orders paths by their depth, and then by their bytes.
func leastDeep(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
}

// lost describes the files that aren't listed.
func (n *nested) lost(root string) string {
	if n.more == 0 {
		return ""
	}
	return fmt.Sprintf("%s not listed below %s: only the first %d are", text.Count(n.more, "instruction file is", "instruction files are"), root, maxNested)
}

// concerned reports whether events near some paths, relative to the root, can change the
// files. Nil stands for all paths.
func (n *nested) concerned(root string, near, projects []string) bool {
	if near == nil || len(n.of) != 1+len(projects) {
		return true
	}
	return slices.ContainsFunc(near, func(p string) bool {
		return (path.Base(p) == ".git" || path.Base(p) == "index") && slices.ContainsFunc(n.watched(), func(index string) bool {
			return leadsTo(filepath.Join(root, p), index)
		})
	}) || slices.ContainsFunc(projects, func(name string) bool { _, known := n.of[name]; return !known })
}

// watched lists the indexes, in order.
func (n *nested) watched() (paths []string) {
	for _, t := range n.of {
		paths = append(paths, t.Index)
	}
	slices.Sort(paths)
	return paths
}

// nestedNames are the places of instruction files that are also read below the top of a
// project, by their last names.
var nestedNames = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for _, c := range nestedRows() {
		for _, p := range c.Places {
			if c.Kind == abi.KindInstructionFile && !strings.Contains(p, "*") {
				names[path.Base(p)] = append(names[path.Base(p)], p)
			}
		}
	}
	return names
})

// isNested reports whether a file of a repository is a nested instruction file of its own: not
// one of what others made and somebody copied, nor in a directory of settings.
func isNested(name []byte) bool {
	places := nestedNames()[string(name[1+bytes.LastIndexByte(name, '/'):])]
	if places == nil || len(name) > maxNestedPath || !fs.ValidPath(string(name)) || strings.ContainsAny(string(name), "\\\x00") {
		return false
	}
	dir := ""
	for _, place := range places {
		if rest, ok := strings.CutSuffix(string(name), "/"+place); ok && (dir == "" || len(rest) < len(dir)) {
			dir = rest
		} else if place == string(name) {
			return false // it is at the top
		}
	}
	names := strings.Split(dir, "/")
	return dir != "" && len(names) <= maxNestedDepth && !slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "third_party"
	})
}
