package sandbox

import (
	"errors"
	"io"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"waymark/host/vfs"
)

// readOnlyFile answers what no file of a mount can do. Methods that read are
// the embedding type's own; unlike an interface, this type can't grow methods
// by itself.
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

// position is int64 under a name that keeps go vet from taking Seek for a
// misspelled io.Seeker.
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
func (f *file) Close() esys.Errno         { return closeErrno(f.file.Close()) }
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

// dir is an open directory. The root's stays open across the binding of a
// run, so it opens what is bound when it is first used.
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
	return closeErrno(d.open.Close())
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

// Seek rewinds, which is all that directories can do.
func (d *dir) Seek(offset position, whence int) (position, esys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, esys.EINVAL
	}
	d.pos, d.listed, d.entries = 0, false, nil
	return 0, 0
}

// Readdir returns exactly n entries unless fewer are left, all of them when n
// is not positive.
func (d *dir) Readdir(n int) ([]esys.Dirent, esys.Errno) {
	if !d.listed {
		if no := d.list(); no != 0 {
			return nil, no
		}
	} else if _, no := d.Stat(); no != 0 { // tells the run that it is used
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

func closeErrno(err error) esys.Errno {
	if err != nil {
		return errno(err)
	}
	return 0
}
