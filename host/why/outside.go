package why

import (
	"path/filepath"
	"strings"

	"waymark/abi"
)

// outside answers for a path that lies in no root.
func (q *question) outside() Answer {
	if root, ok := q.missingRoot(); ok {
		return Answer{
			Reason: ReasonMissing, Root: root,
			Detail: "the configured root or source " + show(root) + " doesn't exist; it is looked at as soon as it does",
		}
	}
	path := q.aliases[len(q.aliases)-1]
	a := Answer{Reason: ReasonOutsideRoots}
	for i := range q.in.Roots {
		r := &q.in.Roots[i]
		if r.FS == nil {
			continue
		}
		if _, ok := below(path, r.FS.Path()); ok && r.FS.File() == "" {
			a.Detail = "in no root itself: " + show(r.FS.Path()) + " below it is one"
			return a
		}
		if _, ok := below(r.FS.Path(), path); ok {
			a.Detail = "only the file " + show(r.FS.File()) + " of this directory is a root"
		}
	}
	if a.Detail == "" {
		a.Detail = "not in the root"
		if n := len(q.in.Roots); n != 1 {
			a.Detail = "in none of the " + count(n, "root", "roots")
		}
	}
	dir, ok := q.sourceFor(path)
	if !ok && q.isDir() {
		dir, ok = path, true
	}
	if ok {
		a.Detail += ": add one with " + addSource(dir)
	}
	if hint := hintFor(path, "", q.isDir()); hint != "" {
		a.Detail += "; " + hint
	}
	return a
}

// sourceFor is the directory that would have to be a root for a path to be
// looked at, going by what is looked at in the roots there are.
func (q *question) sourceFor(path string) (dir string, ok bool) {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := max(0, len(names)-maxNames); i < len(names); i++ {
		rest := strings.Join(names[i:], "/")
		for j := range q.in.Runs {
			r := &q.in.Runs[j]
			root := q.rootOf(r)
			if root == nil || q.in.Roots[r.Root].Role != abi.RoleNone {
				continue
			}
			j := root.Judge(r.Filter, rest)
			sees := j.File || j.Dir && q.isDir()
			if from, ok := q.observed(r).lookedFrom(rest); sees && ok && (from != "." || !strings.Contains(rest, "/")) {
				return "/" + filepath.Join(names[:i]...), true
			}
		}
	}
	return "", false
}

// isDir reports whether the path is a directory, and not a link to one.
func (q *question) isDir() bool { return q.info != nil && q.info.IsDir() }
