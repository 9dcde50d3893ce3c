package extism

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"waymark/host/vfs"
)

// mount shows WASI the root of a run: abi/ABI.md, "Files". Until there is one it
// is an empty directory, which is what wazero opens as the preopen.
type mount struct{ in *instance }

var _ esys.FS = (*mount)(nil)

// OpenFile implements sys.FS.
func (m *mount) OpenFile(path string, flag esys.Oflag, _ fs.FileMode) (esys.File, esys.Errno) {
	if flag&(esys.O_RDWR|esys.O_WRONLY|esys.O_APPEND|esys.O_CREAT|esys.O_EXCL|esys.O_TRUNC) != 0 {
		return nil, esys.EROFS
	}
	run := m.in.run
	if run == nil {
		if path != "." {
			return nil, esys.ENOENT
		}
		return &file{in: m.in, name: path}, 0
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
	if flag&esys.O_DIRECTORY != 0 && !f.IsDir() {
		_ = f.Close()
		return nil, esys.ENOTDIR
	}
	return &file{in: m.in, open: f, name: path}, 0
}

// Stat implements sys.FS.
func (m *mount) Stat(path string) (sys.Stat_t, esys.Errno) {
	return m.stat(path, (*vfs.Run).Stat)
}

// Lstat implements sys.FS.
func (m *mount) Lstat(path string) (sys.Stat_t, esys.Errno) {
	return m.stat(path, (*vfs.Run).Lstat)
}

func (m *mount) stat(path string, verb func(*vfs.Run, string) (vfs.Info, error)) (sys.Stat_t, esys.Errno) {
	switch run := m.in.run; {
	case run != nil:
		info, err := verb(run, path)
		return statT(info), errno(err)
	case path == ".":
		return placeholder, 0
	}
	return sys.Stat_t{}, esys.ENOENT
}

// Readlink implements sys.FS.
func (m *mount) Readlink(path string) (string, esys.Errno) {
	if m.in.run == nil {
		return "", esys.ENOENT
	}
	target, err := m.in.run.Readlink(path)
	return target, errno(err)
}

// Mkdir implements sys.FS.
func (*mount) Mkdir(string, fs.FileMode) esys.Errno { return esys.EROFS }

// Chmod implements sys.FS.
func (*mount) Chmod(string, fs.FileMode) esys.Errno { return esys.EROFS }

// Rename implements sys.FS.
func (*mount) Rename(string, string) esys.Errno { return esys.EROFS }

// Rmdir implements sys.FS.
func (*mount) Rmdir(string) esys.Errno { return esys.EROFS }

// Unlink implements sys.FS.
func (*mount) Unlink(string) esys.Errno { return esys.EROFS }

// Link implements sys.FS.
func (*mount) Link(string, string) esys.Errno { return esys.EROFS }

// Symlink implements sys.FS.
func (*mount) Symlink(string, string) esys.Errno { return esys.EROFS }

// Utimens implements sys.FS.
func (*mount) Utimens(string, int64, int64) esys.Errno { return esys.EROFS }

// errno maps an error of host/vfs to what WASI knows; nil to 0. Going over a
// limit ends the run.
func errno(err error) esys.Errno {
	if err == nil {
		return 0
	}
	if errors.Is(err, vfs.ErrLimit) {
		panic(err)
	}
	no := syscall.EIO
	errors.As(err, &no)
	if known, ok := errnos[no]; ok {
		return known
	}
	return esys.EIO
}

var errnos = map[syscall.Errno]esys.Errno{
	syscall.EACCES: esys.EACCES, syscall.EBADF: esys.EBADF, syscall.EINVAL: esys.EINVAL, syscall.EISDIR: esys.EISDIR,
	syscall.ELOOP: esys.ELOOP, syscall.ENAMETOOLONG: esys.ENAMETOOLONG, syscall.ENOENT: esys.ENOENT,
	syscall.ENOTDIR: esys.ENOTDIR, syscall.EPERM: esys.EPERM, syscall.EROFS: esys.EROFS,
}

func statT(info vfs.Info) sys.Stat_t {
	perm := fs.FileMode(0o444)
	if info.IsDir() {
		perm = 0o555
	}
	return sys.Stat_t{Ino: info.Ino, Mode: info.Type | perm, Nlink: 1, Size: info.Size}
}

// placeholder is the root before there is one.
var placeholder = statT(vfs.Info{Type: fs.ModeDir, Ino: 1})

// position is int64 under a name that keeps go vet from taking Seek for a
// misspelled io.Seeker.
type position = int64

// file is an open file or directory. What it can't do, the embedded type
// refuses.
type file struct {
	esys.UnimplementedFile
	in   *instance
	open *vfs.File // nil for the preopen until it is used with a root
	name string
	pos  int64

	entries []esys.Dirent
	listed  bool
}

// bound returns what is open; nil for the placeholder.
func (f *file) bound() (*vfs.File, esys.Errno) {
	if f.open != nil || f.in.run == nil {
		return f.open, 0
	}
	open, err := f.in.run.Open(f.name)
	if err != nil {
		return nil, errno(err)
	}
	f.open = open
	return open, 0
}

func (f *file) IsDir() (bool, esys.Errno) { return f.open == nil || f.open.IsDir(), 0 }

func (f *file) Ino() (sys.Inode, esys.Errno) {
	st, no := f.Stat()
	return st.Ino, no
}

func (f *file) Stat() (sys.Stat_t, esys.Errno) {
	open, no := f.bound()
	if open == nil {
		return placeholder, no
	}
	info, err := open.Stat()
	return statT(info), errno(err)
}

func (f *file) Close() esys.Errno {
	if f.open == nil {
		return 0
	}
	return errno(f.open.Close())
}

func (f *file) Read(buf []byte) (int, esys.Errno) {
	n, no := f.Pread(buf, f.pos)
	f.pos += int64(n)
	return n, no
}

func (f *file) Pread(buf []byte, off int64) (int, esys.Errno) {
	if dir, _ := f.IsDir(); dir {
		return 0, esys.EISDIR
	}
	if off < 0 {
		return 0, esys.EINVAL
	}
	n, err := f.open.ReadAt(buf, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, errno(err)
	}
	return n, 0
}

// Seek moves in a file. A directory can only be rewound.
func (f *file) Seek(offset position, whence int) (position, esys.Errno) {
	if dir, _ := f.IsDir(); dir {
		if offset != 0 || whence != io.SeekStart {
			return 0, esys.EINVAL
		}
		f.pos, f.listed, f.entries = 0, false, nil
		return 0, 0
	}
	base := int64(0)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base = f.pos
	case io.SeekEnd:
		st, no := f.Stat()
		if no != 0 {
			return 0, no
		}
		base = st.Size
	default:
		return 0, esys.EINVAL
	}
	if base+offset < 0 {
		return 0, esys.EINVAL
	}
	f.pos = base + offset
	return f.pos, 0
}

