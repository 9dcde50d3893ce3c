package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"waymark/host/vfs"
)

// mount is the file system of one instance, as WASI sees it. Before a run is bound it is an
// empty directory: wazero opens the preopen while the guest initializes, long before the root
// is known, and keeps that file for the instance's life.
//
// Every method of sys.FS is written out, and anything but reading fails with EROFS. A method
// that a later wazero adds then fails to compile instead of going unnoticed.
//
// Work for the guest is charged, and every operation checks the deadline, because the guest's
// own meter doesn't advance while the host works.
type mount struct {
	in    *instance
	run   atomic.Pointer[vfs.Run]
	early int // opens before a run was bound
	// preopened says that wazero has opened the preopen; imaged that it did so only in the
	// instance that the image is of.
	preopened, imaged bool
	// kept says that wazero's table of descriptors may have changed in a way that closing
	// what was opened doesn't undo.
	kept bool
	root *dir // the preopen, once it was opened without a run
	open int  // what a run has opened and not closed
}

var _ esys.FS = (*mount)(nil)

// bind shows a run's root, and charges for matching paths.
func (m *mount) bind(run *vfs.Run) {
	run.OnWork(func(units int64) { m.in.gov.charge(units * fuelPerWork) })
	m.run.Store(run)
}

func (m *mount) unbind() {
	if run := m.run.Swap(nil); run != nil {
		run.OnWork(nil)
	}
}

// OpenFile implements sys.FS. Flags that would write fail with EROFS.
func (m *mount) OpenFile(path string, flag esys.Oflag, perm fs.FileMode) (esys.File, esys.Errno) {
	if flag&(esys.O_RDWR|esys.O_WRONLY|esys.O_APPEND|esys.O_CREAT|esys.O_EXCL|esys.O_TRUNC) != 0 {
		return nil, esys.EROFS
	}
	preopen := path == "." && perm == preopenPerm
	if preopen && m.imaged {
		m.imaged = false
		m.root = &dir{mount: m, name: path}
		return m.root, 0 // already charged at that time
	}
	m.in.gov.charge(fuelPerOpen)
	run := m.run.Load()
	if run == nil {
		m.preopened = m.preopened || preopen
		m.kept = m.kept || !preopen && path == "." // a descriptor of the guest's
		return m.openPlaceholder(path)
	}
	if flag&esys.O_NOFOLLOW != 0 {
		if info, err := run.Lstat(path); err == nil && info.Type&fs.ModeSymlink != 0 {
			return nil, esys.ELOOP
		}
	}
	f, err := run.Open(path)
	if err != nil {
		return nil, errno(err)
	}
	switch {
	case f.IsDir():
		m.open++
		return &dir{mount: m, open: f, name: path}, 0
	case flag&esys.O_DIRECTORY != 0:
		_ = f.Close()
		return nil, esys.ENOTDIR
	}
	m.open++
	return &file{mount: m, file: f}, 0
}

// fit reports whether the descriptors are those of an instance before its run, apart from what
// the preopen has read.
func (m *mount) fit() bool { return !m.kept && m.open == 0 }

// rearm makes the preopen as new.
func (m *mount) rearm() {
	if m.root != nil {
		*m.root = dir{mount: m, name: m.root.name}
	}
}

// openPlaceholder opens the root before a run is bound: once for the preopen, and as often as
// a guest asks for it while it initializes.
func (m *mount) openPlaceholder(path string) (esys.File, esys.Errno) {
	if path != "." {
		return nil, esys.ENOENT
	}
	if m.early++; m.early > maxEarlyOpens {
		m.in.gov.stop(&RunError{Kind: ErrLimit, Detail: "it opens the root again and again before there is one"})
	}
	return &dir{mount: m, name: path}, 0
}

// preopenPerm is the permission with which wazero itself opens a preopen on first use. A
// guest's path_open has others.
const preopenPerm fs.FileMode = 0

// maxEarlyOpens is more than any runtime needs to initialize.
const maxEarlyOpens = 100

// Stat implements sys.FS and follows links.
func (m *mount) Stat(path string) (sys.Stat_t, esys.Errno) {
	return m.stat(path, (*vfs.Run).Stat)
}

// Lstat implements sys.FS and does not follow the last link.
func (m *mount) Lstat(path string) (sys.Stat_t, esys.Errno) {
	return m.stat(path, (*vfs.Run).Lstat)
}

