package host_test

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"

	"waymark/host/vfs"
)

// nativeFS shows a vfs.Run to a native resolver as the SDK's root shows it to
// a sandboxed one: the same interfaces, errors in the same words.
type nativeFS struct{ run *vfs.Run }

var (
	_ fs.ReadDirFS  = nativeFS{}
	_ fs.StatFS     = nativeFS{}
	_ fs.ReadLinkFS = nativeFS{}
)

// wasiError is an errno with WASI's text.
type wasiError struct{ syscall.Errno }

func (e wasiError) Unwrap() error { return e.Errno }

func (e wasiError) Error() string {
	switch e.Errno {
	case syscall.EACCES:
		return "Permission denied"
	case syscall.EIO:
		return "I/O error"
	case syscall.ELOOP:
		return "Too many symbolic links"
	case syscall.ENOTDIR:
		return "Not a directory"
	}
	return e.Errno.Error()
}

func pathError(op, name string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = wasiError{errno}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (n nativeFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("open", name, fs.ErrInvalid)
	}
	f, err := n.run.Open(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return nativeFile{f, name}, nil
}

func (n nativeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := n.run.Open(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if !f.IsDir() {
		return nil, pathError("open", name, syscall.ENOTDIR)
	}
	entries, err := f.ReadDir()
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	var list []fs.DirEntry
	for _, e := range entries {
		list = append(list, fs.FileInfoToDirEntry(nativeInfo{e.Name, vfs.Info{Type: e.Type}}))
	}
	return list, nil
}

func (n nativeFS) Stat(name string) (fs.FileInfo, error)  { return n.info("stat", name, n.run.Stat) }
func (n nativeFS) Lstat(name string) (fs.FileInfo, error) { return n.info("lstat", name, n.run.Lstat) }

func (n nativeFS) info(op, name string, verb func(string) (vfs.Info, error)) (fs.FileInfo, error) {
	info, err := verb(name)
	if err != nil {
		return nil, pathError(op, name, err)
	}
	return nativeInfo{path.Base(name), info}, nil
}

func (n nativeFS) ReadLink(name string) (string, error) {
	target, err := n.run.Readlink(name)
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return target, nil
}

type nativeFile struct {
	file *vfs.File
	name string
}

func (f nativeFile) Stat() (fs.FileInfo, error) {
	info, err := f.file.Stat()
	return nativeInfo{path.Base(f.name), info}, err
}

func (f nativeFile) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = pathError("read", f.name, err)
	}
	return n, err
}

func (f nativeFile) Close() error { return f.file.Close() }

type nativeInfo struct {
	name string
	info vfs.Info
}

func (i nativeInfo) Name() string       { return i.name }
func (i nativeInfo) Size() int64        { return i.info.Size }
func (i nativeInfo) Mode() fs.FileMode  { return i.info.Type }
func (i nativeInfo) ModTime() time.Time { return time.Time{} }
func (i nativeInfo) IsDir() bool        { return i.info.IsDir() }
func (i nativeInfo) Sys() any           { return nil }
