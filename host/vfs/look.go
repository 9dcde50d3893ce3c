package vfs

import (
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// verb is what a guest does with a path.
type verb string

const (
	verbOpen     verb = "open"
	verbStat     verb = "stat"
	verbLstat    verb = "lstat"
	verbReadlink verb = "readlink"
)

type lookKey struct {
	verb verb
	path string
}

// usualNames is how many names a path may have at no extra charge.
const usualNames = 16

// look is a remembered answer.
type look struct {
	asked  string
	path   string // link-free; "" when it wasn't reached
	info   Info
	node   *node  // of an opened file
	target string // of a link
	list   *listing
	err    *Error
	// unread: the answer of an adopted unit, whose file isn't kept. It is paid
	// for, but has to be opened again.
	unread bool
}

func (l *look) error() error {
	if l.err == nil {
		return nil
	}
	return l.err
}

// look answers a question, from memory if it was asked before.
func (r *Run) look(v verb, name string) *look {
	if err := r.usable(v, name); err != nil {
		return &look{err: err}
	}
	path, dirOnly, problem := cleanPath(name)
	if problem.errno != 0 {
		return &look{err: problem.error(v, name)}
	}
	key := lookKey{v, path}
	if dirOnly {
		key.path = path + "/"
	}
	known := r.looks[key]
	if known != nil && !known.unread {
		return known
	}
	l := &look{asked: path}
	if names := strings.Count(path, "/"); names > usualNames {
		r.stepper.use(int64(names) * workPerEntry) // each may have to be opened
	}
	s := r.root.sees(r.filter, path, r.scopeOf(path))
	if r.over != nil {
		return &look{err: r.over}
	}
	if !s.dir {
		// Nothing is remembered of what isn't visible, and nothing charged:
		// a guest may guess as long as it likes.
		return &look{err: r.deny(v, path, failure{errno: syscall.ENOENT, reason: s.reason})}
	}
	if known == nil && !r.chargeEntries(1+len(path)/128) {
		return &look{err: r.over}
	}
	f := r.answer(l, v, s, dirOnly)
	if r.over != nil {
		return &look{err: r.over}
	}
	if f.errno != 0 {
		l.info = Info{}
		l.err = r.deny(v, path, f)
	}
	r.remember(key, l)
	return l
}

func (r *Run) remember(key lookKey, l *look) {
	if r.looks == nil {
		r.looks = make(map[lookKey]*look)
	}
	r.looks[key] = l
}

// answer fills in l.
func (r *Run) answer(l *look, v verb, s sight, dirOnly bool) (f failure) {
	follows := dirOnly || v == verbStat || v == verbOpen
	switch {
	case l.asked == ".":
		l.path, l.info = ".", Info{Type: fs.ModeDir, Ino: inoOf(".")}
	case v == verbOpen:
		f = r.open(l, s.file && !dirOnly)
	default:
		f = r.stat(l, follows)
	}
	switch {
	case f.errno != 0:
		return f
	case !l.info.IsDir() && dirOnly:
		return failure{errno: syscall.ENOTDIR}
	case !l.info.IsDir() && !s.file && (l.info.Type != fs.ModeSymlink || follows):
		// Only a directory on the way is visible by this name.
		return failure{errno: syscall.ENOENT, reason: ReasonNotInReads}
	case v == verbReadlink:
		return r.readlink(l)
	}
	return failure{}
}

func (r *Run) stat(l *look, follows bool) (f failure) {
	var st unix.Stat_t
	l.path, f = r.follow(l.asked, follows, DepStat, func(path string) (string, syscall.Errno) {
		if _, ok := r.dirs[path]; ok {
			st.Mode = unix.S_IFDIR // what it was is what it is
			return path, 0
		}
		at, errno := r.walker.Stat(path, &st)
		if errno == 0 && follows && beneath.TypeOf(&st) == fs.ModeSymlink {
			errno = unix.ELOOP
		}
		return at, errno
	})
	if f.errno != 0 {
		return f
	}
	if n := r.nodes[l.path]; n != nil && n.failed.errno == 0 && beneath.TypeOf(&st) == 0 {
		st.Size = n.id.Size // what was read is what is
	}
	l.info = infoOf(l.path, &st)
	size := int64(-1)
	if l.info.Type == 0 || l.info.Type == fs.ModeSymlink {
		size = st.Size
	}
	if _, known := r.dirs[l.path]; !known || r.units.open != nil {
		r.dep(Dep{Kind: DepStat, Path: l.path, Type: l.info.Type, Size: size})
	}
	return failure{}
}

func (r *Run) readlink(l *look) failure {
	if l.info.Type != fs.ModeSymlink {
		return failure{errno: syscall.EINVAL}
	}
	target, at, errno := r.walker.Readlink(l.path)
	if errno != 0 {
		r.unstable(at)
		return failure{errno: errno, at: at}
	}
	r.dep(Dep{Kind: DepLink, Path: l.path, Target: target})
	l.target = target
	return failure{}
}

func infoOf(path string, st *unix.Stat_t) Info {
	i := Info{Type: beneath.TypeOf(st), Ino: inoOf(path)}
	if i.Type == 0 || i.Type == fs.ModeSymlink {
		i.Size = st.Size
	}
	return i
}

func (r *Run) usable(v verb, name string) *Error {
	if r.closed {
		return &Error{Op: string(v), Path: name, Errno: syscall.EBADF, Detail: "the run has ended"}
	}
	return r.over
}
