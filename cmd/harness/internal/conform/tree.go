package conform

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/cmd/harness/internal/fixture"
)

// tree is a workspace, the way it is to be made. In the target of a link, $ROOT
// and $OUT stand for the workspace and a directory next to it.
type tree []fixture.Entry

// add adds an entry, unless it would need a file to be a directory.
func (t *tree) add(e fixture.Entry) bool {
	for _, o := range *t {
		if o.Path == e.Path || below(e.Path, o.Path) && o.Kind != fixture.Dir || below(o.Path, e.Path) {
			return false
		}
	}
	*t = append(*t, e)
	return true
}

// below reports whether a path lies in a directory.
func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// without is the tree without some paths, and all below them.
func (t tree) without(paths ...string) tree {
	return slices.DeleteFunc(slices.Clone(t), func(e fixture.Entry) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return e.Path == p || below(e.Path, p) })
	})
}

// write makes the tree in a directory that it creates. Entries are made in
// their order, or the other way round.
func (t tree) write(root string, reversed bool) error {
	entries := slices.Clone(t)
	if reversed {
		slices.Reverse(entries)
	}
	for i := range entries {
		entries[i].Target = strings.ReplaceAll(entries[i].Target, "$OUT", outside(root))
	}
	return fixture.MakeAll(root, root, entries)
}

// fileOf is a file.
func fileOf(path, body string) fixture.Entry { return fixture.Entry{Path: path, Body: []byte(body)} }

// makeDir makes a directory, and those above it, the way people do.
func makeDir(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // a workspace is for everybody to look into
}

// outside is a directory next to a workspace, with files in it.
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
