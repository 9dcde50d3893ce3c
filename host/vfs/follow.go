package vfs

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// attempt does one operation on a link-free path.
type attempt func(path string) (at string, errno syscall.Errno)

// follow calls try with the path that name leads to. It first calls it with name itself, and
// resolves links only if try meets one. It records a failure in the trace, with kind if the
// failure is try's own. Recording a success is left to the caller. If last is set, the last
// name is followed, too.
func (r *Run) follow(name string, last bool, kind DepKind, try attempt) (path string, f failure) {
	dir, base := ".", "."
	if name != "." {
		dir, base = beneath.Split(name)
	}
	for range beneath.MaxSwaps {
		path = beneath.Join(dir, base)
		// A path that leads through no link was judged by its own name.
		if through, ok := r.via[dir]; ok && through != dir {
			path = beneath.Join(through, base)
			if f = r.guarded(path); f.errno != 0 {
				return path, f
			}
		}
		at, errno := try(path)
		if beneath.MaybeLink(errno) {
			delete(r.via, dir)
			if path, f = r.resolve(dir, base, last); f.errno != 0 {
				return path, f
			}
			at, errno = try(path)
		}
		switch {
		case errno == 0:
			return path, failure{}
		case !beneath.MaybeLink(errno):
			r.recordFailure(kind, at, errno)
			return path, failure{errno: errno, at: at}
		}
	}
	r.recordUnstable(path)
	return path, failure{errno: syscall.ELOOP, detail: "the links kept changing"}
}

// resolve returns the link-free path that base in dir leads to, and caches where dir leads.
func (r *Run) resolve(dir, base string, last bool) (path string, f failure) {
	through, _, f := r.canonical(".", dir, true)
	if f.errno != 0 {
		return dir, f
	}
	if r.via == nil {
		r.via = make(map[string]string)
	}
	r.via[dir] = through
	path, dirOnly, f := r.canonical(through, base, last)
	if f.errno == 0 && dirOnly {
		f = r.mustBeDir(path)
	}
	return path, f
}

// guarded refuses a resolved path that must not be read under any name.
func (r *Run) guarded(path string) failure {
	if !utf8.ValidString(path) {
		return failure{errno: syscall.ENOENT, reason: ReasonNotInReads, detail: "leads to a name that isn't UTF-8"}
	}
	if r.root.isForbidden(path) {
		return escape(path)
	}
	at := r.scopeOf(path)
	switch reason := r.protected(at); {
	case r.over != nil:
		return failure{errno: syscall.EIO, reason: ReasonLimit}
	case reason != ReasonNone:
		return failure{errno: syscall.ENOENT, reason: reason, at: path}
	}
	r.sawSettings = r.sawSettings || at.settings()
	return failure{}
}

