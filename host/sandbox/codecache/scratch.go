package codecache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"

	"waymark/host/sealed"
)

const (
	scratchPrefix = ".code-"
	// staleAfter is after how long a scratch directory was left behind by a
	// process that was killed: loading takes less than a second, compiling at
	// most minutes.
	staleAfter = time.Hour
	// nativeMax bounds how many files wazero may leave for one module: it is
	// one, with room.
	nativeMax = 8
)

var nativeFile = regexp.MustCompile(`^[0-9a-f]{64}$`)

// scratch is a private directory that wazero takes for its cache, for as long
// as one module is loaded.
type scratch struct {
	dir    *os.File // open as long as the directory exists
	name   string   // where it was made
	path   string   // how to get at it, whatever became of its parents
	native string   // wazero's directory in it
	cache  wazero.CompilationCache
	remove sync.Once
}

// newScratch makes one in the first of several places that has room.
func newScratch(places []string, room int64) (*scratch, error) {
	var errs []error
	for _, place := range places {
		s, err := newScratchIn(place, room)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no place to load native code from: %w", errors.Join(errs...))
}

func newScratchIn(place string, room int64) (*scratch, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(place, &fs); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: place, Err: err}
	}
	if free := float64(fs.Bavail) * float64(fs.Bsize); free < float64(room) {
		return nil, fmt.Errorf("%s has %.0f MiB left, %d MiB are needed", place, free/(1<<20), room>>20+1)
	}
	name, err := os.MkdirTemp(place, scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{name: name, path: name}
	if s.dir, err = sealed.OpenDir(name); err == nil {
		s.path = throughDescriptor(s.dir)
		s.cache, s.native, err = wazeroCache(s.path)
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// discard removes the directory. Code that was loaded from it stays.
func (s *scratch) discard() {
	s.remove.Do(func() {
		_ = os.RemoveAll(s.name) // what stays is swept later
		if s.dir != nil {
			_ = s.dir.Close()
		}
	})
}

// createNative makes a file for wazero to find.
func (s *scratch) createNative(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(s.path, s.native, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// open opens a file that is to have been written here.
func (s *scratch) open(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(filepath.Join(s.path, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (s *scratch) read(name string, limit int64) ([]byte, error) {
	f, size, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are expected", name, size, limit)
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, err
}

// native is a file that wazero has written.
type native struct {
	name string
	size int64
}

func (s *scratch) natives() ([]native, error) {
	entries, err := os.ReadDir(filepath.Join(s.path, s.native))
	if err != nil {
		return nil, err
	}
	var list []native
	for _, e := range entries {
		if info, err := e.Info(); err == nil && nativeFile.MatchString(e.Name()) {
			list = append(list, native{e.Name(), info.Size()})
		}
	}
	if len(list) == 0 || len(list) > nativeMax {
		return nil, fmt.Errorf("wazero wrote %d files of native code", len(list))
	}
	return list, nil
}
