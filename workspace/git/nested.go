package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of looking for repositories below a directory that is none, and of those that an
// answer has: a directory of projects has some dozens, a few levels down.
const (
	maxNestedDepth   = 4
	maxNestedEntries = 20_000
	maxNested        = 50
)

// nested returns the repositories below a directory, without those in repositories. It looks
// in no hidden directory, and not where packages are installed.
func nested(dir string) (tops []string) {
	type level struct {
		dir   string
		depth int
	}
	entries := 0
	for queue := []level{{dir, 0}}; len(queue) > 0 && len(tops) < maxNested; queue = queue[1:] {
		at := queue[0]
		if at.depth > 0 && isRepository(filepath.Join(at.dir, ".git")) {
			tops = append(tops, at.dir)
			continue
		}
		list, err := os.ReadDir(at.dir)
		if entries += len(list); err != nil || at.depth == maxNestedDepth || entries > maxNestedEntries {
			continue
		}
		for _, e := range list {
			if name := e.Name(); e.IsDir() && name[0] != '.' && name != "node_modules" && name != "vendor" {
				queue = append(queue, level{filepath.Join(at.dir, name), at.depth + 1})
			}
		}
	}
	slices.Sort(tops)
	return tops
}

// inner returns the repositories within one: its submodules, and those that it doesn't track.
func inner(top string, changed []*file) (tops []string) {
	data, _ := readSmall(filepath.Join(top, ".gitmodules")) // none is none
	var paths []string
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.TrimSpace(key) == "path" {
			paths = append(paths, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	for _, f := range changed {
		if f.untracked && strings.HasSuffix(f.Path, "/") {
			paths = append(paths, f.Path)
		}
	}
	for _, path := range paths {
		at := filepath.Join(top, path)
		// Without links: they may lead anywhere.
		if resolved, err := filepath.EvalSymlinks(at); filepath.IsLocal(path) && err == nil && resolved == at && isRepository(filepath.Join(at, ".git")) {
			tops = append(tops, at)
		}
	}
	return tops
}
