//go:build wasip1

package guest

import (
	"io/fs"
	"syscall"
)

// rootFS is the root that the host mounted at "/", through the system calls of WASI preview
// 1. Package os would do the same, but costs 10 ms of load time.
type rootFS struct{}

var (
	_ fs.ReadDirFS  = rootFS{}
	_ fs.ReadFileFS = rootFS{}
	_ fs.StatFS     = rootFS{}
	_ fs.ReadLinkFS = rootFS{}
	_ HeadFS        = rootFS{}
)

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// absolute returns the name under which the host knows a file.
func absolute(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", pathError(op, name, fs.ErrInvalid)
	}
	if name == "." {
		return "/", nil
	}
	return "/" + name, nil
}

// rootFD is the descriptor of the root: the first after the standard streams, because a host
// mounts nothing else.
const rootFD = 3

// open opens a file below the root's descriptor. syscall.Open would split the path and join
// it again, which for a head costs as much as reading it.
func open(name string, flags int) (fd int, err error) {
	if !fs.ValidPath(name) {
		return -1, pathError("open", name, fs.ErrInvalid)
	}
	fd, err = syscall.Openat(rootFD, name, syscall.O_RDONLY|flags, 0)
	if err != nil {
		return -1, pathError("open", name, err)
	}
	return fd, nil
}

// Open implements fs.FS.
func (rootFS) Open(name string) (fs.File, error) {
	fd, err := open(name, 0)
	if err != nil {
		return nil, err
	}
	return &file{fd: fd, name: name}, nil
}

// ReadHead implements HeadFS.
func (rootFS) ReadHead(name string, n int) ([]byte, error) {
	return rootHead(name, make([]byte, n))
}

// isRoot is cheaper than a type assertion to an interface, which Go looks up in a table.
func isRoot(fsys fs.FS) bool {
	_, ok := fsys.(rootFS)
	return ok
}

func rootHead(name string, buf []byte) ([]byte, error) {
	fd, err := open(name, 0)
	if err != nil {
		return nil, err
	}
	got, err := readFull(fd, name, buf)
	_ = syscall.Close(fd) // nothing was written that could be lost
	if err != nil {
		return nil, err
	}
	return buf[:got], nil
}

// readFull reads until buf is full or the file ends.
func readFull(fd int, name string, buf []byte) (n int, err error) {
	for n < len(buf) {
		got, err := syscall.Read(fd, buf[n:])
		if err != nil {
			return n, pathError("read", name, err)
		}
		if got == 0 {
			break
		}
		n += got
	}
	return n, nil
}

// ReadFile implements fs.ReadFileFS.
func (rootFS) ReadFile(name string) ([]byte, error) {
	fd, err := open(name, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	const firstRead = 16 << 10 // most context files fit
	buf := make([]byte, 0, firstRead)
	for {
		n, err := readFull(fd, name, buf[len(buf):cap(buf)])
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
		if len(buf) < cap(buf) {
			return buf, nil
		}
		buf = append(buf, 0)[:len(buf)]
	}
}

// Stat implements fs.StatFS.
func (rootFS) Stat(name string) (fs.FileInfo, error) {
	return stat("stat", name, syscall.Stat)
}

// Lstat implements fs.ReadLinkFS.
func (rootFS) Lstat(name string) (fs.FileInfo, error) {
	return stat("lstat", name, syscall.Lstat)
}

func stat(op, name string, call func(string, *syscall.Stat_t) error) (fs.FileInfo, error) {
	abs, err := absolute(op, name)
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if err := call(abs, &st); err != nil {
		return nil, pathError(op, name, err)
	}
	return newInfo(name, &st), nil
}

// ReadLink implements fs.ReadLinkFS.
func (rootFS) ReadLink(name string) (string, error) {
	abs, err := absolute("readlink", name)
	if err != nil {
		return "", err
	}
	const linkMax = 4096 // PATH_MAX: no link text is longer
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := syscall.Readlink(abs, buf)
		if err != nil && err != syscall.ERANGE { // what some hosts return for a short buffer
			return "", pathError("readlink", name, err)
		}
		if err == nil && n < size {
			return string(buf[:n]), nil
		}
		if size > linkMax {
			return "", pathError("readlink", name, syscall.ENAMETOOLONG)
		}
	}
}
