package sources

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func replace(path string, data []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !missing(err) { // left by one that was killed
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir brings a rename to the disk. Not every file system can; then the
// rename is as durable as that file system makes it.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