// Readdir returns the next n entries, all of them when n is not positive.
func (f *file) Readdir(n int) ([]esys.Dirent, esys.Errno) {
	if dir, _ := f.IsDir(); !dir {
		return nil, esys.ENOTDIR
	}
	open, no := f.bound()
	if open == nil { // an empty placeholder, not to be remembered
		return nil, no
	}
	if !f.listed {
		list, err := open.ReadDir()
		if err != nil {
			return nil, errno(err)
		}
		for _, e := range list {
			f.entries = append(f.entries, esys.Dirent{Ino: e.Ino, Name: e.Name, Type: e.Type})
		}
		f.listed = true
	} else if _, err := open.Stat(); err != nil { // tells the run that it is used
		return nil, errno(err)
	}
	rest := f.entries[f.pos:]
	if n > 0 && n < len(rest) {
		rest = rest[:n]
	}
	f.pos += int64(len(rest))
	return rest, 0
}

// What changes a file is refused the way a read-only file system does it.

func (f *file) SetAppend(bool) esys.Errno              { return esys.EROFS }
func (f *file) Write([]byte) (int, esys.Errno)         { return 0, esys.EROFS }
func (f *file) Pwrite([]byte, int64) (int, esys.Errno) { return 0, esys.EROFS }
func (f *file) Truncate(int64) esys.Errno              { return esys.EROFS }
func (f *file) Utimens(int64, int64) esys.Errno        { return esys.EROFS }
func (f *file) Sync() esys.Errno                       { return 0 }
func (f *file) Datasync() esys.Errno                   { return 0 }
