package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// canary stands in every file outside the root, and may not come out of it.
const canary = "canary-0utside-the-r00t"

// tree fills a directory. Each line is one of
//
//	path = content      (also "path = 1000*x")
//	path/               a directory
//	path -> target      a link; $ROOT and $OUT are the root and a directory beside it
//	path => existing    a hard link
//	path |              a FIFO
//	path ^              a socket
//	path # size         a sparse file
//	path ! mode         an octal mode for what exists
func tree(lines ...string) func(root string) error {
	return func(root string) error {
		for _, line := range lines {
			if err := treeLine(root, line); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
		}
		return nil
	}
}

// outside is the directory beside the root; see newDirs.
func outside(root string) string { return filepath.Join(filepath.Dir(root), "outside") }

func treeLine(root, line string) error {
	if dir, ok := strings.CutSuffix(line, "/"); ok && !strings.Contains(line, " ") {
		return os.MkdirAll(filepath.Join(root, dir), 0o755)
	}
	name, rest, _ := strings.Cut(line, " ")
	kind, value, _ := strings.Cut(rest, " ")
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch kind {
	case "=":
		return os.WriteFile(path, []byte(expand(value)), 0o644)
	case "->":
		return os.Symlink(strings.NewReplacer("$ROOT", root, "$OUT", outside(root)).Replace(value), path)
	case "=>":
		return os.Link(filepath.Join(root, value), path)
	case "|":
		return syscall.Mkfifo(path, 0o644)
	case "^":
		return syscall.Mknod(path, syscall.S_IFSOCK|0o644, 0)
	case "#":
		size, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(path, size)
	case "!":
		mode, err := strconv.ParseUint(value, 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(path, os.FileMode(mode))
	}
	return fmt.Errorf("unknown kind %q", kind)
}

// expand turns "3*x" into "xxx".
func expand(content string) string {
	count, unit, ok := strings.Cut(content, "*")
	if n, err := strconv.Atoi(count); ok && err == nil {
		return strings.Repeat(unit, n)
	}
	return content
}

// roots are the directories of the first n roots; 0 means one.
func (d Dirs) roots(n int) []string {
	list := []string{d.Root}
	for i := 1; i < n; i++ {
		list = append(list, fmt.Sprintf("%s%d", d.Root, i))
	}
	return list
}

// newDirs makes the directories of a case below base, with a file outside the
// root that holds the canary.
func newDirs(base string, roots int) (Dirs, error) {
	d := Dirs{Base: base, Root: filepath.Join(base, "root"), Plugins: filepath.Join(base, "plugins")}
	for _, dir := range append(d.roots(roots), d.Plugins, filepath.Join(outside(d.Root), "dir")) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return d, err
		}
	}
	for _, dir := range d.roots(roots) {
		if err := treeLine(dir, "VICTIM.md = innocent\n"); err != nil {
			return d, err
		}
	}
	return d, tree("../outside/secret = "+canary, "../outside/dir/SKILL.md = "+canary)(d.Root)
}
