package host

import (
	"os"
	"path/filepath"
	"strings"
)

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// absolute is filepath.Abs, or the path as it is when there is no working
// directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// resolved is the link-free absolute path, as far as it exists.
func resolved(path string) string {
	path = absolute(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// within cuts a directory's path off that of something in it, or of itself.
func within(dir, path string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rel, "/"), true
}

// leadsTo reports whether a path is another, or a directory on the way to it.
func leadsTo(path, target string) bool {
	_, ok := within(path, target)
	return ok
}
