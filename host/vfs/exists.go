package vfs

import (
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// maxExists bounds the names that Exists looks at in one run. It is a tenth of a run's limit,
// so that no text in a workspace uses up what its resolver needs.
const maxExists = 10_000

// Exists asks on the host's own behalf whether a path leads to something, and returns nil if
// it does. The resolver need not see the path. Type, size and content aren't looked at. Like
// every answer this one is part of the trace; a change of the file doesn't affect it while
// the file exists.
//
// Exists has a bound of its own. It charges nothing to the run's limits, and never ends a
// run.
//
// # Errors
//
// An *Error: ErrHidden for what no view of this root shows without a grant, such as secrets
// and excluded files, which aren't looked at; ErrEscape for a link out of the root; ErrLimit
// beyond 10,000 names in one run; else what the file system says.
func (r *Run) Exists(name string) error {
	const v = verbStat
	if err := r.usable(v, name); err != nil {
		return err
	}
	path, dirOnly, problem := cleanPath(name)
	if problem.errno != 0 {
		return problem.error(v, name)
	}
	if r.existing += 1 + strings.Count(path, "/"); r.existing > maxExists {
		return failure{errno: syscall.EIO, reason: ReasonLimit}.error(v, name)
	}
	if r.root.file != "" && path != r.root.file {
		return failure{errno: syscall.ENOENT, reason: ReasonNotInReads}.error(v, name)
	}
	// Following links charges the run, which Exists must not do.
	used, limits, saw := r.used, r.limits, r.sawSettings
	r.limits.Entries = used.Entries + maxExists - r.existing
	f := r.exists(path, dirOnly)
	r.existing += r.used.Entries - used.Entries
	r.used, r.limits, r.sawSettings = used, limits, saw
	if r.over != nil && !r.matcher.spent {
		r.over = nil
	}
	if f.errno != 0 {
		return f.error(v, name)
	}
	return nil
}

func (r *Run) exists(path string, dirOnly bool) failure {
	if f := r.guarded(path); f.errno != 0 {
		return f
	}
	var st unix.Stat_t
	at, f := r.follow(path, true, DepStat, func(path string) (string, syscall.Errno) {
		at, errno := r.walker.Stat(path, &st)
		if errno == 0 && beneath.TypeOf(&st) == fs.ModeSymlink {
			errno = unix.ELOOP
		}
		return at, errno
	})
	switch {
	case f.errno != 0:
		return f
	case dirOnly:
		return r.mustBeDir(at)
	}
	r.record(Dep{Kind: DepStat, Path: at, Type: beneath.TypeOf(&st), Size: -1})
	return failure{}
}
