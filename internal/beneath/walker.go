package beneath

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keptDirs is how many directory descriptors a Walker keeps: enough for the path to a
// directory and its siblings, few enough that hundreds of concurrent walkers don't use up the
// process's descriptors.
const keptDirs = 16

// openFlags open what is to be read. O_NONBLOCK: a FIFO must not block.
const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY

// Walker opens paths below a directory name by name, and never through a link: when it meets
// one, the errno satisfies MaybeLink. It keeps some of the directories on the way open, so
// that the next path need not begin at the top. Paths are clean and relative; they may be
// longer than the system's limit. If a method fails, at is the path at which it did.
//
// A Walker isn't safe for concurrent use. Call Forget when it is done.
type Walker struct {
	// Root is the descriptor of the directory. The caller owns it and keeps it open while the
	// Walker is used.
	Root int

	dirs    [keptDirs]keptDir
	clock   uint64
	dirents []byte // buffer for directory entries
}

type keptDir struct {
	path string // "" if the slot is free
	fd   int
	used uint64
	// listable says that the descriptor can list it, and listed that it has done so.
	listable, listed bool
}

// listFlags open a directory that is listed.
const listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Dir returns a descriptor of a directory. It belongs to the Walker, and is valid until the
// next call of any method.
func (w *Walker) Dir(path string) (fd int, at string, errno syscall.Errno) {
	if path == "." {
		return w.Root, "", 0
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
		fd, errno = openAt(fd, path[start:end], dirFlags)
		if errno != 0 {
			return -1, path[:end], errno
		}
		w.keep(path[:end], fd)
		done = end
	}
	return fd, "", 0
}

// deepest finds the deepest kept directory on the path.
func (w *Walker) deepest(path string) (fd, length int) {
	best := -1
	for i := range w.dirs {
		d := &w.dirs[i]
		if len(d.path) > length && strings.HasPrefix(path, d.path) &&
			(len(d.path) == len(path) || path[len(d.path)] == '/') {
			best, length = i, len(d.path)
		}
	}
	if best < 0 {
		return w.Root, 0
	}
	w.clock++
	w.dirs[best].used = w.clock
	return w.dirs[best].fd, length
}

// keep puts a descriptor into the least recently used slot.
func (w *Walker) keep(path string, fd int) *keptDir {
	oldest := &w.dirs[0]
	for i := range w.dirs {
		if w.dirs[i].used < oldest.used {
			oldest = &w.dirs[i]
		}
	}
	if oldest.path != "" {
		_ = unix.Close(oldest.fd)
	}
	w.clock++
	*oldest = keptDir{path: path, fd: fd, used: w.clock}
	return oldest
}

// KeepDir takes ownership of the descriptor of a directory that Open has opened, so that it
// need not be opened again to list or traverse it.
func (w *Walker) KeepDir(path string, fd int) {
	if path == "." || w.Keeps(path) {
		_ = unix.Close(fd)
		return
	}
	w.keep(path, fd).listable = true
}

// Keeps reports whether a directory is kept open.
func (w *Walker) Keeps(dir string) bool { return w.kept(dir) != nil }

// kept returns the slot of a directory; nil if it isn't kept open.
func (w *Walker) kept(dir string) *keptDir {
	for i := range w.dirs {
		if w.dirs[i].path == dir {
			return &w.dirs[i]
		}
	}
	return nil
}

// Forget closes all directories that are kept open. The Walker may be used again.
func (w *Walker) Forget() {
	for i := range w.dirs {
		if w.dirs[i].path != "" {
			_ = unix.Close(w.dirs[i].fd)
		}
	}
	w.dirs = [keptDirs]keptDir{}
}

// Close closes these, and the Root of a Walker that OpenTop has made.
func (w *Walker) Close() {
	w.Forget()
	_ = unix.Close(w.Root)
}

