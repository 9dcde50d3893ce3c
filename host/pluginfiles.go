package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waymark/host/sandbox"
)

// moduleFiles lists the modules of a directory. A directory that isn't there
// holds none.
func moduleFiles(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("not a directory: name the directory that holds the .wasm files")
	}
	if err := checkOwner(info); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.wasm"))
	slices.Sort(files)
	return files, err
}

// readModule reads a module file after checking who could have written it.
func readModule(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file: copy the module here")
	}
	if err := checkOwner(info); err != nil {
		return nil, err
	}
	if info.Size() > sandbox.MaxModule {
		return nil, fmt.Errorf("the file has %d bytes, a module at most %d: strip it (-ldflags=-s -w, wasm-strip)", info.Size(), sandbox.MaxModule)
	}
	return io.ReadAll(io.LimitReader(f, sandbox.MaxModule))
}

// checkOwner refuses a plugin file or directory that somebody else could have
// written: its code decides what this agent says.
func checkOwner(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner can't be found out")
	}
	perm := info.Mode().Perm()
	switch {
	case perm&0o002 != 0:
		return errors.New("writable by everyone: chmod o-w it")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return errors.New("owned by another user: chown it to yourself or to root")
	case perm&0o020 != 0 && !ownGroup(st):
		return errors.New("writable by a group that isn't the owner's own: chmod g-w it")
	}
	return nil
}

// ownGroup reports whether a file's group is its owner's private one, which
// on systems that have such groups carries the same number.
func ownGroup(st *syscall.Stat_t) bool { return st.Gid == st.Uid }

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
