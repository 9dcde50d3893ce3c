package beneath

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// MaxLinks is how many links Linux follows in one path.
	MaxLinks = 40
	// MaxSwaps is how often a path is resolved again because a directory has meanwhile become
	// a link. That doesn't happen by accident.
	MaxSwaps = 4
	// maxNames bounds the names of a path, including those of its links, because callers that
	// resolve it at every change pay for each.
	maxNames = 4096
)

// ErrEscape says that a link leads out of its directory.
var ErrEscape = errors.New("leads out of its directory")

// LinkError says that a path wasn't resolved because of the target of a link in a directory
// of Options.Within. It doesn't name the target, which the caller may not be allowed to know.
type LinkError struct {
	// Link is the link's absolute path, Within the directory that contains it.
	Link, Within string
	// Err is ErrEscape, or what Options.Judge returned.
	Err error
}

func (e *LinkError) Error() string { return fmt.Sprintf("the link %q: %v", e.Link, e.Err) }

// Unwrap returns Err.
func (e *LinkError) Unwrap() error { return e.Err }

// Options are the policy about links. The zero value follows them wherever they lead, as the
// system does.
type Options struct {
	// Within lists directories, by absolute paths, whose content others write. Once a link in
	// one of them is followed, the path stays in that directory. Each is resolved like a
	// path, under the policy of those before it. A missing one restricts nothing, because
	// nothing is reached through it.
	Within []string
	// Judge, unless nil, is called before a name is looked at, once for each directory of
	// Within that contains it. names are those from there on, and at least one of them comes
	// from a link in such a directory. An error ends the resolution with a LinkError.
	Judge func(within Base, names []Name) error
	// Top, unless nil, is a Walker of the file system's root that is used instead of a new
	// one. When many paths are resolved at once, their common parts are then opened once. The
	// caller keeps ownership.
	Top *Walker
}

// OpenTop returns a Walker of the file system's root, which the caller closes.
func OpenTop() (*Walker, error) {
	fd, err := Retry(func() (int, error) { return unix.Open("/", dirFlags, 0) })
	return &Walker{Root: fd}, err
}

// Name is one name of a path.
type Name struct {
	// Text is without slashes, and neither "." nor "..".
	Text string
	// Linked says that the name comes from a link in a directory of Options.Within, and not
	// from the caller.
	Linked bool
}

// Base is the location of a directory, by the two paths by which a link may name it.
type Base struct {
	path, given string
	names       []string
}

// NewBase returns the Base of a directory: path is relative to the file system's root and
// without links, given is absolute and as the user wrote it.
func NewBase(path, given string) Base {
	b := Base{path: Absolute(path), given: given}
	if path != "." {
		b.names = strings.Split(path, "/")
	}
	return b
}

// Path returns the absolute path without links.
func (b *Base) Path() string { return b.path }

// Given returns the absolute path as the user wrote it.
func (b *Base) Given() string { return b.given }

// Names returns the names of Path, from the file system's root. Don't change them.
func (b *Base) Names() []string { return b.names }

// Relative removes the directory's own path from an absolute one. If that doesn't start with
// it, up is the number of names by which the file system's root lies above the directory.
func (b *Base) Relative(absolute string) (rest string, up int) {
	for _, prefix := range []string{b.path, b.given} {
		prefix = strings.TrimSuffix(prefix, "/")
		if rest, ok := strings.CutPrefix(absolute, prefix); ok && (rest == "" || rest[0] == '/') {
			return rest, 0
		}
	}
	return absolute, len(b.names)
}

// Outside goes one name further from a place that lies up names above the directory: up
// again, or down along the directory's own path, which has no links. It returns -1 for any
// other name, without looking where that leads.
func (b *Base) Outside(up int, name string) int {
	switch {
	case name == "..":
		return min(up+1, len(b.names))
	case name == b.names[len(b.names)-up]:
		return up - 1
	}
	return -1
}

// Absolute makes an absolute path of one that is relative to the file system's root.
func Absolute(path string) string {
	if path == "." {
		return "/"
	}
	return "/" + path
}

