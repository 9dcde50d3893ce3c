package toolchain

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// install puts files into a directory, all or none.
func install(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	exists := err == nil
	switch {
	case exists && len(entries) > 0:
		return fmt.Errorf("%s %w: choose another place with --dir", dir, ErrNotEmpty)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w: %w", dir, ErrNotEmpty, err)
	case err != nil && isThere(dir):
		return fmt.Errorf("%s %w: it is a link that leads nowhere", dir, ErrNotEmpty)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return fmt.Errorf("no place for %s: %w", dir, err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := writeAll(temp, files); err != nil {
		return err
	}
	if !exists {
		return os.Rename(temp, dir)
	}
	return moveInto(temp, dir)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// moveInto moves what is in one directory to another, which somebody's shell
// may be in.
func moveInto(from, to string) (err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var moved []string
	defer func() {
		for _, p := range moved {
			if err != nil {
				_ = os.RemoveAll(p)
			}
		}
	}()
	for _, e := range entries {
		p := filepath.Join(to, e.Name())
		if err := os.Rename(filepath.Join(from, e.Name()), p); err != nil {
			return err
		}
		moved = append(moved, p)
	}
	return nil
}

// writeAll writes files below a directory that nobody else knows yet.
func writeAll(dir string, files map[string][]byte) error {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // source is no secret
		return err
	}
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil { //nolint:gosec // source is no secret
			return err
		}
		mode := os.FileMode(0o644)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o755
		}
		if err := os.WriteFile(p, text, mode); err != nil {
			return err
		}
	}
	return nil
}
