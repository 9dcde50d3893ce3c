package sealedstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrUnsafe says that others could have written a directory, or a file in it.
var ErrUnsafe = errors.New("not private")

// OpenDir opens a directory that only this user can use, and creates it if it is missing. The
// caller closes it.
//
// # Errors
//
// ErrUnsafe if the directory is a link, belongs to another user or is open to others; the
// text says what to do.
func OpenDir(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	fd, err := openRetry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%s is %w: it is a link or no directory; remove it", path, ErrUnsafe)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	if err := checkDir(dir); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

func checkDir(dir *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	switch {
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s is %w: it belongs to user %d; remove it", dir.Name(), ErrUnsafe, st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%s is %w: its mode is %#o; remove it, or chmod 700 it after checking what it holds",
			dir.Name(), ErrUnsafe, st.Mode&0o7777)
	}
	return nil
}

// openFile opens a regular file of this user's own, closed to others. It doesn't follow a
// link, and doesn't wait for a FIFO.
func openFile(dir *os.File, name string) (*os.File, int64, error) {
	fd, err := openRetry(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, 0, fmt.Errorf("%w: a link", ErrUnsafe)
	}
	if err != nil {
		return nil, 0, err
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		switch {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			err = fmt.Errorf("%w: no regular file", ErrUnsafe)
		case int(st.Uid) != os.Geteuid():
			err = fmt.Errorf("%w: it belongs to user %d", ErrUnsafe, st.Uid)
		case st.Mode&0o077 != 0:
			err = fmt.Errorf("%w: its mode is %#o", ErrUnsafe, st.Mode&0o7777)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, st.Size, nil
}

// createTemp makes a new file with a unique name that begins with prefix.
func createTemp(dir *os.File, prefix string) (*os.File, string, error) {
	for range 100 {
		name := prefix + randomName()
		fd, err := openRetry(func() (int, error) {
			return unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		})
		if err == nil {
			return os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name)), name, nil
		}
		if !errors.Is(err, unix.EEXIST) {
			return nil, "", err
		}
	}
	return nil, "", unix.EEXIST
}

// remove deletes a name, whatever it is; a directory only if it is empty.
func remove(dir *os.File, name string) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// openRetry repeats a call that a signal has interrupted.
func openRetry(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
