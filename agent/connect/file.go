package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"waymark/internal/atomicfile"
)

// maxFile is the largest configuration file that is read, in bytes. With heavy use, Claude
// Code's has a few megabytes.
const maxFile = 16 << 20

// file is a configuration file as it was read.
type file struct {
	path string      // as named
	real string      // with links resolved
	info fs.FileInfo // nil if there is no file
	data []byte
}

func read(path string) (*file, error) {
	f := &file{path: path, real: path}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is a link that leads nowhere: make the file that it names, or remove it", path)
		}
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.real = target
	in, err := os.OpenFile(target, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	if f.info, err = in.Stat(); err != nil {
		return nil, err
	}
	if !f.info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s isn't a regular file", path)
	}
	if f.data, err = io.ReadAll(io.LimitReader(in, maxFile+1)); err != nil {
		return nil, err
	}
	if len(f.data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d MiB, which no configuration has", path, maxFile>>20)
	}
	return f, nil
}

// errChanged says that another process writes the file.
var errChanged = errors.New("it was changed by another program in this moment; nothing was written: try again")

// unchanged checks that the file is still what was read.
func (f *file) unchanged() error {
	now, err := read(f.path)
	switch {
	case err != nil:
		return err
	case (now.info == nil) != (f.info == nil), now.real != f.real, !bytes.Equal(now.data, f.data),
		f.info != nil && !os.SameFile(f.info, now.info):
		return fmt.Errorf("%s: %w", f.path, errChanged)
	}
	return nil
}

// makeDirs creates the missing directories of a file, and returns them, outermost first.
func (f *file) makeDirs() (made []string, err error) {
	var missing []string
	for dir := filepath.Dir(f.real); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append([]string{dir}, missing...)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range missing {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		}
		made = append(made, dir)
	}
	return made, nil
}

// write replaces the file that was read.
func (f *file) write(data []byte) (err error) {
	dir := filepath.Dir(f.real)
	temp, err := os.CreateTemp(dir, ".waymark-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if temp != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	mode := fs.FileMode(0o600) // these files may hold tokens later
	if f.info != nil {
		if err := chown(temp, f.info); err != nil {
			return fmt.Errorf("%s belongs to another user or group, and would not any more: %w", f.path, err)
		}
		mode = f.info.Mode().Perm()
	}
	if err := temp.Chmod(mode); err != nil {
		return err
	}
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if f.info == nil {
		// Never overwrite a file that another process creates now.
		err = os.Link(temp.Name(), f.real)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w", f.path, errChanged)
		}
		if err == nil {
			return atomicfile.SyncDir(dir)
		}
	}
	if err := os.Rename(temp.Name(), f.real); err != nil {
		return err
	}
	temp = nil
	return atomicfile.SyncDir(dir)
}

// chown gives a new file the owner and group of the old one.
func chown(temp *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := temp.Stat()
	if err != nil {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return temp.Chown(int(was.Uid), int(was.Gid))
}

// remove deletes a file that was created for the entry, and the directories created for it
// if they are empty.
func (f *file) remove(dirs []string) error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.real); err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if os.Remove(dirs[i]) != nil {
			break // not empty
		}
	}
	return nil //nolint:nilerr // directories with something in them stay
}
