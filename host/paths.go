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

// absolute returns filepath.Abs of path, or path itself if there is no working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// resolved returns the absolute path with links resolved, as far as the path exists.
func resolved(path string) string {
	path = absolute(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// within returns path relative to dir; ok is false if path isn't dir and isn't in it.
func within(dir, path string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rel, "/"), true
}

// leadsTo reports whether path is target or one of its ancestors.
func leadsTo(path, target string) bool {
	_, ok := within(path, target)
	return ok
}
