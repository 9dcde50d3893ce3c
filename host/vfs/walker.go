package vfs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keptDirs is how many directory descriptors a walker keeps: enough for the
// way down to a skill and its siblings, few enough that hundreds of runs at
// once don't use up the process's descriptors.
const keptDirs = 16

// openFlags open what is to be read. O_NONBLOCK: a FIFO must not block.
const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY

// walker goes down link-free paths, name by name, and never through a link:
// where it meets one the errno is ELOOP or ENOTDIR. It isn't safe for
// concurrent use; it belongs to a Run or a Check.
type walker struct {
	root int // borrowed from the Root
	dirs [keptDirs]keptDir
	tick uint64

	dirents []byte          // what a directory is read into
	steady  map[string]bool // see Run.steady
}

type keptDir struct {
	path string // "" when the slot is free
	fd   int
	used uint64
}

// dir returns a descriptor of a directory, valid until the next call. When it
// fails, at is the path it couldn't open.
func (w *walker) dir(path string) (fd int, at string, errno syscall.Errno) {
	if path == "." {
		return w.root, "", 0
	}
	fd, done := w.deepest(path)
	for done < len(path) {
		start := done
		if start > 0 {
			start++ // the slash
		}
		end := len(path)
		if i := strings.IndexByte(path[start:], '/'); i >= 0 {
			end = start + i
		}
		fd, errno = openat(fd, path[start:end], dirFlags)
		if errno != 0 {
			return -1, path[:end], errno
		}
		w.keep(path[:end], fd)
		done = end
	}
	return fd, "", 0
}

// deepest finds the kept directory that path goes through last.
func (w *walker) deepest(path string) (fd, length int) {
	best := -1
	for i := range w.dirs {
		d := &w.dirs[i]
		if len(d.path) > length && strings.HasPrefix(path, d.path) &&
			(len(d.path) == len(path) || path[len(d.path)] == '/') {
			best, length = i, len(d.path)
		}
	}
	if best < 0 {
		return w.root, 0
	}
	w.tick++
	w.dirs[best].used = w.tick
	return w.dirs[best].fd, length
}

// keep puts a descriptor into the slot that was used least recently.
func (w *walker) keep(path string, fd int) {
	oldest := &w.dirs[0]
	for i := range w.dirs {
		if w.dirs[i].used < oldest.used {
			oldest = &w.dirs[i]
		}
	}
	if oldest.path != "" {
		_ = unix.Close(oldest.fd)
	}
	w.tick++
	*oldest = keptDir{path: path, fd: fd, used: w.tick}
}

// forget closes all kept directories.
func (w *walker) forget() {
	for i := range w.dirs {
		if w.dirs[i].path != "" {
			_ = unix.Close(w.dirs[i].fd)
		}
	}
	w.dirs = [keptDirs]keptDir{}
}

// open opens a file or a directory for reading; the caller closes it.
func (w *walker) open(path string) (fd int, at string, errno syscall.Errno) {
	dir, name := ".", "."
	if path != "." {
		dir, name = split(path)
	}
	fd, at, errno = w.dir(dir)
	if errno != 0 {
		return -1, at, errno
	}
	fd, errno = openat(fd, name, openFlags)
	return fd, path, errno
}

// stat looks at a path without following its last name.
func (w *walker) stat(path string, st *unix.Stat_t) (at string, errno syscall.Errno) {
	dir, name := ".", "."
	if path != "." {
		dir, name = split(path)
	}
	fd, at, errno := w.dir(dir)
	if errno != 0 {
		return at, errno
	}
	return path, statat(fd, name, st)
}

// statAgain is stat for a path whose identity is known: it saves opening the
// last directory. Were that one replaced by a link between its two calls, the
// second would look at another file, which has another identity.
func (w *walker) statAgain(path string, st *unix.Stat_t) syscall.Errno {
	dir, _ := split(path)
	if dir == "." || w.has(dir) {
		_, errno := w.stat(path, st)
		return errno
	}
	above, _ := split(dir)
	fd, _, errno := w.dir(above)
	if errno != 0 {
		return errno
	}
	start := 0
	if above != "." {
		start = len(above) + 1
	}
	if !w.steady[above] {
		if errno := statat(fd, path[start:len(dir)], st); errno != 0 {
			return errno
		}
		if typeOf(st) != fs.ModeDir {
			return unix.ENOTDIR
		}
	}
	return statat(fd, path[start:], st)
}

// has reports whether a directory is among those that are kept.
func (w *walker) has(dir string) bool {
	for i := range w.dirs {
		if w.dirs[i].path == dir {
			return true
		}
	}
	return false
}

// readlink reads a link; EINVAL says that the path is something else.
func (w *walker) readlink(path string) (target, at string, errno syscall.Errno) {
	dir, name := split(path)
	fd, at, errno := w.dir(dir)
	if errno != 0 {
		return "", at, errno
	}
	buf := make([]byte, 256)
	for {
		n, err := retry(func() (int, error) { return unix.Readlinkat(fd, name, buf) })
		if err != nil {
			return "", path, errnoOf(err)
		}
		if n < len(buf) {
			return string(buf[:n]), path, 0
		}
		buf = make([]byte, 4*len(buf))
	}
}

func openat(dir int, name string, flags int) (int, syscall.Errno) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err == nil {
			return fd, 0
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, errnoOf(err)
		}
	}
}

func statat(dir int, name string, st *unix.Stat_t) syscall.Errno {
	for {
		err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return errnoOf(err)
		}
	}
}

// retry repeats a call that a signal interrupted; some network and FUSE file
// systems let that happen.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EIO
}
