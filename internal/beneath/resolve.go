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
	// MaxSwaps is how often a path is resolved again because what was a
	// directory has meanwhile become a link. Nobody does that by accident.
	MaxSwaps = 4
	// maxNames bounds the names of a path, with those of its links: who resolves
	// it again at every change pays for each.
	maxNames = 4096
)

// ErrEscape says that a link leads out of the directory that it may lead in.
var ErrEscape = errors.New("leads out of its directory")

// LinkError says that a path wasn't resolved for where a link leads that lies
// in a directory of Options.Within. It doesn't say where that is: who asks may
// not know.
type LinkError struct {
	// Link is the link's absolute path, Within the directory that it lies in.
	Link, Within string
	// Err is ErrEscape, or what Options.Judge returned.
	Err error
}

func (e *LinkError) Error() string { return fmt.Sprintf("the link %q: %v", e.Link, e.Err) }

// Unwrap returns Err.
func (e *LinkError) Unwrap() error { return e.Err }

// Options are the policy about links. The zero value follows them wherever they
// lead, as the system does.
type Options struct {
	// Within are directories, by absolute paths, whose content others write.
	// From where a link lies in one of them the path stays in that directory.
	// Each is resolved like a path, under the policy of those before it; one
	// that isn't there restricts nothing, since nothing is reached through it.
	Within []string
	// Judge, unless nil, is asked before a name is looked at, once for each
	// directory of Within that it lies in; names are those from there on, and at
	// least one of them comes from a link in such a directory. An error ends
	// with a LinkError.
	Judge func(within Base, names []Name) error
	// Top, unless nil, is a Walker of the top of the file system, which is used instead
	// of one of the Resolution's own: whoever resolves many paths at one moment opens
	// what they have in common once. It is the caller's, before and afterwards.
	Top *Walker
}

// OpenTop returns a Walker of the top of the file system, which the caller closes.
func OpenTop() (*Walker, error) {
	fd, err := Retry(func() (int, error) { return unix.Open("/", dirFlags, 0) })
	return &Walker{Root: fd}, err
}

// Name is one name of a path.
type Name struct {
	// Text is without slashes, and neither "." nor "..".
	Text string
	// Linked says that a link in a directory of Options.Within brought the
	// name, and not the caller.
	Linked bool
}

// Base is where a directory lies, by the two paths by which a link may name it.
type Base struct {
	path, given string
	names       []string
}

// NewBase returns the Base of a directory: path is relative to the top of the
// file system and without links, given is absolute and as the user wrote it.
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

// Names returns the names of Path, from the top of the file system. Don't
// change them.
func (b *Base) Names() []string { return b.names }

// Relative cuts the directory's own path off an absolute one. If that doesn't
// start with it, up is the number of names by which the top of the file system
// lies above the directory.
func (b *Base) Relative(absolute string) (rest string, up int) {
	for _, prefix := range []string{b.path, b.given} {
		prefix = strings.TrimSuffix(prefix, "/")
		if rest, ok := strings.CutPrefix(absolute, prefix); ok && (rest == "" || rest[0] == '/') {
			return rest, 0
		}
	}
	return absolute, len(b.names)
}

// Outside goes one name further from a place that lies up names above the
// directory: up again, or down along the directory's own path, which has no
// links. It returns -1 for any other name, without looking where that leads.
func (b *Base) Outside(up int, name string) int {
	switch {
	case name == "..":
		return min(up+1, len(b.names))
	case name == b.names[len(b.names)-up]:
		return up - 1
	}
	return -1
}

// Absolute makes an absolute path of one that is relative to the top of the
// file system.
func Absolute(path string) string {
	if path == "." {
		return "/"
	}
	return "/" + path
}

