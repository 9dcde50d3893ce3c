package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestBounds opens roots that lie in a directory that others write, by every
// kind of link that these could make, and by those that are the user's own.
func TestBounds(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"w/real/sub/AGENTS.md = x", "w/real/AGENTS.md = x", "w/real/.env = x", "w/.git/hooks/f = x", "w/.git/config = x", "w/.env = x",
		"w/.docker/config.json = x", "w/.aws/x/f = x", "w/.ssh/f = x", "w/private/f = x", "w/pipe |",
		"w/in -> real", "w/deep -> real/sub/../sub", "w/abs -> $ROOT/w/real", "w/round -> ../w/real",
		"w/two -> in", "w/file -> real/AGENTS.md", "w/dot -> .", "w/self -> ../w",
		"w/out -> ../other", "w/outabs -> $ROOT/other", "w/outfile -> ../other/AGENTS.md", "w/up -> ..", "w/top -> /", "w/etc -> /etc",
		"w/near -> ../w2", "w/two-out -> out", "w/outmissing -> ../nothing", "w/proc -> /proc/self/cwd", "w/real/up2 -> ../..", "w/dangling -> real/later",
		"w/git -> .git", "w/hooks -> .git/hooks", "w/over -> .git/../real", "w/case -> .GIT/hooks", "w/cloud -> .aws", "w/docker -> .docker",
		"w/env -> .env", "w/realenv -> real/.env", "w/exc -> private", "w/ssh -> .ssh", "w/.ssh/in -> x", "w/.ssh/x/f = x", "w/loop -> pool", "w/pool -> loop",
		"w/latin -> \xe9",
		"other/AGENTS.md = x", "w2/AGENTS.md = x", "mine -> w", "user -> w/real", "userout -> w/out", "usergit -> w/.git", "userhooks -> w/hooks",
		"usersub -> w/in/../../other", "userdots -> w/deep/../../../../other", "outer/user -> ../w/up/other",
	})
	const escape, secret, excluded = "escape", "secret", "excluded"
	for _, c := range []struct{ path, want, refused string }{
		{path: "w", want: "w"},
		{path: "mine", want: "w"},
		{path: "w/real", want: "w/real"},
		{path: "w/real/AGENTS.md", want: "w/real:AGENTS.md"},
		{path: "w/in", want: "w/real"},
		{path: "mine/in/sub", want: "w/real/sub"},
		{path: "w/in/AGENTS.md", want: "w/real:AGENTS.md"},
		{path: "w/deep", want: "w/real/sub"},
		{path: "w/abs", want: "w/real"},
		{path: "w/round", want: "w/real"},
		{path: "w/two/sub", want: "w/real/sub"},
		{path: "w/file", want: "w:file"},
		{path: "w/dot/self/in", want: "w/real"},
		{path: "other", want: "other"},
		{path: "w/../other", want: "other"},

		{path: "w/out", refused: escape},
		{path: "mine/out", refused: escape},
		{path: "w/out/AGENTS.md", refused: escape},
		{path: "w/outabs", refused: escape},
		{path: "w/outfile", refused: escape},
		{path: "w/up/other", refused: escape},
		{path: "w/up", refused: escape},
		{path: "w/up/w", want: "w"}, // and back in by its own name
		{path: "w/top/etc", refused: escape},
		{path: "w/etc/passwd", refused: escape},
		{path: "w/near", refused: escape},
		{path: "w/two-out", refused: escape},
		{path: "w/in/up2/other", refused: escape},
		{path: "w/outmissing", refused: escape},
		{path: "w/proc", refused: escape},

		{path: "w/git", refused: secret},
		{path: "w/git/hooks", refused: secret},
		{path: "w/hooks", refused: secret},
		{path: "w/over", refused: secret},
		{path: "w/case", refused: secret},
		{path: "w/cloud/x", refused: secret},
		{path: "w/docker/config.json", refused: secret}, // half by the link, half by the user
		{path: "w/docker", want: "w/.docker"},
		{path: "w/env", refused: secret},
		{path: "w/realenv", refused: secret},
		{path: "w/ssh/f", refused: secret},
		{path: "w/exc", refused: excluded},

		// What the user named he meant.
		{path: "w/.git/hooks", want: "w/.git/hooks"},
		{path: "w/.env", want: "w:.env"},
		{path: "w/.ssh/x", want: "w/.ssh/x"},
		{path: "w/.ssh/in", refused: secret},
		{path: "w/in/.env", want: "w/real:.env"},
		{path: "usergit", want: "w/.git"},
		{path: "user/sub", want: "w/real/sub"},

		// Links of his own that lead through the directory.
		{path: "userout", refused: escape},
		{path: "userhooks", refused: secret},
		{path: "usersub", refused: escape},
		{path: "userdots", refused: escape},
		{path: "outer/user", refused: escape},

		{path: "w/dangling", refused: "ENOENT"},
		{path: "w/nothing", refused: "ENOENT"},
		{path: "w/real/AGENTS.md/x", refused: "ENOTDIR"},
		{path: "w/loop", refused: "ELOOP"},
		{path: "w/pipe", refused: "EIO"},
		{path: "w/latin", refused: "not in reads"},
	} {
		for _, within := range [][]string{{dir + "/w"}, {dir + "/mine"}, {dir + "/nothing", dir + "/w/out", dir + "/w", dir + "/w/real"}} {
			root, err := vfs.OpenRoot(dir+"/"+c.path, vfs.RootOptions{Within: within, Exclude: []string{"private"}})
			got := ""
			if err == nil {
				got = strings.TrimPrefix(root.Path(), dir+"/")
				if root.File() != "" {
					got += ":" + root.File()
				}
				_ = root.Close()
			}
			if reason := refusal(err); got != c.want || reason != c.refused {
				t.Errorf("%s within %v: %q, %q (%v), want %q, %q", c.path, within, got, reason, err, c.want, c.refused)
			}
			if err != nil && len(root.Way()) == 0 {
				t.Errorf("%s: nothing to watch", c.path)
			}
			for _, p := range root.Way() {
				if c.refused == escape && !strings.HasPrefix(p, dir+"/") {
					t.Errorf("%s: it looked at %s", c.path, p)
				}
			}
		}
		if root, err := vfs.OpenRoot(dir+"/"+c.path, vfs.RootOptions{}); errors.As(err, new(*vfs.LinkError)) {
			t.Errorf("%s without bounds: %v", c.path, err)
		} else {
			_ = root.Close()
		}
	}
}