// Open opens a file or a directory for reading; the caller closes it. It opens special files,
// too; use fstat to tell.
func (w *Walker) Open(path string) (fd int, at string, errno syscall.Errno) {
	dir, name := ".", "."
	if path != "." {
		dir, name = Split(path)
	}
	if fd, ok := w.openNext(dir, path); ok {
		return fd, path, 0
	}
	fd, at, errno = w.Dir(dir)
	if errno != 0 {
		return -1, at, errno
	}
	fd, errno = openAt(fd, name, openFlags)
	return fd, path, errno
}

// openNext opens an entry of a directory that isn't open while its parent is. Often just one
// file is read in each of many subdirectories.
func (w *Walker) openNext(dir, path string) (fd int, ok bool) {
	if dir == "." {
		return -1, false
	}
	fd, done := w.deepest(dir)
	rest := strings.TrimPrefix(path[done:], "/")
	if done == len(dir) || strings.Count(rest, "/") != 1 {
		return -1, false
	}
	fd, errno := openBelow(fd, rest, openFlags)
	return fd, errno == 0
}

// Stat describes what is at a path, without following its last name.
func (w *Walker) Stat(path string, st *unix.Stat_t) (at string, errno syscall.Errno) {
	dir, name := ".", "."
	if path != "." {
		dir, name = Split(path)
	}
	fd, at, errno := w.Dir(dir)
	if errno != 0 {
		return at, errno
	}
	return path, StatAt(fd, name, st)
}

// Readlink reads a link; EINVAL says that the path is something else.
func (w *Walker) Readlink(path string) (target, at string, errno syscall.Errno) {
	dir, name := Split(path)
	fd, at, errno := w.Dir(dir)
	if errno != 0 {
		return "", at, errno
	}
	buf := make([]byte, 256)
	for {
		n, err := Retry(func() (int, error) { return unix.Readlinkat(fd, name, buf) })
		if err != nil {
			return "", path, ErrnoOf(err)
		}
		if n < len(buf) {
			return string(buf[:n]), path, 0
		}
		buf = make([]byte, 4*len(buf))
	}
}

// List calls visit with every entry of a directory but "." and "..", in the order of the file
// system, until visit returns false. A name is valid only during the call; visit must not use
// the Walker. before and after receive the directory's fstat before and after the listing. If
// they are equal, the listing is complete and consistent.
func (w *Walker) List(path string, before, after *unix.Stat_t, visit func(name []byte, typ fs.FileMode) bool) (at string, errno syscall.Errno) {
	dir, done, at, errno := w.toList(path)
	if errno != 0 {
		return at, errno
	}
	defer done()
	if err := unix.Fstat(dir, before); err != nil {
		return path, ErrnoOf(err)
	}
	*after = *before
	if errno = w.entries(dir, visit); errno == 0 {
		errno = ErrnoOf(unix.Fstat(dir, after))
	}
	return path, errno
}

// toList opens a directory at its beginning. The descriptor is valid until done is called, as
// long as the Walker isn't used.
func (w *Walker) toList(path string) (fd int, done func(), at string, errno syscall.Errno) {
	kept := w.kept(path)
	if kept != nil && kept.listable {
		if kept.listed {
			if _, err := unix.Seek(kept.fd, 0, io.SeekStart); err != nil {
				return -1, nil, path, ErrnoOf(err)
			}
		}
		kept.listed = true
		w.clock++
		kept.used = w.clock
		return kept.fd, func() {}, path, 0
	}
	if path == "." { // a new descriptor, because the caller owns the root's
		fd, errno = openAt(w.Root, ".", listFlags&^unix.O_NOFOLLOW)
		return fd, func() { _ = unix.Close(fd) }, path, errno
	}
	// By its name, even if it is kept for traversal: opening "." in it would need the
	// permission to search it, and the result must not depend on what is kept.
	dir, name := Split(path)
	if fd, at, errno = w.Dir(dir); errno != 0 {
		return -1, nil, at, errno
	}
	if fd, errno = openAt(fd, name, listFlags); errno != 0 {
		return -1, nil, path, errno
	}
	if kept = w.kept(path); kept != nil {
		_ = unix.Close(kept.fd)
		kept.fd = fd
	} else {
		kept = w.keep(path, fd)
	}
	kept.listable, kept.listed = true, true
	return fd, func() {}, path, 0
}

