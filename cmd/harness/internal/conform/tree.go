package conform

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kind is what an entry of a workspace is.
type kind int

const (
	file kind = iota
	directory
	link
	pipe
	socket
	sparse
)

// entry is one thing in a workspace.
type entry struct {
	path string // relative to the root
	kind kind
	// text is a file's content, or a link's target, in which $ROOT and $OUT
	// stand for the workspace and a directory beside it.
	text string
	size int64 // of a sparse file
	// sealed takes all permissions away.
	sealed bool
	// maybe marks what some file systems refuse; it is left out there.
	maybe bool
}

// tree is a workspace, the way it is to be made.
type tree []entry

// add adds an entry, unless it would need a file to be a directory.
func (t *tree) add(e entry) bool {
	for _, o := range *t {
		if o.path == e.path || below(e.path, o.path) && o.kind != directory || below(o.path, e.path) {
			return false
		}
	}
	*t = append(*t, e)
	return true
}

// below reports whether a path lies in a directory.
func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// with is the tree with one entry in the place of another, and of all below it.
func (t tree) with(e entry) tree {
	next := slices.DeleteFunc(slices.Clone(t), func(o entry) bool { return o.path == e.path || below(o.path, e.path) })
	return append(next, e)
}

// write makes the tree in a directory that it creates. Entries are made in
// their order, or the other way round.
func (t tree) write(root string, reversed bool) error {
	if err := makeDir(root); err != nil {
		return err
	}
	entries := slices.Clone(t)
	if reversed {
		slices.Reverse(entries)
	}
	for _, e := range entries {
		if err := e.write(root); err != nil && !e.maybe {
			return err
		}
	}
	for _, e := range entries { // last: what is sealed can't be filled
		if e.sealed {
			if err := os.Chmod(filepath.Join(root, e.path), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *entry) write(root string) error {
	path := filepath.Join(root, e.path)
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	switch e.kind {
	case directory:
		return makeDir(path)
	case link:
		return os.Symlink(strings.NewReplacer("$ROOT", root, "$OUT", outside(root)).Replace(e.text), path)
	case pipe:
		return syscall.Mkfifo(path, 0o644)
	case socket:
		return syscall.Mknod(path, syscall.S_IFSOCK|0o644, 0)
	case sparse:
		if err := makeFile(path, ""); err != nil {
			return err
		}
		return os.Truncate(path, e.size)
	default:
		return makeFile(path, e.text)
	}
}

// makeDir makes a directory, and those above it, the way people do.
func makeDir(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // a workspace is for everybody to look into
}

func makeFile(path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // likewise
}

// outside is a directory beside a workspace, with a file in it.
func outside(root string) string { return filepath.Join(filepath.Dir(root), "outside") }

// unseal makes everything below a directory removable again.
func unseal(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory; before it is read, since WalkDir calls first
		}
		return nil
	})
}
