package why

import (
	"path/filepath"
	"slices"
	"strings"

	"waymark/host/vfs"
)

// holds reports whether a path lies in the root, and its name there. A root
// of one file holds that file only.
func (r *Root) holds(path string) (rel string, ok bool) {
	if r.FS == nil {
		return "", false
	}
	rel, ok = below(r.FS.Path(), path)
	if file := r.FS.File(); file != "" && rel != file {
		return "", false
	}
	return rel, ok
}

// name is how answers call a root: the file's path when it is one file.
func (r *Root) name() string {
	if r.FS == nil {
		return ""
	}
	return filepath.Join(r.FS.Path(), r.FS.File())
}

// below returns the name of a path relative to a directory that it lies in,
// "." for the directory itself.
func below(dir, path string) (rel string, ok bool) {
	if dir == path {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	return rest, ok && rest != ""
}

// runsIn are the runs in one root.
func (q *question) runsIn(root int) []*Run {
	var runs []*Run
	for i := range q.in.Runs {
		if r := &q.in.Runs[i]; r.Root == root {
			runs = append(runs, r)
		}
	}
	return runs
}

// rootOf is the root of a run; nil when there is none.
func (q *question) rootOf(r *Run) *vfs.Root {
	if r.Root < 0 || r.Root >= len(q.in.Roots) {
		return nil
	}
	return q.in.Roots[r.Root].FS
}

// missingRoot is the configured root that doesn't exist and the path lies in.
func (q *question) missingRoot() (path string, ok bool) {
	i := slices.IndexFunc(q.in.Missing, func(dir string) bool {
		return slices.ContainsFunc(q.aliases, func(alias string) bool {
			_, ok := below(filepath.Clean(dir), alias)
			return ok
		})
	})
	if i < 0 {
		return "", false
	}
	return q.in.Missing[i], true
}
