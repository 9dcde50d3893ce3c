package vfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listing is a directory as a view sees it.
type listing struct {
	entries []Entry
	unshown int // names not UTF-8
	id      Identity
	young   bool // also when it changed while it was listed
	failed  failure
}

// list lists an opened directory and records it.
func (r *Run) list(l *look) *listing {
	list := &listing{}
	now := r.root.now()
	var at string
	var after Identity
	list.id, after, at, list.failed.errno = r.w.list(l.path, func(name []byte, typ fs.FileMode) bool {
		if !r.chargeEntries(1) {
			return false
		}
		r.admit(list, l, name, typ)
		return r.over == nil
	})
	list.young = list.id != after || list.id.young(now)
	if r.over != nil {
		return list
	}
	d := Dep{Kind: DepListed, Path: l.path, Errno: list.failed.errno}
	if l.asked != l.path {
		d.As = l.asked
	}
	switch errno := list.failed.errno; {
	case errno == 0:
		slices.SortFunc(list.entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		d.Hash = list.hash()
		d.Unshown, d.ID, d.Young = list.unshown, list.id, list.young
		r.sawDir(l.path)
	case isLink(errno), !lasting(errno):
		// It was a directory when it was opened.
		d.Unstable = true
		list.failed.at = at
	}
	r.dep(d)
	return list
}

// admit adds an entry if it is visible.
func (r *Run) admit(list *listing, l *look, name []byte, typ fs.FileMode) {
	if !utf8.Valid(name) {
		list.unshown++
		return
	}
	n := string(name)
	asked := join(l.asked, n)
	r.leaf = r.filter.step(r.root, &r.stepper, r.dirScope(l.asked), r.leaf, n)
	s := r.root.sees(r.filter, asked, r.leaf)
	if r.stepped(); r.over != nil {
		return
	}
	if !s.file && (!s.dir || typ != fs.ModeDir && typ != fs.ModeSymlink) {
		return
	}
	path := asked
	if l.path != l.asked {
		path = join(l.path, n)
		r.leaf = r.filter.stepGuard(r.root, &r.stepper, r.dirScope(l.path), r.leaf, n)
		if r.stepped(); r.protected(r.leaf) != ReasonNone {
			return
		}
	}
	list.entries = append(list.entries, Entry{Name: n, Type: typ, Ino: inoOf(path)})
}

// hash covers what a guest can tell of a listing, and how many names were not
// shown, since that is reported.
func (l *listing) hash() []byte {
	h := sha256.New()
	var buf []byte
	buf = binary.AppendUvarint(buf, uint64(l.unshown)) //nolint:gosec // a count
	for _, e := range l.entries {
		buf = binary.AppendUvarint(buf, uint64(len(e.Name)))
		buf = append(buf, e.Name...)
		buf = binary.BigEndian.AppendUint32(buf, uint32(e.Type))
		if len(buf) > 4096 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return h.Sum(nil)
}

// list gives every entry of a directory but "." and "..", in the order of the
// file system, until visit returns false; and the directory's identity before
// and after.
func (w *walker) list(path string, visit func(name []byte, typ fs.FileMode) bool) (before, after Identity, at string, errno syscall.Errno) {
	fd, at, errno := w.dir(path)
	if errno != 0 {
		return before, after, at, errno
	}
	// A descriptor of its own, since reading a directory moves its offset.
	dir, errno := openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if errno != 0 {
		return before, after, path, errno
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return before, after, path, errnoOf(err)
	}
	before = identityOf(&st)
	if errno = w.entries(dir, visit); errno == 0 {
		errno = errnoOf(unix.Fstat(dir, &st))
	}
	return before, identityOf(&st), path, errno
}

func (w *walker) entries(dir int, visit func(name []byte, typ fs.FileMode) bool) syscall.Errno {
	if w.dirents == nil {
		w.dirents = make([]byte, 16<<10)
	}
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(dir, w.dirents) })
		if err != nil {
			return errnoOf(err)
		}
		if n <= 0 || !parseDirents(dir, w.dirents[:n], visit) {
			return 0
		}
	}
}

// parseDirents walks over the records of one getdents call. unix.ParseDirent
// would drop the types, for which one more call per entry would be due.
func parseDirents(dir int, buf []byte, visit func(name []byte, typ fs.FileMode) bool) bool {
	const (
		offLen  = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
		offType = int(unsafe.Offsetof(unix.Dirent{}.Type))
		offName = int(unsafe.Offsetof(unix.Dirent{}.Name))
	)
	for len(buf) >= offName {
		length := int(binary.NativeEndian.Uint16(buf[offLen:]))
		if length < offName || length > len(buf) {
			return true // can't be; the rest of the buffer means nothing then
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

func direntType(dir int, name []byte, typ byte) fs.FileMode {
	switch typ {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.DT_BLK:
		return fs.ModeDevice
	}
	// Some file systems don't say.
	var st unix.Stat_t
	if statat(dir, string(name), &st) != 0 {
		return fs.ModeIrregular
	}
	return typeOf(&st)
}
