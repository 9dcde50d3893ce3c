//go:build wasip1

package guest

import (
	"io/fs"
	"path"
	"syscall"
	"time"
)

type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func newInfo(name string, st *syscall.Stat_t) *fileInfo {
	mode := typeMode(st.Filetype) | 0o444
	if mode.IsDir() {
		mode |= 0o111
	}
	return &fileInfo{path.Base(name), int64(st.Size), mode}
}

func (i *fileInfo) Name() string      { return i.name }
func (i *fileInfo) Size() int64       { return i.size }
func (i *fileInfo) Mode() fs.FileMode { return i.mode }
func (i *fileInfo) IsDir() bool       { return i.mode.IsDir() }
func (i *fileInfo) Sys() any          { return nil }

// ModTime is always the zero time: a result that depended on it would not be a function of
// what was read.
func (i *fileInfo) ModTime() time.Time { return time.Time{} }

// typeMode converts WASI's file type to Go's. Types without an equivalent in WASI, such as a
// FIFO, are irregular.
func typeMode(t syscall.Filetype) fs.FileMode {
	switch t {
	case syscall.FILETYPE_DIRECTORY:
		return fs.ModeDir
	case syscall.FILETYPE_REGULAR_FILE:
		return 0
	case syscall.FILETYPE_SYMBOLIC_LINK:
		return fs.ModeSymlink
	case syscall.FILETYPE_SOCKET_DGRAM, syscall.FILETYPE_SOCKET_STREAM:
		return fs.ModeSocket
	case syscall.FILETYPE_BLOCK_DEVICE:
		return fs.ModeDevice
	case syscall.FILETYPE_CHARACTER_DEVICE:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}