func (m *mount) stat(path string, verb func(*vfs.Run, string) (vfs.Info, error)) (sys.Stat_t, esys.Errno) {
	run := m.run.Load()
	if run == nil {
		if path == "." {
			return placeholderStat, 0
		}
		return sys.Stat_t{}, esys.ENOENT
	}
	m.in.gov.charge(fuelPerLook)
	info, err := verb(run, path)
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return statT(info), 0
}

// Readlink implements sys.FS.
func (m *mount) Readlink(path string) (string, esys.Errno) {
	run := m.run.Load()
	if run == nil {
		return "", esys.ENOENT
	}
	m.in.gov.charge(fuelPerLook)
	target, err := run.Readlink(path)
	if err != nil {
		return "", errno(err)
	}
	return target, 0
}

// Mkdir implements sys.FS.
func (m *mount) Mkdir(string, fs.FileMode) esys.Errno { return esys.EROFS }

// Chmod implements sys.FS.
func (m *mount) Chmod(string, fs.FileMode) esys.Errno { return esys.EROFS }

// Rename implements sys.FS.
func (m *mount) Rename(string, string) esys.Errno { return esys.EROFS }

// Rmdir implements sys.FS.
func (m *mount) Rmdir(string) esys.Errno { return esys.EROFS }

// Unlink implements sys.FS.
func (m *mount) Unlink(string) esys.Errno { return esys.EROFS }

// Link implements sys.FS.
func (m *mount) Link(string, string) esys.Errno { return esys.EROFS }

// Symlink implements sys.FS.
func (m *mount) Symlink(string, string) esys.Errno { return esys.EROFS }

// Utimens implements sys.FS.
func (m *mount) Utimens(string, int64, int64) esys.Errno { return esys.EROFS }

// limitPanic ends a run from inside a file system call, because a guest must not continue
// after a limit.
type limitPanic struct{ err error }

func (p *limitPanic) Error() string { return p.err.Error() }
func (p *limitPanic) Unwrap() error { return p.err }

// errno maps an error of host/vfs to what the guest sees.
func errno(err error) esys.Errno {
	if errors.Is(err, vfs.ErrLimit) {
		panic(&limitPanic{err})
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return esys.EIO
	}
	switch no {
	case syscall.EACCES:
		return esys.EACCES
	case syscall.EBADF:
		return esys.EBADF
	case syscall.EINVAL:
		return esys.EINVAL
	case syscall.EISDIR:
		return esys.EISDIR
	case syscall.ELOOP:
		return esys.ELOOP
	case syscall.ENAMETOOLONG:
		return esys.ENAMETOOLONG
	case syscall.ENOENT:
		return esys.ENOENT
	case syscall.ENOTDIR:
		return esys.ENOTDIR
	case syscall.EPERM:
		return esys.EPERM
	case syscall.EROFS:
		return esys.EROFS
	}
	return esys.EIO
}

// statT returns type, size and the derived inode number of a file, and nothing that differs
// between two machines with the same files.
func statT(info vfs.Info) sys.Stat_t {
	perm := fs.FileMode(0o444)
	if info.IsDir() {
		perm = 0o555
	}
	return sys.Stat_t{Ino: info.Ino, Mode: info.Type | perm, Nlink: 1, Size: info.Size}
}

// placeholderStat describes the root before a run is bound.
var placeholderStat = statT(vfs.Info{Type: fs.ModeDir, Ino: 1})

// readOnlyFile implements what no file of a mount can do. The embedding type has the methods
// that read. Unlike an embedded interface, this type gains no methods by itself.
type readOnlyFile struct{}

func (readOnlyFile) Dev() (uint64, esys.Errno)              { return 0, 0 }
func (readOnlyFile) IsAppend() bool                         { return false }
func (readOnlyFile) SetAppend(bool) esys.Errno              { return esys.EROFS }
func (readOnlyFile) Write([]byte) (int, esys.Errno)         { return 0, esys.EROFS }
func (readOnlyFile) Pwrite([]byte, int64) (int, esys.Errno) { return 0, esys.EROFS }
func (readOnlyFile) Truncate(int64) esys.Errno              { return esys.EROFS }
func (readOnlyFile) Sync() esys.Errno                       { return 0 }
func (readOnlyFile) Datasync() esys.Errno                   { return 0 }
func (readOnlyFile) Utimens(int64, int64) esys.Errno        { return esys.EROFS }

// position is int64 under a name that keeps go vet from taking Seek for a misspelled
// io.Seeker.
type position = int64

// file is an open regular file.
type file struct {
	readOnlyFile
	mount *mount
	file  *vfs.File
	pos   int64
}

var _ esys.File = (*file)(nil)

