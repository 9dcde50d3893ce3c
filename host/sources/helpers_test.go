package sources_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/sources"
)

// tree makes files, directories and links below a new directory, and returns
// it link-free. "a/" is a directory, "a -> b" a link, anything else a file; a
// target that begins with "@" is absolute.
func tree(t testing.TB, paths ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, p := range paths {
		put(t, dir, p)
	}
	return dir
}

func put(t testing.TB, dir, p string) {
	t.Helper()
	name, target, link := strings.Cut(p, " -> ")
	path := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	switch {
	case link:
		if rest, ok := strings.CutPrefix(target, "@"); ok {
			target = filepath.Join(dir, rest)
		}
		must(t, os.Symlink(target, path))
	case strings.HasSuffix(p, "/"):
		must(t, os.MkdirAll(path, 0o700))
	default:
		must(t, os.WriteFile(path, nil, 0o600))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func paths(list []sources.Source) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Path)
	}
	return out
}