// Resolution is where an absolute path leads. It goes from the top of the file
// system name by name and follows links by reading them, so that in the end
// there is a path without links.
//
// A link belongs to whoever can write where it lies. Outside of all directories
// of Options.Within that is the user, whose links lead wherever they lead.
// Inside of one it is whoever fills that directory: from there on the path
// stays in it, and names that links brought are judged.
type Resolution struct {
	walker   *Walker
	own      bool // the walker is the Resolution's
	judge    func(within Base, names []Name) error
	guarded  []guardedDir
	passed   []string
	missing  []string
	closed   string
	linkDir  string
	linkName string

	at     string      // the directory reached: without links, relative to the top
	names  []Name      // of at
	rest   []component // the names still to go, the next one last
	bounds []bound     // the guarded directories that at lies in, the outermost first
	held   *bound      // the one that the path can't leave any more
	link   string      // the last link in a guarded directory
	up     int         // by how many names the path is above held, on its way back

	looked, links int // counted against maxNames and MaxLinks
}

// component is a name still to go.
type component struct {
	Name
	last bool // of the path as it was given
}

// guardedDir is a directory of Options.Within. It is kept open, so that no
// other directory can get its identity.
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

// Resolve finds out where an absolute path leads. What is there at the end is
// for the caller to find out. The caller closes the Resolution, also after an
// error; then it only knows what it has Passed, what was Closed, and what is
// Missing.
//
// # Errors
//
// A *LinkError when a link leads where the policy doesn't let it; otherwise a
// syscall.Errno.
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

// unreachable reports whether an error says that nothing is reached through a
// directory. Others, such as a lack of descriptors, say nothing about it.
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

// Path is where the path leads: without links, relative to the top of the file
// system.
func (r *Resolution) Path() string { return r.at }

// LastLink is where the last name of the path as it was given was met, when that
// is a link; else ok is false.
func (r *Resolution) LastLink() (dir, name string, ok bool) {
	return r.linkDir, r.linkName, r.linkName != ""
}

// Passed are the absolute paths that decided where the path leads: of each link
// that was followed, and of the name at which it ended; when that was too early,
// also of the end, going by the names that were left. Only their own last names
// may be links.
func (r *Resolution) Passed() []string { return r.passed }

// Closed is the absolute path of the directory that this user may not look into,
// when that is why Resolve failed; else it is empty. With EACCES it is somebody
// else's link then, in a directory in which everybody may create files.
func (r *Resolution) Closed() string { return r.closed }

// Missing are the names that aren't there: what Resolve has failed with ENOENT
// for, and those that were left behind it. Path is the directory in which the
// first of them could be made, to have what the path names. There are none when
// a directory vanished meanwhile, or when ".." would lead back out of what isn't
// there.
func (r *Resolution) Missing() []string { return r.missing }

// Stat describes what is at a path without links, relative to the top.
func (r *Resolution) Stat(path string, st *unix.Stat_t) syscall.Errno {
	_, errno := r.walker.Stat(path, st)
	return errno
}

// Open opens a file or a directory for reading, by a path without links, relative
// to the top. The descriptor is the caller's.
func (r *Resolution) Open(path string) (int, syscall.Errno) {
	fd, _, errno := r.walker.Open(path)
	return fd, errno
}

// OpenDir opens a directory by a path without links, relative to the top. The
// descriptor is the caller's.
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

// resolve goes to where an absolute path leads. A link that is put in place of a
// directory meanwhile makes it begin again.
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

// prepend puts the names of a path before those still to go.
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
				return errno // from a file no path leads up
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

// step goes one name further, or to where it leads.
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

// readlink reads a link; EINVAL says that the path is something else. Most names
// are directories, which are opened on the way anyhow.
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

// trusted refuses a link that somebody else has put into a directory in which
// everybody may, such as /tmp. The system does so where fs.protected_symlinks is
// set, but only for who has it follow links.
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

// notThere remembers which names would have to be made.
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

// passEnd adds where the end would be if none of the names still to go were a
// link.
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
		return nil // a file; if there are names to go, the next one fails
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

// judged asks the policy about names of which a link in a guarded directory
// brought at least one. What the caller wrote himself he meant.
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