func (f *file) IsDir() (bool, esys.Errno) { return false, 0 }
func (f *file) Close() esys.Errno         { return f.mount.close(f.file) }
func (f *file) Readdir(int) ([]esys.Dirent, esys.Errno) {
	return nil, esys.ENOTDIR
}

func (f *file) Ino() (sys.Inode, esys.Errno) {
	st, no := f.Stat()
	return st.Ino, no
}

func (f *file) Stat() (sys.Stat_t, esys.Errno) {
	info, err := f.file.Stat()
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return statT(info), 0
}

func (f *file) Read(buf []byte) (int, esys.Errno) {
	n, no := f.Pread(buf, f.pos)
	f.pos += int64(n)
	return n, no
}

func (f *file) Pread(buf []byte, off int64) (int, esys.Errno) {
	if off < 0 {
		return 0, esys.EINVAL
	}
	n, err := f.file.ReadAt(buf, off)
	f.mount.in.gov.charge(int64(n) * fuelPerByte)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, errno(err)
	}
	return n, 0
}

func (f *file) Seek(offset position, whence int) (position, esys.Errno) {
	base := int64(0)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base = f.pos
	case io.SeekEnd:
		info, err := f.file.Stat()
		if err != nil {
			return 0, errno(err)
		}
		base = info.Size
	default:
		return 0, esys.EINVAL
	}
	if base+offset < 0 {
		return 0, esys.EINVAL
	}
	f.pos = base + offset
	return f.pos, 0
}

// dir is an open directory. The root's stays open while a run is bound, so it opens the bound
// root on first use.
type dir struct {
	readOnlyFile
	mount   *mount
	open    *vfs.File // nil for the root until it is used with a run bound
	name    string
	entries []esys.Dirent
	listed  bool
	pos     int
}

var _ esys.File = (*dir)(nil)

func (d *dir) IsDir() (bool, esys.Errno)             { return true, 0 }
func (d *dir) Read([]byte) (int, esys.Errno)         { return 0, esys.EISDIR }
func (d *dir) Pread([]byte, int64) (int, esys.Errno) { return 0, esys.EISDIR }

// bound returns the open directory, or nil while no run is bound.
func (d *dir) bound() (*vfs.File, esys.Errno) {
	if d.open != nil {
		return d.open, 0
	}
	run := d.mount.run.Load()
	if run == nil {
		return nil, 0
	}
	f, err := run.Open(d.name)
	if err != nil {
		return nil, errno(err)
	}
	d.open = f
	return f, 0
}

func (d *dir) Close() esys.Errno {
	if d.open == nil {
		return 0
	}
	return d.mount.close(d.open)
}

func (d *dir) Ino() (sys.Inode, esys.Errno) {
	st, no := d.Stat()
	return st.Ino, no
}

func (d *dir) Stat() (sys.Stat_t, esys.Errno) {
	f, no := d.bound()
	if f == nil {
		return placeholderStat, no
	}
	info, err := f.Stat()
	if err != nil {
		return sys.Stat_t{}, errno(err)
	}
	return statT(info), 0
}

// Seek only rewinds; directories can't do more.
func (d *dir) Seek(offset position, whence int) (position, esys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, esys.EINVAL
	}
	d.pos, d.listed, d.entries = 0, false, nil
	return 0, 0
}

// Readdir returns exactly n entries unless fewer are left, all of them if n is not positive.
func (d *dir) Readdir(n int) ([]esys.Dirent, esys.Errno) {
	if !d.listed {
		if no := d.list(); no != 0 {
			return nil, no
		}
	} else if _, no := d.Stat(); no != 0 { // so that the run records the use of the file
		return nil, no
	}
	rest := d.entries[d.pos:]
	if n > 0 && n < len(rest) {
		rest = rest[:n]
	}
	d.pos += len(rest)
	return rest, 0
}

func (d *dir) list() esys.Errno {
	f, no := d.bound()
	if f == nil { // an empty placeholder, not to be remembered
		return no
	}
	list, err := f.ReadDir()
	if err != nil {
		return errno(err)
	}
	d.mount.in.gov.charge(int64(len(list)) * fuelPerEntry)
	d.entries = make([]esys.Dirent, len(list))
	for i, e := range list {
		d.entries[i] = esys.Dirent{Ino: e.Ino, Name: e.Name, Type: e.Type}
	}
	d.listed = true
	return 0
}

// close closes what OpenFile has opened. wazero keeps the descriptor if that fails.
func (m *mount) close(f *vfs.File) esys.Errno {
	if err := f.Close(); err != nil {
		return errno(err)
	}
	m.open--
	return 0
}
