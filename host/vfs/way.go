package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxWay bounds the names on the way to a root, with those of its links. The
// walker and the judge pay for each at every refresh.
const maxWay = 4096

// LinkError says that a root wasn't opened for where a link leads that lies in
// a directory of RootOptions.Within. It doesn't say where that is: who asks may
// not know. errors.Is knows ErrEscape and ErrHidden.
type LinkError struct {
	// Link is the link's absolute path, Within the directory that it lies in.
	Link, Within string
	// Reason is ReasonEscape, ReasonSecret, ReasonExcluded, or
	// ReasonNotInReads for a name that isn't UTF-8.
	Reason Reason
	// Secret is the entry of the secret list, for ReasonSecret.
	Secret Secret
}

func (e *LinkError) Error() string {
	link := fmt.Sprintf("the link %q", e.Link)
	switch e.Reason {
	case ReasonSecret:
		return fmt.Sprintf("%s leads over what is on the secret list (%s: %s): name the place itself to have it looked at",
			link, e.Secret.Pattern, e.Secret.What)
	case ReasonExcluded:
		return link + " leads over what a pattern of exclude matches: nothing there is looked at"
	case ReasonNotInReads:
		return link + " leads over a name that isn't UTF-8: rename that"
	}
	return fmt.Sprintf("%s leads out of %q, and links in there are followed inside of it only: name what it leads to", link, e.Within)
}

// Is reports whether target is the sentinel of the reason.
func (e *LinkError) Is(target error) bool {
	s := e.Reason.sentinel()
	return s != nil && s == target
}

// way goes from the top of the file system to where a root is. Links are
// followed by reading them, so that in the end there is a path without links,
// and the walker opens it by its names: what was judged is what is opened.
//
// A link belongs to who can write where it lies. Outside of all bounds that is
// the user, whose links lead wherever they lead. Inside of one it is whoever
// fills that directory: from there on the way stays in the bound, and names
// that links chose are judged.
type way struct {
	w       walker
	exclude *trie
	doors   []door // by which bounds are entered

	cur    string  // where it is: without links, relative to the top
	steps  []piece // the names of cur
	rest   []piece // the names to go, the next one last
	bounds []bound // that cur lies in, the outermost first
	held   *bound  // the one that can't be left any more
	link   string  // the last link in a bound
	up     int     // how many names above held it is, on the way back

	names, links int
	// dir and base are where the last name of the path was met, when that is a
	// link; else base is empty.
	dir, base string
	// passed are the links on the way, and the name at which it ended; when
	// that was early, also the place itself, going by the names that are left.
	passed []string
}

// piece is a name on the way.
type piece struct {
	name   string
	chosen bool // by a link in a bound, and not by the user
	last   bool // of the path as it was given
}

// door is a directory that is a bound. It is kept open, so that nothing else
// can get its identity.
type door struct {
	given string
	fd    int
	id    Identity
}

// bound is a door that the way has gone through.
type bound struct {
	root  *Root // knows its paths, and no more
	at    string
	depth int
}

// findWay goes to the place of a root. Each directory of within is gone to in
// the same way, bound by those before it; one that isn't there binds nothing,
// since nothing is reached through it. The caller closes the way, also after
// an error.
func findWay(path string, within []string, exclude *trie) (*way, error) {
	y := &way{exclude: exclude}
	var err error
	if y.w.root, err = retry(func() (int, error) { return unix.Open("/", dirFlags, 0) }); err != nil {
		return y, err
	}
	for _, dir := range within {
		if err := y.walk(dir); unreachable(err) {
			continue
		} else if err != nil {
			return y, err
		}
		if err := y.addDoor(dir); err != nil {
			return y, err
		}
	}
	return y, y.walk(path)
}

// unreachable reports whether an error says that nothing is reached through a
// directory. Others, such as a lack of descriptors, say nothing about it.
func unreachable(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && (errno == syscall.ENOENT || errno == syscall.EACCES || isLink(errno)) || errors.As(err, new(*LinkError))
}

func (y *way) close() {
	for _, d := range y.doors {
		_ = unix.Close(d.fd)
	}
	y.w.forget()
	_ = unix.Close(y.w.root)
}

// addDoor makes a bound of where the way has ended.
func (y *way) addDoor(given string) error {
	fd, errno := y.openDir(y.cur)
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
	y.doors = append(y.doors, door{given: given, fd: fd, id: identityOf(&st)})
	return nil
}

