package beneath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
	"waymark/test/testenv"
)

func TestMain(m *testing.M) {
	testenv.OrdinaryMain()
	os.Exit(m.Run())
}

// build makes a tree: "dir/", "link -> target", else a file that holds its own
// path. $ROOT in a target is the tree's directory, which is returned.
func build(t *testing.T, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$ROOT", dir), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		default:
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func walker(t *testing.T, dir string) *beneath.Walker {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &beneath.Walker{Root: fd}
	t.Cleanup(func() { w.Forget(); _ = unix.Close(fd) })
	return w
}

func TestWalker(t *testing.T) {
	dir := build(t, "a/b/f", "a/g", "a/link -> b", "out -> /etc", "file")
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	w := walker(t, dir)
	for _, c := range []struct {
		path, at string
		link     bool // instead of success
		errno    syscall.Errno
	}{
		{path: "a/g"}, {path: "a/b/f"}, {path: "."}, {path: "a"}, {path: "pipe"},
		{path: "a/link", at: "a/link", link: true},
		{path: "a/link/f", at: "a/link", link: true},
		{path: "out/passwd", at: "out", link: true},
		{path: "file/x", at: "file", link: true},
		{path: "a/none/f", at: "a/none", errno: unix.ENOENT},
		{path: "none", at: "none", errno: unix.ENOENT},
	} {
		fd, at, errno := w.Open(c.path)
		if errno == 0 {
			_ = unix.Close(fd)
			at = ""
		}
		if at != c.at || beneath.MaybeLink(errno) != c.link || !c.link && errno != c.errno {
			t.Errorf("%s: %v at %q", c.path, errno, at)
		}
	}
	if target, _, errno := w.Readlink("a/link"); target != "b" || errno != 0 {
		t.Error(target, errno)
	}
	if _, _, errno := w.Readlink("file"); errno != unix.EINVAL {
		t.Error(errno)
	}
	var st unix.Stat_t
	if _, errno := w.Stat("out", &st); errno != 0 || beneath.TypeOf(&st) != fs.ModeSymlink {
		t.Error(errno, beneath.TypeOf(&st))
	}
}

func TestList(t *testing.T) {
	dir := build(t, "d/f", "d/dir/", "d/link -> f", "d/.hidden")
	w := walker(t, dir)
	var before, after unix.Stat_t
	var got []string
	at, errno := w.List("d", &before, &after, func(name []byte, typ fs.FileMode) bool {
		got = append(got, typ.String()+string(name))
		return true
	})
	slices.Sort(got)
	if want := []string{"----------.hidden", "----------f", "L---------link", "d---------dir"}; errno != 0 || !slices.Equal(got, want) || before.Ino != after.Ino || before.Mtim != after.Mtim {
		t.Errorf("%q, %v at %s", got, errno, at)
	}
	if _, errno := w.List("d/link", &before, &after, nil); !beneath.MaybeLink(errno) {
		t.Error(errno)
	}
	calls := 0
	if _, errno := w.List("d", &before, &after, func([]byte, fs.FileMode) bool { calls++; return false }); errno != 0 || calls != 1 {
		t.Error(errno, calls)
	}
}

// TestListAgain: a directory that is kept open is listed from its beginning, as it is
// then, however it came to be kept.
func TestListAgain(t *testing.T) {
	dir := build(t, "top/a/", "top/b/", "top/c/")
	w := walker(t, dir)
	names := func(path string) string {
		var list []string
		var before, after unix.Stat_t
		if at, errno := w.List(path, &before, &after, func(name []byte, _ fs.FileMode) bool {
			list = append(list, string(name))
			return true
		}); errno != 0 {
			t.Fatal(at, errno)
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	if _, _, errno := w.Dir("top/b"); errno != 0 {
		t.Fatal(errno)
	}
	fd, _, errno := w.Open("top/c")
	if errno != 0 {
		t.Fatal(errno)
	}
	w.KeepDir("top/c", fd)
	for n, want := range []string{"1", "1 2", "1 2 3"} {
		for _, path := range []string{"top/a", "top/b", "top/c"} {
			if err := os.WriteFile(filepath.Join(dir, path, strconv.Itoa(n+1)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := names(path); got != want || !w.Keeps(path) {
				t.Errorf("%s has %q, want %q", path, got, want)
			}
		}
	}
	if got := names("."); got != "top" {
		t.Errorf("at the top is %q", got)
	}
	again, _, errno := w.Open("top/c")
	if errno != 0 {
		t.Fatal(errno)
	}
	w.KeepDir("top/c", again) // which is kept already
	if err := unix.Close(again); !errors.Is(err, unix.EBADF) {
		t.Errorf("a second descriptor stays open: %v", err)
	}
}

// TestModesAndKept: what a directory's mode allows doesn't depend on whether it has
// been gone through before.
func TestModesAndKept(t *testing.T) {
	testenv.RunOrdinary(t, func(t *testing.T) {
		var st unix.Stat_t
		calls := []func(w *beneath.Walker) syscall.Errno{
			func(w *beneath.Walker) syscall.Errno {
				_, errno := w.List("d", &st, &st, func([]byte, fs.FileMode) bool { return true })
				return errno
			},
			func(w *beneath.Walker) syscall.Errno {
				fd, _, errno := w.Open("d")
				if errno == 0 {
					w.KeepDir("d", fd)
				}
				return errno
			},
			func(w *beneath.Walker) syscall.Errno { _, _, errno := w.Dir("d"); return errno },
			func(w *beneath.Walker) syscall.Errno { _, errno := w.Stat("d/f", &st); return errno },
			func(w *beneath.Walker) syscall.Errno { _, errno := w.Stat("d/e/f", &st); return errno },
			func(w *beneath.Walker) syscall.Errno { _, _, errno := w.Readlink("d/l"); return errno },
			func(w *beneath.Walker) syscall.Errno {
				fd, _, errno := w.Open("d/e/f")
				_ = unix.Close(fd)
				return errno
			},
		}
		for mode := range os.FileMode(8) {
			dir := build(t, "d/e/f", "d/f", "d/l -> f")
			if err := os.Chmod(dir+"/d", mode<<6); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir+"/d", 0o700) })
			for i, call := range calls {
				want := call(walker(t, dir))
				for j, before := range calls {
					w := walker(t, dir)
					_ = before(w)
					if got := call(w); got != want {
						t.Errorf("mode %03o, call %d after call %d: %v, and %v by itself", mode<<6, i, j, got, want)
					}
				}
			}
		}
	})
}

// TestManyDirectories goes through more directories than are kept open.
func TestManyDirectories(t *testing.T) {
	var entries []string
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		entries = append(entries, "top/"+string(c)+"/f")
	}
	w := walker(t, build(t, entries...))
	for range 3 {
		for _, path := range entries {
			fd, at, errno := w.Open(path)
			if errno != 0 {
				t.Fatal(path, at, errno)
			}
			buf := make([]byte, 100)
			if n, err := unix.Read(fd, buf); err != nil || string(buf[:n]) != path {
				t.Errorf("%s: %q, %v", path, buf[:n], err)
			}
			_ = unix.Close(fd)
			dir, _ := beneath.Split(path)
			if _, _, errno := w.Dir(dir); errno != 0 {
				t.Fatal(dir, errno)
			}
		}
	}
	if !w.Keeps("top/z") || w.Keeps("top/a") {
		t.Error("the directories used last are the ones to keep")
	}
	w.Forget()
	if w.Keeps("top/z") {
		t.Error("forgotten directories are kept")
	}
}

// TestResolve compares the policies: without one a path leads where the system
// leads, and links in w don't lead out of it or, here, to a name "secret".
func TestResolve(t *testing.T) {
	dir := build(t,
		"w/real/f", "w/secret/f", "w/in -> real", "w/abs -> $ROOT/w/real", "w/alias -> $ROOT/mine/real", "w/out -> ../other", "w/outabs -> $ROOT/other",
		"w/hidden -> secret", "w/loop -> loop", "w/back -> ../w/real", "w/nothing -> missing", "other/f", "mine -> w", "user -> w/real", "userout -> w/out")
	errSecret := errors.New("secret")
	judge := func(_ beneath.Base, names []beneath.Name) error {
		if slices.ContainsFunc(names, func(n beneath.Name) bool { return n.Linked && n.Text == "secret" }) {
			return errSecret
		}
		return nil
	}
	top, err := beneath.OpenTop() // of all paths together
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for _, c := range []struct {
		path string
		want error // under the policy; the system's own without it
	}{
		{"w/real", nil}, {"w/in", nil}, {"w/in/f", nil}, {"w/abs", nil}, {"w/alias", nil}, {"w/back/f", nil}, {"user", nil}, {"other", nil},
		{"w/secret/f", nil},
		{"w/out", beneath.ErrEscape}, {"w/outabs/f", beneath.ErrEscape}, {"userout", beneath.ErrEscape},
		{"w/hidden", errSecret}, {"w/hidden/f", errSecret},
		{"w/loop", syscall.ELOOP}, {"w/nothing", fs.ErrNotExist}, {"w/real/f/x", syscall.ENOTDIR},
	} {
		target, terr := filepath.EvalSymlinks(dir + "/" + c.path)
		within := []string{dir + "/none", dir + "/mine"}
		for _, opts := range []beneath.Options{{}, {Within: within, Judge: judge}, {Top: top}, {Within: within, Judge: judge, Top: top}} {
			found, err := beneath.Resolve(dir+"/"+c.path, opts)
			want := c.want
			if opts.Judge == nil && terr == nil {
				want = nil
			}
			if !errors.Is(err, want) || want == nil && (err != nil || beneath.Absolute(found.Path()) != target) {
				t.Errorf("%s with %d: %s, %v; want %s, %v", c.path, len(opts.Within), found.Path(), err, target, want)
			}
			for _, p := range found.Passed() {
				if errors.Is(err, beneath.ErrEscape) && !strings.HasPrefix(p, dir+"/w/") && !strings.HasPrefix(p, dir+"/user") {
					t.Errorf("%s: it has looked at %s", c.path, p)
				}
			}
			if len(found.Passed()) == 0 {
				t.Errorf("%s: there is nothing to watch", c.path)
			}
			found.Close()
		}
	}
}

// TestResolveThenOpen opens the directory that a path leads to, also when the
// link has been changed meanwhile.
func TestResolveThenOpen(t *testing.T) {
	dir := build(t, "w/real/f", "w/in -> real", "other/f")
	found, err := beneath.Resolve(dir+"/w/in", beneath.Options{Within: []string{dir + "/w"}})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	if linkDir, name, ok := found.LastLink(); beneath.Absolute(linkDir) != dir+"/w" || name != "in" || !ok {
		t.Error(linkDir, name, ok)
	}
	if err := os.Remove(dir + "/w/in"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../other", dir+"/w/in"); err != nil {
		t.Fatal(err)
	}
	fd, errno := found.OpenDir(found.Path())
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(fd)
	var got, want unix.Stat_t
	if unix.Fstat(fd, &got) != nil || unix.Stat(dir+"/w/real", &want) != nil || got.Ino != want.Ino {
		t.Errorf("opened %d, want %d", got.Ino, want.Ino)
	}
}

// TestMissing: where what isn't there could be made.
func TestMissing(t *testing.T) {
	dir := build(t, "w/real/f", "w/in -> real", "w/new -> real/a/b", "w/up -> a/../../other/x", "w/abs -> $ROOT/w/x", "w/out -> ../other/x", "other/f")
	for _, c := range []struct{ path, at, missing string }{
		{"w/none", "w", "none"}, {"w/a/b/c", "w", "a/b/c"}, {"w/in/a/b", "w/real", "a/b"}, {"w/new", "w/real", "a/b"}, {"w/new/c", "w/real", "a/b/c"},
		{"w/abs", "w", "x"}, {"w/a/../b", "w", ""}, {"w/up", "w", ""}, {"w/out", "w", ""}, {"w/real/f/x", "w/real", ""}, {"w/real", "w/real", ""},
	} {
		found, err := beneath.Resolve(dir+"/"+c.path, beneath.Options{Within: []string{"/", dir + "/w"}})
		missing := strings.Join(found.Missing(), "/")
		if missing != c.missing || missing != "" && (!errors.Is(err, fs.ErrNotExist) || beneath.Absolute(found.Path()) != dir+"/"+c.at) {
			t.Errorf("%s: %q in %s, %v", c.path, missing, found.Path(), err)
		}
		found.Close()
	}
}