// canonical follows the links in rest, which begins in the link-free directory cur, by
// reading them. Unless links lead beyond the root, it never looks at anything outside: there
// it only compares names with those of the root's own path, which has no links. Nor does it look at anything
// protected, so that no errno reveals what is there. It records each link, and everything
// else that the answer depends on. If last is unset, the last name of rest isn't followed.
func (r *Run) canonical(cur, rest string, last bool) (path string, dirOnly bool, f failure) {
	var up, links int   // up counts the names above the root
	var confined string // where a link of others may lead
	for rest != "" {
		r.matcher.use(workPerEntry + int64(len(cur))) // a link can hold thousands of names
		if !r.chargeEntries(1) {
			return cur, false, failure{errno: syscall.EIO, reason: ReasonLimit}
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch {
		case name == "" || name == ".":
			continue
		case up > 0 || name == ".." && cur == ".":
			was := up
			if up = r.root.base.Outside(up, name); up >= 0 {
				continue
			}
			if !r.root.beyond {
				return cur, false, escape(cur)
			}
			cur, up = strings.Repeat("../", was-1)+"..", 0
		case name == "..":
			if f := r.mustBeDir(cur); f.errno != 0 {
				return cur, false, f
			}
			if cur, _ = beneath.Split(cur); cur == ".." || strings.HasSuffix(cur, "/..") {
				cur, up = ".", 1+strings.Count(cur, "/")
			}
			continue
		}
		next := beneath.Join(cur, name)
		if len(next) > beneath.MaxPath {
			return cur, false, failure{errno: syscall.ENAMETOOLONG}
		}
		if confined != "" && !isIn(confined, r.root.absolute(next)) {
			return cur, false, escape(cur)
		}
		if f := r.guarded(next); f.errno != 0 {
			return next, false, f
		}
		if rest == "" && !last {
			return next, false, r.mustBeDir(cur)
		}
		target, at, errno := r.walker.Readlink(next)
		switch {
		case errno == syscall.EINVAL:
			cur = next
			continue
		case errno != 0:
			return next, false, r.stopped(at, errno)
		}
		r.record(Dep{Kind: DepLink, Path: next, Target: target})
		if r.root.beyond {
			if isOutside(next) && !r.isOurs(next) {
				return next, false, escape(next)
			}
			switch dir := r.root.confines(next); {
			case confined != "" || dir == "":
			case isOutside(next):
				confined = dir
			default: // it leads where it would without any way out
				confined = r.root.Path()
			}
		}
		if links++; links > beneath.MaxLinks {
			return next, false, failure{errno: syscall.ELOOP}
		}
		if rest == "" {
			dirOnly = strings.HasSuffix(target, "/")
		}
		if strings.HasPrefix(target, "/") {
			cur = "."
			target, up = r.root.base.Relative(target)
		}
		if rest != "" {
			target += "/" + rest
		}
		rest = target
	}
	if up > 0 {
		return cur, false, escape(cur)
	}
	return cur, dirOnly, failure{}
}

// isOutside reports whether a link-free path leads out of the root.
func isOutside(path string) bool { return strings.HasPrefix(path, "../") }

// isIn reports whether an absolute path is a directory, or lies in it.
func isIn(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// absolute returns the absolute path of a link-free one.
func (r *Root) absolute(path string) string { return filepath.Join(r.base.Path(), path) }

// confines returns the directory of others that contains a path; empty if none does.
func (r *Root) confines(path string) string {
	for _, dir := range r.within {
		if isIn(dir, r.absolute(path)) {
			return dir
		}
	}
	return ""
}

// isForbidden reports whether a path is one outside of the root that no link may lead to: the
// agent's own, and what isn't made of files, as /dev/shm is.
func (r *Root) isForbidden(path string) bool {
	if !isOutside(path) {
		return false
	}
	if path = r.absolute(path); isIn("/dev/shm", path) {
		return slices.ContainsFunc(r.own, func(dir string) bool { return isIn(dir, path) })
	}
	return slices.ContainsFunc(append([]string{"/proc", "/sys", "/dev"}, r.own...), func(dir string) bool { return isIn(dir, path) })
}

// isOurs reports whether a link is the user's or the system's: others' links in directories
// for everybody lead nowhere.
func (r *Run) isOurs(link string) bool {
	var st unix.Stat_t
	_, errno := r.walker.Stat(link, &st)
	return errno == 0 && (st.Uid == 0 || int(st.Uid) == unix.Geteuid())
}

func escape(at string) failure {
	return failure{errno: syscall.EACCES, reason: ReasonEscape, at: at}
}

// stopped records why the walk ended at a link-free path. ENOTDIR means a file in the place
// of a directory, or a link that has just been put there.
func (r *Run) stopped(at string, errno syscall.Errno) failure {
	if beneath.MaybeLink(errno) {
		if f := r.mustBeDir(at); f.errno != 0 {
			return f
		}
		r.recordUnstable(at)
		return failure{errno: syscall.ELOOP, at: at, detail: "the links kept changing"}
	}
	r.recordFailure(DepStat, at, errno)
	return failure{errno: errno, at: at}
}

// mustBeDir fails with ENOTDIR unless the link-free path is a directory, and records its
// type.
func (r *Run) mustBeDir(path string) failure {
	if path == "." {
		return failure{}
	}
	var st unix.Stat_t
	if at, errno := r.walker.Stat(path, &st); errno != 0 {
		r.recordFailure(DepStat, at, errno)
		return failure{errno: errno, at: at}
	}
	typ := beneath.TypeOf(&st)
	r.record(Dep{Kind: DepStat, Path: path, Type: typ, Size: -1})
	switch typ {
	case fs.ModeDir:
		return failure{}
	case fs.ModeSymlink: // it wasn't one a moment ago
		return failure{errno: syscall.ELOOP, at: path, detail: "the links kept changing"}
	}
	return failure{errno: syscall.ENOTDIR, at: path}
}
