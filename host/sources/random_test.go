package sources_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/host/sources"
	"waymark/test/testenv"
)

// In random trees of links, whatever a request adds leads, according to the
// system itself, to where a request may lead; and what leads there is let in.
// Paths are cleaned first, as all are.
func TestRandomLinks(t *testing.T) {
	rnd := testenv.Rand(t)
	for range testenv.Rounds(40, 150, 20_000) {
		dir := tree(t)
		randomTree(t, rnd, dir)
		home := dir + "/home"
		for range 40 {
			l := sources.New(sources.Options{Home: home})
			path := filepath.Clean(dir + "/" + randomPath(rnd, 1+rnd.IntN(4)))
			s, _, err := l.Add(path, sources.AddOptions{})
			judge(t, home, path, s, err)
			if t.Failed() {
				return
			}
		}
	}
}

// judge compares with what the system says of a path.
func judge(t *testing.T, home, path string, s sources.Source, err error) {
	t.Helper()
	target, missing := filepath.EvalSymlinks(path)
	if missing == nil {
		inside := target == home || strings.HasPrefix(target, home+"/")
		switch {
		case inside && (err != nil || s.Path != target || !s.Exists):
			t.Errorf("%s leads to %s: %+v, %v", path, target, s, err)
		case !inside && !errors.Is(err, sources.ErrNotAllowed):
			t.Errorf("%s leads out to %s: %+v, %v", path, target, s, err)
		}
		return
	}
	if err != nil || s.Exists {
		return // refused; or missing only behind something like "missing/.."
	}
	// When it comes to exist, by what the system makes of the canonical path,
	// that is where it is.
	if err := os.MkdirAll(s.Path, 0o700); err != nil {
		return // a file is in the way
	}
	defer func() { _ = os.RemoveAll(s.Path) }()
	if now, err := filepath.EvalSymlinks(s.Path); err != nil || now != s.Path || !strings.HasPrefix(now, home+"/") {
		t.Errorf("%s was to become %s and became %s, %v", path, s.Path, now, err)
	}
	if now, err := filepath.EvalSymlinks(path); err == nil && now != s.Path {
		t.Errorf("%s became %s, not %s", path, now, s.Path)
	}
}

// randomTree makes things below a directory, and nowhere else: a path that a
// link leads out of it is left alone.
func randomTree(t *testing.T, rnd *rand.Rand, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { _ = root.Close() }()
	must(t, root.MkdirAll("home", 0o700))
	for range 12 {
		path := randomPath(rnd, 1+rnd.IntN(3))
		switch rnd.IntN(4) {
		case 0:
			_ = root.MkdirAll(path, 0o700)
		case 1:
			_ = root.WriteFile(path, nil, 0o600)
		default:
			target := strings.Repeat("../", rnd.IntN(3)) + randomPath(rnd, 1+rnd.IntN(3))
			if rnd.IntN(3) == 0 {
				target = dir + "/" + target
			}
			_ = root.Symlink(target, path) // errors: something is there already, or no directory
		}
	}
}

func randomPath(rnd *rand.Rand, n int) string {
	names := []string{"home", "out", "a", "b", "c"}
	list := make([]string, n)
	for i := range list {
		list[i] = names[rnd.IntN(len(names))]
		if rnd.IntN(8) == 0 {
			list[i] = ".."
		}
	}
	return fmt.Sprintf("%s/%s", names[rnd.IntN(2)], strings.Join(list, "/"))
}