// Resolution is where an absolute path leads. It is found from the file system's root name by
// name, following links by reading them, so that the result has no links.
//
// A link belongs to whoever can write to its directory. Outside all directories of
// Options.Within that is the user, whose links may lead anywhere. Inside one it is whoever
// fills that directory: from there on the path stays in it, and names from links are judged.
type Resolution struct {
	walker   *Walker
	own      bool // the walker belongs to the Resolution
	judge    func(within Base, names []Name) error
	guarded  []guardedDir
	passed   []string
	missing  []string
	closed   string
	linkDir  string
	linkName string

	at     string      // the directory reached: without links, relative to the root
	names  []Name      // of at
	rest   []component // the remaining names, the next one last
	bounds []bound     // the guarded directories around at, outermost first
	held   *bound      // the one that the path can't leave any more
	link   string      // the last link in a guarded directory
	up     int         // by how many names the path is above held, on its way back

	looked, links int // counted against maxNames and MaxLinks
}

// component is a remaining name.
type component struct {
	Name
	last bool // last of the given path
}

// guardedDir is a directory of Options.Within. It is kept open, so that no other directory
// can get its identity.
type guardedDir struct {
	given string
	fd    int
	id    fileID
}

type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID {
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)} //nolint:unconvert // the types differ between platforms
}

// bound is a guarded directory that the path has entered.
type bound struct {
	base  Base
	at    string
	depth int
}

// Resolve finds out where an absolute path leads, but not what exists at the end. The caller
// closes the Resolution, even after an error; it then only knows Passed, Closed and Missing.
//
// # Errors
//
// A *LinkError if a link leads where the policy doesn't allow; otherwise a syscall.Errno.
func Resolve(path string, opts Options) (*Resolution, error) {
	r := &Resolution{judge: opts.Judge, walker: opts.Top}
	if r.walker == nil {
		var err error
		if r.walker, err = OpenTop(); err != nil {
			return r, err
		}
		r.own = true
	}
	for _, dir := range opts.Within {
		if err := r.resolve(dir); unreachable(err) {
			continue
		} else if err != nil {
			return r, err
		}
		if err := r.guard(dir); err != nil {
			return r, err
		}
	}
	return r, r.resolve(path)
}

// unreachable reports whether an error means that nothing is reached through a directory.
// Others, such as a lack of descriptors, say nothing about it.
func unreachable(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.ENOENT || errno == syscall.EACCES || MaybeLink(errno)) || errors.As(err, new(*LinkError))
}

// Close closes all descriptors.
func (r *Resolution) Close() {
	for _, d := range r.guarded {
		_ = unix.Close(d.fd)
	}
	if r.own {
		r.walker.Close()
	}
}

// Path is where the path leads: without links, relative to the file system's root.
func (r *Resolution) Path() string { return r.at }

// LastLink returns where the last name of the given path was met, if that is a link; else ok
// is false.
func (r *Resolution) LastLink() (dir, name string, ok bool) {
	return r.linkDir, r.linkName, r.linkName != ""
}

// Passed returns the absolute paths that decided where the path leads: of each link that was
// followed, and of the name at which it ended. If it ended early, that includes the end
// according to the remaining names. Only their last names may be links.
func (r *Resolution) Passed() []string { return r.passed }

// Closed returns the absolute path of the directory that this user may not search, if that is
// why Resolve failed; else it is empty. With EACCES it is then somebody else's link in a
// directory in which everybody may create files.
func (r *Resolution) Closed() string { return r.closed }

// Missing returns the names that don't exist: the one for which Resolve failed with ENOENT,
// and those after it. Path is the directory in which the first of them could be created to
// make the path exist. There are none if a directory vanished meanwhile, or if ".." would
// lead back out of what doesn't exist.
func (r *Resolution) Missing() []string { return r.missing }

// Stat describes what is at a path without links, relative to the root.
func (r *Resolution) Stat(path string, st *unix.Stat_t) syscall.Errno {
	_, errno := r.walker.Stat(path, st)
	return errno
}

// Open opens a file or a directory for reading, by a path without links, relative to the
// root. The descriptor is the caller's.
func (r *Resolution) Open(path string) (int, syscall.Errno) {
	fd, _, errno := r.walker.Open(path)
	return fd, errno
}

