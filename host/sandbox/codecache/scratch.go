package codecache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"

	"waymark/internal/sealedstore"
)

const (
	scratchPrefix = ".code-"
	// staleAfter is after how long a scratch directory was left behind by a
	// process that was killed: loading takes less than a second, compiling at
	// most minutes.
	staleAfter = time.Hour
)

// memoryDir is for when the system's directory for temporary files is full or
// read-only.
const memoryDir = "/dev/shm"

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

// scratchDirs lists where scratch directories may be made, best first.
func (c *Cache) scratchDirs() []string {
	switch {
	case c.opts.TempDir != "":
		return []string{c.opts.TempDir}
	case c.store != nil:
		return []string{c.opts.KeyDir}
	case runtime.GOOS == "linux":
		return []string{os.TempDir(), memoryDir}
	}
	return []string{os.TempDir()}
}

// newScratch makes one in the first of several directories that has room.
func newScratch(dirs []string, room int64) (*scratch, error) {
	var errs []error
	for _, dir := range dirs {
		s, err := newScratchIn(dir, room)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no room to load native code from: %w", errors.Join(errs...))
}

func newScratchIn(in string, room int64) (*scratch, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(in, &fs); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: in, Err: err}
	}
	if free := float64(fs.Bavail) * float64(fs.Bsize); free < float64(room) {
		return nil, fmt.Errorf("%s has %.0f MiB left, %d MiB are needed", in, free/(1<<20), room>>20+1)
	}
	name, err := os.MkdirTemp(in, scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{name: name, path: name}
	if s.dir, err = sealedstore.OpenDir(name); err == nil {
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
		_ = os.RemoveAll(s.name) // what stays is removed by removeStale
		if s.dir != nil {
			_ = s.dir.Close()
		}
	})
}

// removeStale removes what killed processes left in a directory of ours.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// throughDescriptor names an open directory in a way that nobody can redirect
// by renaming what lies above it. Without /proc it is the ordinary name.
func throughDescriptor(dir *os.File) string {
	path := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
	if runtime.GOOS == "linux" {
		want, err1 := dir.Stat()
		got, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(want, got) {
			return path
		}
	}
	return dir.Name()
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
