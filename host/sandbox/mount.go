package sandbox

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"waymark/host/vfs"
)

// mount is the file system of one instance, as WASI sees it. Before a run is
// bound it is an empty directory: wazero opens the preopen while the guest
// initializes, long before the root is known, and keeps that file for ever.
//
// Every method of sys.FS is written out: what isn't reading answers EROFS, and
// a method that a later wazero adds doesn't compile instead of slipping
// through.
//
// What it does for the guest is charged, and every verb looks at the deadline:
// while the host works, the guest's own meter stands still.
type mount struct {
	in    *instance
	run   atomic.Pointer[vfs.Run]
	early int // opens before a run was bound
}

var _ esys.FS = (*mount)(nil)

// bind shows a run's root, and charges for what looking for paths takes.
func (m *mount) bind(run *vfs.Run) {
	run.OnWork(func(units int64) { m.in.gov.charge(units * fuelPerWork) })
	m.run.Store(run)
}

func (m *mount) unbind() {
	if run := m.run.Swap(nil); run != nil {
		run.OnWork(nil)
	}
}

// OpenFile implements sys.FS. Flags that would write answer EROFS.
func (m *mount) OpenFile(path string, flag esys.Oflag, _ fs.FileMode) (esys.File, esys.Errno) {
	if flag&(esys.O_RDWR|esys.O_WRONLY|esys.O_APPEND|esys.O_CREAT|esys.O_EXCL|esys.O_TRUNC) != 0 {
		return nil, esys.EROFS
	}
	m.in.gov.charge(fuelPerOpen)
	run := m.run.Load()
	if run == nil {
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
		return &dir{mount: m, open: f, name: path}, 0
	case flag&esys.O_DIRECTORY != 0:
		_ = f.Close()
		return nil, esys.ENOTDIR
	}
	return &file{mount: m, file: f}, 0
}

// openPlaceholder opens the root before a run is bound: once for the preopen,
// and as often as a guest asks for it while it initializes.
func (m *mount) openPlaceholder(path string) (esys.File, esys.Errno) {
	if path != "." {
		return nil, esys.ENOENT
	}
	if m.early++; m.early > maxEarlyOpens {
		m.in.gov.stop(&RunError{Kind: ErrLimit, Detail: "it opens the root again and again before there is one"})
	}
	return &dir{mount: m, name: path}, 0
}

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

// limitPanic ends a run from inside a file system call: a limit is not an
// error that a guest could go on after.
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

// statT shows type, size and the made-up inode number of a file, and nothing
// that differs between two machines with the same files.
func statT(info vfs.Info) sys.Stat_t {
	perm := fs.FileMode(0o444)
	if info.IsDir() {
		perm = 0o555
	}
	return sys.Stat_t{Ino: info.Ino, Mode: info.Type | perm, Nlink: 1, Size: info.Size}
}

// placeholderStat is the root before a run is bound.
var placeholderStat = statT(vfs.Info{Type: fs.ModeDir, Ino: 1})