// OpenDir opens a directory by a path without links, relative to the root. The descriptor is
// the caller's.
func (r *Resolution) OpenDir(path string) (int, syscall.Errno) {
	fd, _, errno := r.walker.Dir(path)
	if errno != 0 {
		return -1, errno
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return own, ErrnoOf(err)
}

// guard restricts the links in the directory that has been reached.
func (r *Resolution) guard(given string) error {
	fd, errno := r.OpenDir(r.at)
	switch {
	case unreachable(errno): // a file, for example
		return nil
	case errno != 0:
		return errno
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return err
	}
	r.guarded = append(r.guarded, guardedDir{given: given, fd: fd, id: idOf(&st)})
	return nil
}

// resolve finds out where an absolute path leads. If a link replaces a directory meanwhile,
// it starts again.
func (r *Resolution) resolve(path string) (err error) {
	for range MaxSwaps {
		r.at, r.names, r.rest, r.bounds, r.held, r.link, r.up = ".", nil, nil, nil, nil, "", 0
		r.looked, r.links, r.linkDir, r.linkName, r.passed, r.missing, r.closed = 0, 0, "", "", nil, nil, ""
		r.prepend(path, false)
		if len(r.rest) > 0 {
			r.rest[0].last = true
		}
		err = r.walk()
		if errno, ok := errors.AsType[syscall.Errno](err); !ok || !MaybeLink(errno) {
			return err
		}
		r.walker.Forget()
	}
	return err
}

// prepend puts the names of a path before the remaining ones.
func (r *Resolution) prepend(path string, linked bool) {
	for _, name := range slices.Backward(strings.Split(path, "/")) {
		if name != "" && name != "." {
			r.rest = append(r.rest, component{Name: Name{Text: name, Linked: linked}})
		}
	}
}

func (r *Resolution) walk() error {
	if err := r.enter(); err != nil {
		return err
	}
	for len(r.rest) > 0 {
		c := r.rest[len(r.rest)-1]
		r.rest = r.rest[:len(r.rest)-1]
		if r.looked++; r.looked+len(r.rest) > maxNames {
			return syscall.ENAMETOOLONG
		}
		switch {
		case r.up > 0 || c.Text == ".." && r.held != nil && r.at == r.held.at:
			if r.up = r.held.base.Outside(r.up, c.Text); r.up < 0 {
				return r.refuse(ErrEscape)
			}
		case c.Text == "..":
			if _, _, errno := r.walker.Dir(r.at); errno != 0 {
				return errno // no path leads up from a file
			}
			r.back(max(len(r.names)-1, 0))
		default:
			if err := r.step(c); err != nil {
				return err
			}
		}
	}
	if r.up > 0 {
		return r.refuse(ErrEscape)
	}
	return nil
}

// step goes one name further, or to its target.
func (r *Resolution) step(c component) error {
	next := Join(r.at, c.Text)
	if len(next) >= MaxPath {
		return syscall.ENAMETOOLONG
	}
	if err := r.judged(append(r.names, c.Name)); err != nil {
		return err
	}
	target, failed, errno := r.readlink(next)
	switch {
	case errno == syscall.EINVAL: // it is no link
		r.at, r.names = next, append(r.names, c.Name)
		if len(r.rest) == 0 {
			r.pass(next)
		}
		return r.enter()
	case errno != 0:
		r.pass(failed)
		r.passEnd(next)
		if errno == syscall.ENOENT && failed == next {
			r.notThere(c.Text)
		}
		if errno == syscall.EACCES {
			dir, _ := Split(failed)
			r.closed = Absolute(dir)
		}
		return errno
	}
	r.pass(next)
	if r.links++; r.links > MaxLinks {
		return syscall.ELOOP
	}
	if err := r.trusted(next); err != nil {
		return err
	}
	if c.last {
		r.linkDir, r.linkName = r.at, c.Text
	}
	if len(r.bounds) > 0 {
		held := r.bounds[len(r.bounds)-1]
		r.held, r.link = &held, next
	}
	if strings.HasPrefix(target, "/") {
		if r.held == nil {
			r.back(0)
		} else {
			r.back(r.held.depth)
			target, r.up = r.held.base.Relative(target)
		}
		if err := r.enter(); err != nil {
			return err
		}
	}
	r.prepend(target, r.held != nil)
	return nil
}

// readlink reads a link; EINVAL says that the path is something else. Most names are
// directories, which are opened on the way anyway.
func (r *Resolution) readlink(path string) (target, at string, errno syscall.Errno) {
	_, at, errno = r.walker.Dir(path)
	switch {
	case errno == 0:
		return "", path, syscall.EINVAL
	case at != path || !MaybeLink(errno):
		return "", at, errno
	}
	return r.walker.Readlink(path)
}

// trusted refuses a link that somebody else has put into a directory in which everybody may,
// such as /tmp. With fs.protected_symlinks the system does so, too, but only when it follows
// the link itself.
func (r *Resolution) trusted(path string) error {
	var dir, link unix.Stat_t
	parent, _ := Split(path)
	if errno := r.Stat(parent, &dir); errno != 0 {
		return errno
	}
	const shared = unix.S_ISVTX | unix.S_IWOTH
	if dir.Mode&shared != shared {
		return nil
	}
	if errno := r.Stat(path, &link); errno != 0 {
		return errno
	}
	if link.Uid != dir.Uid && int64(link.Uid) != int64(os.Geteuid()) {
		return syscall.EACCES
	}
	return nil
}

// notThere records which names would have to be created.
func (r *Resolution) notThere(name string) {
	r.missing = []string{name}
	for _, c := range slices.Backward(r.rest) {
		if c.Text == ".." {
			r.missing = nil
			return
		}
		r.missing = append(r.missing, c.Text)
	}
}

func (r *Resolution) pass(path string) { r.passed = append(r.passed, Absolute(path)) }

// passEnd adds where the end would be if none of the remaining names were a link.
func (r *Resolution) passEnd(path string) {
	for _, c := range slices.Backward(r.rest) {
		if c.Text == ".." {
			return
		}
		path = Join(path, c.Text)
	}
	if Absolute(path) != r.passed[len(r.passed)-1] {
		r.pass(path)
	}
}

// back goes up to a depth.
func (r *Resolution) back(depth int) {
	r.names = r.names[:depth]
	r.at = "."
	for _, n := range r.names {
		r.at = Join(r.at, n.Text)
	}
	r.bounds = slices.DeleteFunc(r.bounds, func(b bound) bool { return b.depth > depth })
}

// enter finds out whether the directory that has been reached is guarded.
func (r *Resolution) enter() error {
	if len(r.guarded) == 0 || len(r.bounds) > 0 && r.bounds[len(r.bounds)-1].at == r.at {
		return nil
	}
	fd, _, errno := r.walker.Dir(r.at)
	if errno == unix.ENOTDIR {
		return nil // a file; if names remain, the next one fails
	}
	var st unix.Stat_t
	if errno == 0 {
		errno = ErrnoOf(unix.Fstat(fd, &st))
	}
	if errno != 0 {
		return errno
	}
	id := idOf(&st)
	for _, d := range r.guarded {
		if d.id == id {
			r.bounds = append(r.bounds, bound{base: NewBase(r.at, d.given), at: r.at, depth: len(r.names)})
			return nil
		}
	}
	return nil
}

// judged applies the policy to names of which at least one comes from a link in a guarded
// directory. Names from the caller are intended.
func (r *Resolution) judged(names []Name) error {
	if r.judge == nil {
		return nil
	}
	for _, b := range r.bounds {
		below := names[b.depth:]
		if !slices.ContainsFunc(below, func(n Name) bool { return n.Linked }) {
			continue
		}
		if err := r.judge(b.base, below); err != nil {
			return r.refuse(err)
		}
	}
	return nil
}

// refuse makes the error for the last link in a guarded directory.
func (r *Resolution) refuse(why error) error {
	return &LinkError{Link: Absolute(r.link), Within: r.held.base.path, Err: why}
}