// TestBoundsByAnyName: an absolute link may spell the bound as the user did, or
// without links, and by no other name.
func TestBoundsByAnyName(t *testing.T) {
	dir := vfstest.Build(t, []string{"w/real/f = x", "w/abs -> $ROOT/w/real", "w/alias -> $ROOT/mine/real", "mine -> w"})
	for _, c := range []struct {
		path, within string
		ok           bool
	}{
		{"w/abs", "w", true},
		{"w/abs", "mine", true},
		{"w/alias", "mine", true},
		{"mine/alias", "mine", true},
		{"w/alias", "w", false},
		{"mine/alias", "w", false},
	} {
		root, err := vfs.OpenRoot(dir+"/"+c.path, vfs.RootOptions{Within: []string{dir + "/" + c.within}})
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, vfs.ErrEscape) || c.ok && root.Path() != dir+"/w/real" {
			t.Errorf("%s within %s: %s, %v", c.path, c.within, root.Path(), err)
		}
		_ = root.Close()
	}
}

// refusal is the reason of a LinkError, or the errno of another.
func refusal(err error) string {
	if link, ok := errors.AsType[*vfs.LinkError](err); ok {
		return string(link.Reason)
	}
	return errno(err)
}

// TestBoundsWhole: the top of the file system is a bound like others.
func TestBoundsWhole(t *testing.T) {
	dir := vfstest.Build(t, []string{"in -> real", "real/f = x", "hooks -> .git/hooks", ".git/hooks/f = x"})
	within := vfs.RootOptions{Within: []string{"/"}}
	root, err := vfs.OpenRoot(dir+"/in", within)
	if err != nil || root.Path() != dir+"/real" {
		t.Errorf("%v, %v", root.Path(), err)
	}
	_ = root.Close()
	if _, err := vfs.OpenRoot(dir+"/hooks", within); !errors.Is(err, vfs.ErrHidden) {
		t.Error(err)
	}
	if root, err = vfs.OpenRoot("/", within); err != nil || root.Path() != "/" {
		t.Errorf("%v, %v", root.Path(), err)
	}
	_ = root.Close()
}