// openDir returns a descriptor of its own for a directory on the way.
func (y *way) openDir(dir string) (int, syscall.Errno) {
	fd, _, errno := y.w.dir(dir)
	if errno != 0 {
		return -1, errno
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return own, errnoOf(err)
}

// walk goes to where an absolute path leads. What is there at the end is for
// the caller to find out. A link that is put in place of a directory meanwhile
// makes it begin again.
func (y *way) walk(path string) (err error) {
	for range maxSwaps {
		y.cur, y.steps, y.rest, y.bounds, y.held, y.link, y.up = ".", nil, nil, nil, nil, "", 0
		y.names, y.links, y.dir, y.base, y.passed = 0, 0, "", "", nil
		y.ahead(path, false)
		if len(y.rest) > 0 {
			y.rest[0].last = true
		}
		err = y.along()
		if errno, ok := errors.AsType[syscall.Errno](err); !ok || !isLink(errno) {
			return err
		}
		y.w.forget()
	}
	return err
}

// ahead puts the names of a text before those to go.
func (y *way) ahead(text string, chosen bool) {
	for _, name := range slices.Backward(strings.Split(text, "/")) {
		if name != "" && name != "." {
			y.rest = append(y.rest, piece{name: name, chosen: chosen})
		}
	}
}

func (y *way) along() error {
	if err := y.enter(); err != nil {
		return err
	}
	for len(y.rest) > 0 {
		p := y.rest[len(y.rest)-1]
		y.rest = y.rest[:len(y.rest)-1]
		if y.names++; y.names+len(y.rest) > maxWay {
			return syscall.ENAMETOOLONG
		}
		switch {
		case y.up > 0 || p.name == ".." && y.held != nil && y.cur == y.held.at:
			if y.up = y.held.root.outside(y.up, p.name); y.up < 0 {
				return y.refuse(ReasonEscape, "")
			}
		case p.name == "..":
			if _, _, errno := y.w.dir(y.cur); errno != 0 {
				return errno // from a file there is no way up
			}
			y.back(max(len(y.steps)-1, 0))
		default:
			if err := y.step(p); err != nil {
				return err
			}
		}
	}
	if y.up > 0 {
		return y.refuse(ReasonEscape, "")
	}
	return nil
}

// step goes one name further, or to where it leads.
func (y *way) step(p piece) error {
	next := join(y.cur, p.name)
	if len(next) >= maxPath {
		return syscall.ENAMETOOLONG
	}
	if err := y.judge(append(y.steps, p)); err != nil {
		return err
	}
	target, at, errno := y.look(next)
	switch {
	case errno == syscall.EINVAL: // it is no link
		y.cur, y.steps = next, append(y.steps, p)
		if len(y.rest) == 0 {
			y.passed = append(y.passed, next)
		}
		return y.enter()
	case errno != 0:
		y.passed = append(y.passed, at)
		y.await(next)
		return errno
	}
	y.passed = append(y.passed, next)
	if y.links++; y.links > maxLinks {
		return syscall.ELOOP
	}
	if err := y.trusted(next); err != nil {
		return err
	}
	if p.last {
		y.dir, y.base = y.cur, p.name
	}
	if len(y.bounds) > 0 {
		held := y.bounds[len(y.bounds)-1]
		y.held, y.link = &held, next
	}
	if strings.HasPrefix(target, "/") {
		if y.held == nil {
			y.back(0)
		} else {
			y.back(y.held.depth)
			target, y.up = y.held.root.inRoot(target)
		}
		if err := y.enter(); err != nil {
			return err
		}
	}
	y.ahead(target, y.held != nil)
	return nil
}

// look reads a link; EINVAL says that the path is something else. Most names are
// directories, which are opened on the way anyhow.
func (y *way) look(path string) (target, at string, errno syscall.Errno) {
	_, at, errno = y.w.dir(path)
	switch {
	case errno == 0:
		return "", path, syscall.EINVAL
	case at != path || !isLink(errno):
		return "", at, errno
	}
	return y.w.readlink(path)
}

// trusted refuses a link that somebody else has put into a directory in which
// everybody may, such as /tmp. The system does so where fs.protected_symlinks is
// set, but only for who has it follow links.
func (y *way) trusted(path string) error {
	var dir, link unix.Stat_t
	parent, _ := split(path)
	if _, errno := y.w.stat(parent, &dir); errno != 0 {
		return errno
	}
	const shared = unix.S_ISVTX | unix.S_IWOTH
	if dir.Mode&shared != shared {
		return nil
	}
	if _, errno := y.w.stat(path, &link); errno != 0 {
		return errno
	}
	if link.Uid != dir.Uid && int64(link.Uid) != int64(os.Geteuid()) {
		return syscall.EACCES
	}
	return nil
}

// await notes where the place would be if all names from here on were no links.
func (y *way) await(path string) {
	for _, p := range slices.Backward(y.rest) {
		if p.name == ".." {
			return
		}
		path = join(path, p.name)
	}
	if path != y.passed[len(y.passed)-1] {
		y.passed = append(y.passed, path)
	}
}

// back goes up to a depth.
func (y *way) back(depth int) {
	y.steps = y.steps[:depth]
	y.cur = "."
	for _, s := range y.steps {
		y.cur = join(y.cur, s.name)
	}
	y.bounds = slices.DeleteFunc(y.bounds, func(b bound) bool { return b.depth > depth })
}

// enter finds out whether the directory where the way is is a bound.
func (y *way) enter() error {
	if len(y.doors) == 0 || len(y.bounds) > 0 && y.bounds[len(y.bounds)-1].at == y.cur {
		return nil
	}
	fd, _, errno := y.w.dir(y.cur)
	if errno == unix.ENOTDIR {
		return nil // a file; if there are names to go, the next one fails
	}
	var st unix.Stat_t
	if errno == 0 {
		errno = errnoOf(unix.Fstat(fd, &st))
	}
	if errno != 0 {
		return errno
	}
	id := identityOf(&st)
	for _, d := range y.doors {
		if d.id.sameFile(id) {
			root := &Root{dir: absolute(y.cur), given: d.given, names: namesOf(y.cur), exclude: y.exclude, mcp: noPatterns}
			y.bounds = append(y.bounds, bound{root: root, at: y.cur, depth: len(y.steps)})
			return nil
		}
	}
	return nil
}

// judge refuses what links chose and is protected: by a pattern that ends at a
// name that a link chose, or that wouldn't match without one. What the user
// wrote himself he meant.
func (y *way) judge(steps []piece) error {
	for _, b := range y.bounds {
		var whole, users []string
		for _, s := range steps[b.depth:] {
			whole = append(whole, s.name)
			if s.chosen {
				s.name = anyName
			}
			users = append(users, s.name)
		}
		if !slices.Contains(users, anyName) {
			continue
		}
		path := strings.Join(whole, "/")
		if !utf8.ValidString(path) {
			return y.refuse(ReasonNotInReads, path)
		}
		reason := protectedIn(b.root, path)
		if reason == ReasonNone {
			continue
		}
		if steps[len(steps)-1].chosen || protectedIn(b.root, strings.Join(users, "/")) == ReasonNone {
			return y.refuse(reason, path)
		}
	}
	return nil
}

// anyName stands for a name that a link chose where only the user's count. No
// pattern of the secret list matches it, nor does a file have such a name.
const anyName = "\x01"

// everything sees all that anybody may see.
var everything = sync.OnceValue(func() *Filter {
	f, _ := View{Reads: []string{"**"}, MCPOnly: true}.Compile() // can't fail
	return f
})

// protectedIn says why nobody may read what is at a path of a bound.
func protectedIn(root *Root, path string) Reason {
	if r := root.Judge(everything(), path).Reason; r == ReasonSecret || r == ReasonExcluded {
		return r
	}
	return ReasonNone
}

// refuse makes the error for the last link; path is where it leads, in the
// bound.
func (y *way) refuse(reason Reason, path string) error {
	e := &LinkError{Link: absolute(y.link), Within: y.held.root.dir, Reason: reason}
	if reason == ReasonSecret {
		e.Secret, _ = y.held.root.SecretEntry(path)
	}
	return e
}

// find says what a root at the end of the way is: a directory, or one file in
// a directory. A file that is a link lies where the link lies, and where that
// leads is for runs to judge.
func (y *way) find() (dir, file string, err error) {
	var st unix.Stat_t
	if _, errno := y.w.stat(y.cur, &st); errno != 0 {
		return "", "", errno
	}
	switch typ := typeOf(&st); {
	case typ == fs.ModeDir:
		return y.cur, "", nil
	case typ != 0:
		return "", "", ErrNotRegular
	case y.base != "":
		return y.dir, y.base, nil
	}
	dir, file = split(y.cur)
	return dir, file, nil
}

// absolute is a path of the way from the top.
func absolute(path string) string {
	if path == "." {
		return "/"
	}
	return "/" + path
}

func namesOf(path string) []string {
	if path == "." {
		return nil
	}
	return strings.Split(path, "/")
}
