package why

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// holds returns the path relative to the root, if it lies in it. A root of one file contains
// only that file.
func (r *Root) holds(path string) (rel string, ok bool) {
	if r.FS == nil {
		return "", false
	}
	rel, ok = applicability.Below(r.FS.Path(), path)
	if file := r.FS.File(); file != "" && rel != file {
		return "", false
	}
	return rel, ok
}

// name is how answers call a root: the file's path if it is one file.
func (r *Root) name() string {
	if r.FS == nil {
		return ""
	}
	return filepath.Join(r.FS.Path(), r.FS.File())
}

// runsIn returns the runs in one root.
func (q *question) runsIn(root int) []*Run {
	var runs []*Run
	for i := range q.in.Runs {
		if r := &q.in.Runs[i]; r.Root == root {
			runs = append(runs, r)
		}
	}
	return runs
}

// rootOf returns the root of a run; nil if there is none.
func (q *question) rootOf(r *Run) *vfs.Root {
	if r.Root < 0 || r.Root >= len(q.in.Roots) {
		return nil
	}
	return q.in.Roots[r.Root].FS
}

// inRefusedRoot holds if the path lies in a configured root that isn't looked at, and not in
// a root further down that is.
func (q *question) inRefusedRoot() (facts, bool) {
	i := slices.IndexFunc(q.in.Refused, func(r Refused) bool {
		dir := filepath.Clean(r.Path)
		inside := func(path string) bool { _, ok := applicability.Below(dir, path); return ok }
		return slices.ContainsFunc(q.own(), inside) &&
			!slices.ContainsFunc(q.spots, func(s spot) bool { return inside(q.in.Roots[s.root].FS.Path()) })
	})
	if i < 0 {
		return facts{}, false
	}
	return answered(first(ofRefusedRoot, q.in.Refused[i]))
}

// refusedForLink returns a test that holds for a root whose own link leads where it may not.
func refusedForLink(reason vfs.Reason) func(Refused) (facts, bool) {
	return func(r Refused) (facts, bool) {
		link, ok := errors.AsType[*vfs.LinkError](r.Err)
		return r.because(ok && link.Reason == reason)
	}
}

func (r Refused) forAnyLink() (facts, bool) {
	_, ok := errors.AsType[*vfs.LinkError](r.Err)
	return r.because(ok)
}

func (r Refused) forType() (facts, bool)       { return r.because(errors.Is(r.Err, vfs.ErrNotRegular)) }
func (r Refused) forLoop() (facts, bool)       { return r.because(errors.Is(r.Err, syscall.ELOOP)) }
func (r Refused) forPermission() (facts, bool) { return r.because(errors.Is(r.Err, fs.ErrPermission)) }

// forAnything holds for every other root: the check of roots has the last word.
func (r Refused) forAnything() (facts, bool) { return r.because(true) }

func (r Refused) because(ok bool) (facts, bool) {
	return facts{Answer: Answer{Root: r.Path}, args: []any{quotePath(r.Path), errorLine(r.Err.Error())}}, ok
}

// missingRoot returns the configured root that doesn't exist and would contain the path.
func (q *question) missingRoot() (path string, ok bool) {
	i := slices.IndexFunc(q.in.Missing, func(dir string) bool {
		return slices.ContainsFunc(q.aliases, func(alias string) bool {
			_, ok := applicability.Below(filepath.Clean(dir), alias)
			return ok
		})
	})
	if i < 0 {
		return "", false
	}
	return q.in.Missing[i], true
}

func (q *question) inMissingRoot() (facts, bool) {
	root, ok := q.missingRoot()
	return facts{Answer: Answer{Root: root}, args: []any{quotePath(root)}}, ok
}

// target is where the path leads in the end.
func (q *question) target() string { return q.aliases[len(q.aliases)-1] }

// aboveRoot holds if a root lies below the path.
func (q *question) aboveRoot() (facts, bool) {
	for i := range q.in.Roots {
		r := &q.in.Roots[i]
		if r.FS == nil || r.FS.File() != "" {
			continue
		}
		if _, ok := applicability.Below(q.target(), r.FS.Path()); ok {
			return with(quotePath(r.FS.Path()))
		}
	}
	return facts{}, false
}

// nextToFileRoot holds if a root is a single file that lies in the directory of the path, or
// in one above. The reasons before it have ruled out that a directory is the root.
func (q *question) nextToFileRoot() (facts, bool) {
	for i := range slices.Backward(q.in.Roots) {
		r := &q.in.Roots[i]
		if r.FS == nil {
			continue
		}
		if _, ok := applicability.Below(r.FS.Path(), q.target()); ok {
			return with(quotePath(r.FS.File()), q.sourceAdvice())
		}
	}
	return facts{}, false
}

func (q *question) outsideOneRoot() (facts, bool) {
	if len(q.in.Roots) != 1 {
		return facts{}, false
	}
	return with(q.sourceAdvice())
}

func (q *question) outsideRoots() (facts, bool) {
	return with(text.Count(len(q.in.Roots), "root", "roots"), q.sourceAdvice())
}

// sourceAdvice says what to add as a source, and which agents read the path.
func (q *question) sourceAdvice() (advice string) {
	path := q.target()
	dir, ok := q.sourceFor(path)
	if !ok && q.isDir() {
		dir, ok = path, true
	}
	if ok {
		dir, ok = q.narrowed(dir, path)
	}
	if ok {
		advice = ": add one with " + q.addSource(dir)
	}
	for _, alias := range []string{q.aliases[0], path} {
		if hint, _ := q.hintFor(alias, "", q.isDir()); hint != "" {
			return advice + "; " + hint
		}
	}
	if hint := q.caseHint(q.aliases[0], ""); hint != "" {
		advice += "; " + hint + ", in exact case"
	}
	return advice
}

// narrowed returns a source that contains a path without being a home directory or larger. In
// place of such a directory it is the container of skills around the path, or the path
// itself. ok is false if there is none.
func (q *question) narrowed(dir, path string) (source string, ok bool) {
	if _, holds := applicability.Below(dir, q.in.Home); q.in.Home == "" || !holds {
		return dir, true
	}
	rel, _ := applicability.Below(dir, path)
	if i := strings.LastIndex("/"+rel+"/", "/"+skillsDir+"/"); i >= 0 {
		return filepath.Join(dir, rel[:i+len(skillsDir)]), true
	}
	return path, path != dir
}

// skillsDir is the name of directories that are containers of skills wherever they are roots.
const skillsDir = "skills"

// sourceFor returns the directory that would have to be a root for a path to be looked at,
// judging by what is looked at in the existing roots.
func (q *question) sourceFor(path string) (dir string, ok bool) {
	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := max(0, len(names)-maxNames); i < len(names); i++ {
		rest := strings.Join(names[i:], "/")
		for j := range q.in.Runs {
			r := &q.in.Runs[j]
			root := q.rootOf(r)
			if root == nil || q.in.Roots[r.Root].Role != abi.RoleNone || q.in.Roots[r.Root].Scope == snapshot.ScopeUser {
				continue
			}
			j := root.Judge(r.Filter, rest)
			sees := (j.File || j.Dir && q.isDir()) && q.wantsIn(r, abi.RoleNone, rest, q.isDir())
			from, ok := q.traceOf(r).lookedFrom(rest)
			if own := moduleOf(r.Resolver) == builtinModule; sees && ok && (own || from != "." || !strings.Contains(rest, "/")) {
				return "/" + filepath.Join(names[:i]...), true
			}
		}
	}
	return "", false
}
