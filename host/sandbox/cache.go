package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tetratelabs/wazero"
)

// openCache opens wazero's compile cache in dir. What it holds is native code
// that will be executed, so a directory that others could write to, or that
// isn't the user's own, is refused.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return nil, fmt.Errorf("compile cache %s is not a directory: remove it", dir)
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("compile cache %s belongs to another user: remove it", dir)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("compile cache %s is open to others: chmod 700 it after checking what it holds, or remove it", dir)
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// dropCache removes everything in the cache directory: wazero fails every
// later load on one broken entry until somebody deletes it.
func dropCache(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
