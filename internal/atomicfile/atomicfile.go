// Package atomicfile replaces files as a whole.
//
// # Guarantees
//
// Readers that open the path, even after a crash, find the old content or the new one, never
// a part. When WriteFile or Write returns without an error, the new content has reached the
// disk, and so has its name if the file system can do that. Replace doesn't wait for that.
// The file has the requested mode, whatever the umask. A link at the path is replaced, not
// followed.
//
// # Concurrency
//
// All functions may be called at any time, even for one path: the last one wins. Reading a
// file in order to change it needs a lock around both.
//
// # Limits
//
// A process that is killed in the middle leaves a file whose name begins with "." and the
// name of the file, in the same directory.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// WriteFile replaces the file at path with one that contains data. Its directory must exist.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write replaces the file at path with what write writes. If write fails, its error is
// returned and the file is unchanged.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	// Without a directory the library looks for one with trial files in $TMPDIR.
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(mode))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush()); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return SyncDir(dir)
}

// Replace is WriteFile for data about a running process, which is meaningless after a machine
// crash. It syncs nothing, which would take milliseconds to tens of them. After a power
// failure the file may be the old one, empty or damaged.
func Replace(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// SyncDir brings renames in a directory to the disk. If the file system can't do that, the
// rename is as durable as it makes it.
func SyncDir(path string) error {
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