// TestLongWays: links of any length and number end.
func TestLongWays(t *testing.T) {
	dir := vfstest.Build(t, []string{"d/"})
	for i := range 39 {
		link(t, strings.Repeat("d/../", 700)+fmt.Sprintf("l%d", i+1), fmt.Sprintf("%s/l%d", dir, i))
	}
	link(t, "d", dir+"/l39")
	link(t, strings.Repeat("./", 2000)+"d", dir+"/dots")
	for path, want := range map[string]string{"l0": "ENAMETOOLONG", "l39": "", "dots": ""} {
		root, err := vfs.OpenRoot(dir+"/"+path, vfs.RootOptions{Within: []string{dir}})
		if errno(err) != want {
			t.Errorf("%.10s: %v, want %s", path, err, want)
		}
		_ = root.Close()
	}
}

// TestSharedDirectories: in a directory in which everybody may make links, only
// its owner's and one's own are followed.
func TestSharedDirectories(t *testing.T) {
	testenv.NeedsRoot(t, "give links away")
	dir := vfstest.Build(t, []string{"real/f = x", "tmp/mine -> ../real", "tmp/owners -> ../real", "tmp/others -> ../real", "tmp/others2 -> ../real/f"})
	const owner, other = 12345, 12346
	for path, uid := range map[string]int{"tmp": owner, "tmp/owners": owner, "tmp/others": other, "tmp/others2": other} {
		if err := os.Lchown(dir+"/"+path, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		mode    fs.FileMode
		foreign string
	}{{0o777 | fs.ModeSticky, "EACCES"}, {0o755 | fs.ModeSticky, ""}, {0o777, ""}} {
		if err := os.Chmod(dir+"/tmp", c.mode); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"mine": "", "owners/f": "", "others": c.foreign, "others/f": c.foreign, "others2": c.foreign} {
			root, err := vfs.OpenRoot(dir+"/tmp/"+path, vfs.RootOptions{})
			if got := errno(err); got != want {
				t.Errorf("%v: %s: %v, want %q", c.mode, path, err, want)
			}
			_ = root.Close()
		}
	}
}

// TestRandomWays makes random trees of links and compares with the system: what
// is opened is where the system leads, and lies in the bound whenever a link of
// the bound had a say; what is opened without one is opened by the system, too.
func TestRandomWays(t *testing.T) {
	rnd := testenv.Rand(t)
	for range testenv.Rounds(50, 120, 20_000) {
		dir := vfstest.Build(t, nil)
		randomWays(t, rnd, dir)
		w := dir + "/w"
		for range 30 {
			path := filepath.Clean(dir + "/" + randomWay(rnd, 1+rnd.IntN(4)))
			root, err := vfs.OpenRoot(path, vfs.RootOptions{Within: []string{w}})
			free, ferr := vfs.OpenRoot(path, vfs.RootOptions{})
			target, terr := filepath.EvalSymlinks(path)
			// Through a link in w: the names of the way tell.
			through := slices.ContainsFunc(free.Way(), func(p string) bool { return isLinkIn(w, p) })
			switch {
			case err == nil && (ferr != nil || root.Signature() != free.Signature()):
				t.Errorf("%s: opened as %s, and without a bound %s, %v", path, root.Path(), free.Path(), ferr)
			case err == nil && root.File() == "" && (terr != nil || target != root.Path()):
				t.Errorf("%s: opened as %s, leads to %s, %v", path, root.Path(), target, terr)
			case err == nil && through && root.Path() != w && !strings.HasPrefix(root.Path(), w+"/"):
				t.Errorf("%s: a link led to %s", path, root.Path())
			case err == nil && through && strings.Contains(root.Path(), "/.git") && !strings.Contains(path, ".git"):
				t.Errorf("%s: a link led to %s", path, root.Path())
			case err != nil && ferr == nil && !through:
				t.Errorf("%s: %v, without a link", path, err)
			}
			_, _ = root.Close(), free.Close()
			if t.Failed() {
				_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, _ error) error {
					target, _ := os.Readlink(p)
					t.Log(p, e.Type(), target)
					return nil
				})
				return
			}
		}
		_ = os.RemoveAll(filepath.Dir(dir))
	}
}