func (w *Walker) entries(dir int, visit func(name []byte, typ fs.FileMode) bool) syscall.Errno {
	if w.dirents == nil {
		w.dirents = make([]byte, 16<<10)
	}
	for {
		n, err := Retry(func() (int, error) { return unix.ReadDirent(dir, w.dirents) })
		if err != nil {
			return ErrnoOf(err)
		}
		if n <= 0 || !parseDirents(dir, w.dirents[:n], visit) {
			return 0
		}
	}
}

// parseDirents iterates over the records of one getdents call. unix.ParseDirent would drop
// the types, and each entry would need another call to get its own.
func parseDirents(dir int, buf []byte, visit func(name []byte, typ fs.FileMode) bool) bool {
	const (
		offLen  = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
		offType = int(unsafe.Offsetof(unix.Dirent{}.Type))
		offName = int(unsafe.Offsetof(unix.Dirent{}.Name))
	)
	for len(buf) >= offName {
		length := int(binary.NativeEndian.Uint16(buf[offLen:]))
		if length < offName || length > len(buf) {
			return true // impossible; the rest of the buffer is then meaningless
		}
		record := buf[:length]
		buf = buf[length:]
		name := record[offName:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if binary.NativeEndian.Uint64(record) == 0 || string(name) == "." || string(name) == ".." || len(name) == 0 {
			continue // inode 0: a deleted entry
		}
		if !visit(name, direntType(dir, name, record[offType])) {
			return false
		}
	}
	return true
}

// direntType returns the type bits of an entry. A dirent's type is that of the file's mode,
// shifted by twelve bits.
func direntType(dir int, name []byte, typ byte) fs.FileMode {
	if t := typeOfMode(uint32(typ) << 12); t != fs.ModeIrregular {
		return t
	}
	// Some file systems don't provide the type.
	var st unix.Stat_t
	if StatAt(dir, string(name), &st) != 0 {
		return fs.ModeIrregular
	}
	return TypeOf(&st)
}

// TypeOf returns the type bits of a file: 0 for a regular one.
func TypeOf(st *unix.Stat_t) fs.FileMode {
	return typeOfMode(uint32(st.Mode)) //nolint:unconvert // it has 16 bits on darwin
}

func typeOfMode(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// MaybeLink reports whether an errno says that a Walker may have met a link: a link, or a
// file where a directory is needed.
func MaybeLink(errno syscall.Errno) bool {
	return errno == unix.ELOOP || errno == unix.ENOTDIR || errno == unix.EMLINK
}

func openAt(dir int, name string, flags int) (int, syscall.Errno) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err == nil {
			return fd, 0
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, ErrnoOf(err)
		}
	}
}

// StatAt describes an entry of an open directory, without following it. A name with slashes
// in it trusts the directories on the way.
func StatAt(dir int, name string, st *unix.Stat_t) syscall.Errno {
	for {
		err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return ErrnoOf(err)
		}
	}
}

// Retry repeats a call that a signal interrupted, as happens on some network and FUSE file
// systems.
func Retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// ErrnoOf returns the errno in an error: 0 for nil, and EIO if there is none.
func ErrnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EIO
}

// MaxPath is Linux's PATH_MAX: a longer path can't be opened in one call anywhere else
// either.
const MaxPath = 4096

// Join appends a name, or several, to a clean relative path.
func Join(dir, name string) string {
	switch {
	case dir == ".":
		return name
	case name == ".":
		return dir
	}
	return dir + "/" + name
}

// Split cuts a clean relative path other than "." into its directory and its last name.
func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ".", path
	}
	return path[:i], path[i+1:]
}
