//go:build wasip1

package guest

import (
	"io"
	"io/fs"
	"syscall"
)

// file is an open file or directory.
type file struct {
	fd   int
	name string
	// entries is the rest of a listing; listed says that it was read.
	entries []fs.DirEntry
	listed  bool
}

var _ fs.ReadDirFile = (*file)(nil)

func (f *file) Stat() (fs.FileInfo, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(f.fd, &st); err != nil {
		return nil, pathError("stat", f.name, err)
	}
	return newInfo(f.name, &st), nil
}

func (f *file) Read(buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	n, err := syscall.Read(f.fd, buf)
	if err != nil {
		return 0, pathError("read", f.name, err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	if f.fd < 0 {
		return pathError("close", f.name, fs.ErrClosed)
	}
	err := syscall.Close(f.fd)
	f.fd = -1
	if err != nil {
		return pathError("close", f.name, err)
	}
	return nil
}