func isLinkIn(dir, path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0 && strings.HasPrefix(path, dir+"/")
}

// randomWays makes things below a directory, and nowhere else.
func randomWays(t *testing.T, rnd *rand.Rand, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	_ = root.MkdirAll("w/.git", 0o700)
	for range 14 {
		path := randomWay(rnd, 1+rnd.IntN(3))
		switch rnd.IntN(4) {
		case 0:
			_ = root.MkdirAll(path, 0o700)
		case 1:
			_ = root.WriteFile(path, nil, 0o600)
		default:
			target := strings.Repeat("../", rnd.IntN(3)) + randomWay(rnd, 1+rnd.IntN(3))
			if rnd.IntN(3) == 0 {
				target = dir + "/" + target
			}
			_ = root.Symlink(target, path) // errors: something is there already, or no directory
		}
	}
}

func randomWay(rnd *rand.Rand, n int) string {
	names := []string{"w", "w", "a", "b", "c", ".git", ".."}
	list := make([]string, n)
	for i := range list {
		list[i] = names[rnd.IntN(len(names))]
	}
	return strings.Join(list, "/")
}

// TestSwappedWays replaces the directories on the way to a root by links, and
// back, while it is opened: what is opened is never outside or protected.
func TestSwappedWays(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"w/a/b/c/f = fine", "w/good/b/c/f = fine", "w/.git/b/c/f = SECRET", "w/.git/c/f = SECRET", "out/b/c/f = SECRET", "out/c/f = SECRET", "out/f = SECRET",
	})
	swaps := [][2]string{
		{"a", "../out"}, {"a", ".git"}, {"a", dir + "/out"}, {"a", "good"}, {"a", "b"}, {"a/b", "../../out"}, {"a/b", "../.git"}, {"a/b/c", "../../../out"}, {"a/b/c", dir + "/w/.git/b/c"},
	}
	rnd := testenv.Rand(t)
	filter, err := everything(dir).View.Compile()
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var count atomic.Int64
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for !done.Load() {
			s := swaps[rnd.IntN(len(swaps))]
			path, kept := filepath.Join(dir, "w", s[0]), filepath.Join(dir, "w", "kept")
			_ = os.Rename(path, kept)
			_ = os.Symlink(s[1], path)
			count.Add(1)
			_ = os.Remove(path)
			_ = os.Rename(kept, path)
		}
	})
	opened := 0
	for i := 0; i < testenv.Rounds(1000, 3000, 300_000) || count.Load() < 300 || opened == 0; i++ {
		for _, path := range []string{"w/a/b/c", "w/a/b/c/f"} {
			root, err := vfs.OpenRoot(filepath.Join(dir, path), vfs.RootOptions{Within: []string{dir + "/w"}})
			if err != nil {
				continue
			}
			opened++
			run := root.Begin(filter, vfs.Limits{})
			if got, _ := (direct{run}).Read("f", 0, 100); string(got) != "" && string(got) != "fine" {
				t.Errorf("%s: read %q in %s", path, got, root.Path())
			}
			_, _ = run.Close(), root.Close()
		}
	}
	done.Store(true)
	swapper.Wait()
}

// TestWayClosed: every descriptor of a way is closed, however it ends.
func TestWayClosed(t *testing.T) {
	dir := vfstest.Build(t, []string{"w/a/b/f = x", "w/out -> /etc", "w/pipe |"})
	before := descriptors(t)
	for _, path := range []string{"w/a/b", "w/a/b/f", "w/out", "w/pipe", "w/missing/x", "w/a/b/f/x"} {
		root, _ := vfs.OpenRoot(filepath.Join(dir, path), vfs.RootOptions{Within: []string{dir + "/w", dir + "/w/a", dir + "/w/a/b/f"}})
		_ = root.Close()
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil && !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Fatal(err)
	}
}
