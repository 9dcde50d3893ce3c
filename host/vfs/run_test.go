package vfs_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// TestOpenUnreadableRoot: what this user can't list, or read where it is a file, is
// no root, and the error says which permission is missing, and where.
func TestOpenUnreadableRoot(t *testing.T) {
	testenv.RunOrdinary(t, func(t *testing.T) {
		dir := vfstest.Build(t, []string{
			"none/", "none ! 000", "nolist/", "nolist ! 311", "nosearch/", "nosearch ! 644", "up/dir/", "up/file = x", "up ! 600",
			"file = x", "file ! 200", "to-none -> none", "to-file -> file", "to-up -> up/dir", "ok/file = x", "ok ! 500", "ok/file ! 400",
		})
		t.Cleanup(func() { vfstest.Reopen(dir) })
		for name, want := range map[string]string{
			"none": "may not list it", "nolist": "may not list it", "nosearch": "may not list it", "to-none": "may not list it",
			"up": "may not list it", "up/dir": fmt.Sprintf("may not look into %q", dir+"/up"), "up/none/none": fmt.Sprintf("may not look into %q", dir+"/up"),
			"up/file": fmt.Sprintf("may not look into %q", dir+"/up"), "to-up": fmt.Sprintf("may not look into %q", dir+"/up"),
			"file": "may not read it", "to-file": "may not read it", "ok": "", "ok/file": "",
		} {
			root, err := vfs.OpenRoot(filepath.Join(dir, name), vfs.RootOptions{})
			if want == "" && err != nil || want != "" && (!errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), ": permission denied: this user "+want)) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			if len(root.Way()) == 0 {
				t.Errorf("%s: there is nothing to watch", name)
			}
			_ = root.Close()
		}
	})
}

func TestOpenRoot(t *testing.T) {
	dir := vfstest.Build(t, []string{"real/AGENTS.md = x", "link -> real", "fifo |"})
	if _, err := vfs.OpenRoot(filepath.Join(dir, "nothing"), vfs.RootOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := vfs.OpenRoot(filepath.Join(dir, "fifo"), vfs.RootOptions{}); !errors.Is(err, vfs.ErrNotRegular) {
		t.Errorf("fifo: %v", err)
	}
	root, err := vfs.OpenRoot(filepath.Join(dir, "link"), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if root.Path() != filepath.Join(dir, "real") || root.Name() != "real" || root.File() != "" {
		t.Errorf("got %q %q %q", root.Path(), root.Name(), root.File())
	}
	file, err := vfs.OpenRoot(filepath.Join(dir, "link", "AGENTS.md"), vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Path() != root.Path() || file.File() != "AGENTS.md" || file.ID() != root.ID() {
		t.Errorf("got %q %q", file.Path(), file.File())
	}
	if root.Replaced() {
		t.Error("replaced too soon")
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "link"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if !root.Replaced() {
		t.Error("not noticed that the path leads elsewhere")
	}
	run := root.Begin(nil, vfs.Limits{})
	if err := errors.Join(root.Close(), root.Close()); err != nil {
		t.Error(err)
	}
	if _, err := run.Open("."); err != nil {
		t.Errorf("the run that was going on: %v", err)
	}
	if _, err := run.Open("AGENTS.md"); !errors.Is(err, vfs.ErrHidden) {
		t.Errorf("a nil filter shows something: %v", err)
	}
	if err := errors.Join(run.Close(), run.Close()); err != nil {
		t.Error(err)
	}
	late := root.Begin(nil, vfs.Limits{})
	if _, err := late.Open("."); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a run on a closed root: %v", err)
	}
	if root.Check(nil, nil).Fresh {
		t.Error("a closed root is fresh")
	}
}

func TestClosed(t *testing.T) {
	dir := vfstest.Build(t, []string{"a = x"})
	_, _, run := begin(t, everything(dir))
	file, err := run.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := run.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	if _, err := closed.ReadDir(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("closed file: %v", err)
	}
	_ = run.Close()
	_, e1 := file.Read(make([]byte, 1))
	_, e2 := file.Stat()
	_, e3 := run.Stat("a")
	_, e4 := run.Content("a")
	_, _, e5 := run.Resolve("a")
	for _, err := range []error{e1, e2, e3, e4, e5} {
		if !errors.Is(err, syscall.EBADF) {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestReadSequentially(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 9000) // beyond what is kept
	dir := vfstest.Build(t, []string{"f = " + content})
	_, _, run := begin(t, everything(dir))
	file, err := run.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(file)
	if err != nil || string(got) != content {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, err := file.ReadAt(make([]byte, 1), -1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("negative offset: %v", err)
	}
}

func TestContent(t *testing.T) {
	dir := vfstest.Build(t, []string{
		"ok = hello", "empty = 0*x", "limit = 65536*x", "over = 65537*x", "large # 16777217", "hashed # 16777216", "link -> a/b", "a/b = deep",
		"up -> ../out/secret.txt", "dangling -> nothing", "loop -> loop", "dirlink -> a", "slash -> ok/", "fifo |", "secret.md -> .env", ".env = TOKEN",
		"notinreads.txt = x", "dangling2 -> nothing/x",
	})
	config := everything(dir)
	config.View.Reads = []string{"{ok,empty,limit,over,large,hashed,link,up,dangling,dangling2,loop,dirlink,slash,fifo,secret.md,a,missing}", "a/b", "ok/**"}
	_, _, run := begin(t, config)
	stat, err := os.Stat(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	for _, c := range []struct {
		name, path string
		class      vfs.Class
		size       int64
		hash       string
		err        error
	}{
		{"ok", "ok", vfs.ContentOK, 5, sum("hello"), nil},
		{"empty", "empty", vfs.ContentOK, 0, sum(""), nil},
		{"limit", "limit", vfs.ContentOK, 65536, sum(strings.Repeat("x", 65536)), nil},
		{"over", "over", vfs.ContentOversize, 65537, sum(strings.Repeat("x", 65537)), nil},
		{"hashed", "hashed", vfs.ContentOversize, 16 << 20, sum(string(make([]byte, 16<<20))), nil},
		{"large", "large", vfs.ContentOversize, 16<<20 + 1, sum(fmt.Sprintf("large:%d:%d", 16<<20+1, stat.ModTime().UnixNano())), nil},
		{"link", "a/b", vfs.ContentOK, 4, sum("deep"), nil},
		{"up", "up", vfs.ContentEscapes, 0, "", vfs.ErrEscape},
		{"dangling", "dangling", vfs.ContentUnreadable, 0, "", syscall.ENOENT},
		{"dangling2", "dangling2", vfs.ContentUnreadable, 0, "", syscall.ENOENT},
		{"loop", "loop", vfs.ContentUnreadable, 0, "", syscall.ELOOP},
		{"dirlink", "dirlink", vfs.ContentDirectory, 0, "", syscall.EISDIR},
		{"slash", "slash", vfs.ContentUnreadable, 0, "", syscall.ENOTDIR},
		{"ok/below", "ok/below", vfs.ContentMissing, 0, "", syscall.ENOTDIR},
		{"a", "a", vfs.ContentDirectory, 0, "", syscall.EISDIR},
		{"fifo", "fifo", vfs.ContentUnreadable, 0, "", vfs.ErrNotRegular},
		{"secret.md", "secret.md", vfs.ContentHidden, 0, "", vfs.ErrHidden},
		{".env", ".env", vfs.ContentHidden, 0, "", vfs.ErrHidden},
		{"notinreads.txt", "notinreads.txt", vfs.ContentHidden, 0, "", vfs.ErrHidden},
		{"missing", "missing", vfs.ContentMissing, 0, "", syscall.ENOENT},
		{"../x", "../x", vfs.ContentUnreadable, 0, "", syscall.EPERM},
	} {
		got, err := run.Content(c.name)
		if got.Class != c.class || got.Path != c.path || got.Size != c.size || fmt.Sprintf("%x", got.Hash) != c.hash || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v %q %d %x, %v", c.name, got.Class, got.Path, got.Size, got.Hash, err)
		}
		if (got.Data != nil) != (c.class == vfs.ContentOK) || int64(len(got.Data)) != c.size && got.Data != nil {
			t.Errorf("%s: %d bytes of data", c.name, len(got.Data))
		}
	}
	path, typ, err := run.Resolve("dirlink")
	if path != "a" || !typ.IsDir() || err != nil {
		t.Errorf("resolve: %q %v %v", path, typ, err)
	}
	var refused []string
	for _, d := range run.Denied() {
		refused = append(refused, fmt.Sprintf("%s>%s:%s", d.Path, d.Target, d.Reason))
	}
	want := "up>up:escape secret.md>.env:secret .env>:secret notinreads.txt>:not in reads"
	if got := strings.Join(refused, " "); !strings.Contains(got, "secret.md>.env:secret") || !strings.Contains(got, "notinreads.txt>:not in reads") {
		t.Errorf("denied: got %s, want like %s", got, want)
	}
}

// What the guest saw is what is pushed, whatever happens meanwhile.
func TestOneAnswerPerRun(t *testing.T) {
	dir := vfstest.Build(t, []string{"a = before", "d/x = 1", "l -> a"})
	_, _, run := begin(t, everything(dir))
	if _, err := run.Open("l"); err != nil {
		t.Fatal(err)
	}
	d, err := run.Open("d")
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.ReadDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Stat("later"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a": "after, longer", "d/y": "2", "later": "3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := run.Content("a"); string(c.Data) != "before" || err != nil {
		t.Errorf("got %q, %v", c.Data, err)
	}
	if i, err := run.Stat("a"); i.Size != 6 || err != nil {
		t.Errorf("stat after the read: %v, %v", i, err)
	}
	again, err := run.Open("d")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.ReadDir(); !slices.Equal(first, second) || err != nil {
		t.Errorf("second listing: %v, %v", second, err)
	}
	if _, err := run.Stat("later"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file appeared: %v", err)
	}
}

// TestInvisibleByOneName: a name that a resolver may not read is refused for
// that, whatever the file turned out to be when it was asked for by another.
func TestInvisibleByOneName(t *testing.T) {
	tree := []string{".mcp.json = TOKEN", "d => .mcp.json", "e -> d", "f = text", "g -> f"}
	for _, first := range []string{"", "e", "g"} {
		_, _, run := begin(t, vfstest.Config{Dir: vfstest.Build(t, tree), View: vfs.View{Reads: []string{"d/*", "f/*", "e", "g"}}})
		if first != "" {
			_, _ = run.Content(first)
		}
		for _, name := range []string{"d", "f"} {
			_, err := run.Content(name)
			var failed *vfs.Error
			if !errors.As(err, &failed) || failed.Reason != vfs.ReasonNotInReads || failed.Errno != syscall.ENOENT {
				t.Errorf("%s after %q: %v", name, first, err)
			}
			if !slices.Contains(run.Denied(), vfs.Denial{Path: name, Reason: vfs.ReasonNotInReads}) {
				t.Errorf("%s after %q: denied was %+v", name, first, run.Denied())
			}
		}
	}
}

// Past the kept bytes the file must be the one that was read.
func TestTailOfChangedFile(t *testing.T) {
	dir := vfstest.Build(t, []string{"f = 100000*a"})
	root, filter, run := begin(t, everything(dir))
	file, err := run.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("b"), 100_001), 0o644); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if _, err := file.ReadAt(buf, 90_000); !errors.Is(err, vfs.ErrChanged) || !errors.Is(err, syscall.EIO) {
		t.Errorf("read: %v", err)
	}
	if _, err := file.ReadAt(buf, 0); err != nil || string(buf) != "aaaaaaaaaa" {
		t.Errorf("what is kept: %q, %v", buf, err)
	}
	if c, err := run.Content("f"); c.Class != vfs.ContentUnreadable || !errors.Is(err, vfs.ErrChanged) {
		t.Errorf("content: %v, %v", c.Class, err)
	}
	if root.Check(filter, run.Trace()).Fresh {
		t.Error("fresh")
	}
}

// Files under /proc say they are empty, and aren't: they look as if they grew
// each time they are read.
func TestFileThatKeepsGrowing(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc")
	}
	_, _, run := begin(t, everything("/proc/self"))
	if c, err := run.Content("status"); c.Class != vfs.ContentUnreadable || !errors.Is(err, vfs.ErrChanged) {
		t.Errorf("got %v, %v", c.Class, err)
	}
}

func TestLimits(t *testing.T) {
	var tree []string
	for i := range 50 {
		tree = append(tree, fmt.Sprintf("d/f%02d = 100*x", i))
	}
	dir := vfstest.Build(t, append(tree, "big = 100000*x"))
	all := func(run *vfs.Run) (err error) {
		for i := range 50 {
			if _, e := run.Open(fmt.Sprintf("d/f%02d", i)); e != nil {
				err = e
			}
		}
		return err
	}
	list := func(run *vfs.Run) error {
		d, err := run.Open("d")
		if err != nil {
			return err
		}
		_, err = d.ReadDir()
		return err
	}
	names := func(run *vfs.Run) (err error) {
		for i := range 60 {
			_, err = run.Stat(fmt.Sprintf("nothing%d", i))
		}
		return err
	}
	long := func(run *vfs.Run) (err error) {
		_, err = run.Stat(strings.Repeat("x/", 2000))
		return err
	}
	tail := func(run *vfs.Run) error {
		f, err := run.Open("big")
		if err != nil {
			return err
		}
		_, err = io.ReadAll(f)
		return err
	}
	for name, c := range map[string]struct {
		limits vfs.Limits
		do     func(*vfs.Run) error
	}{
		"opens":       {vfs.Limits{Opens: 49}, all},
		"bytes":       {vfs.Limits{ReadBytes: 4999}, all},
		"entries":     {vfs.Limits{Entries: 50}, list},
		"looks":       {vfs.Limits{Entries: 50}, names},
		"long paths":  {vfs.Limits{Entries: 20}, long},
		"bytes, tail": {vfs.Limits{ReadBytes: 99_999}, tail},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, run := begin(t, vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"**"}}, Limits: c.limits})
			if err := c.do(run); !errors.Is(err, vfs.ErrLimit) || !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v", err)
			}
			if !errors.Is(run.Err(), vfs.ErrLimit) {
				t.Errorf("Err: %v", run.Err())
			}
			if _, err := run.Stat("d"); !errors.Is(err, vfs.ErrLimit) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	_, _, run := begin(t, vfstest.Config{Dir: dir, View: vfs.View{Reads: []string{"**"}}, Limits: vfs.Limits{Opens: 51, ReadBytes: 5000, Entries: 101}})
	if err := errors.Join(all(run), list(run)); err != nil || run.Err() != nil {
		t.Errorf("just within the limits: %v, used %+v", err, run.Usage())
	}
	if got, want := run.Usage(), (vfs.Usage{Opens: 51, ReadBytes: 5000, Entries: 101}); got != want {
		t.Errorf("used %+v, want %+v", got, want)
	}
}

// Neither open files nor directories cost descriptors.
func TestDescriptors(t *testing.T) {
	var tree []string
	for i := range 300 {
		tree = append(tree, fmt.Sprintf("d%d/e/f = 70000*x", i))
	}
	dir := vfstest.Build(t, tree)
	before := descriptors(t)
	_, _, run := begin(t, everything(dir))
	var files []*vfs.File
	for i := range 300 {
		f, err := run.Open(fmt.Sprintf("d%d/e/f", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadAt(make([]byte, 1), 69_999); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if n := descriptors(t) - before; n > 20 {
		t.Errorf("%d descriptors for %d open files", n, len(files))
	}
	_ = run.Close()
	if n := descriptors(t) - before; n > 1 { // the root's own
		t.Errorf("%d descriptors are left", n)
	}
}

// A closed run leaves no goroutine: synctest fails if one is left.
func TestGoroutines(t *testing.T) {
	dir := vfstest.Build(t, []string{"a = x", "b = y"})
	synctest.Test(t, func(t *testing.T) {
		root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		filter, err := vfs.View{Reads: []string{"**"}}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			run := root.Begin(filter, vfs.Limits{})
			for _, name := range []string{"a", "b"} {
				if _, err := run.Open(name); err != nil {
					t.Error(err)
				}
			}
			_ = run.Close()
			if n := len(run.Trace()); n != 2 {
				t.Errorf("the trace of a closed run has %d deps", n)
			}
		}
	})
}

// A link may hold thousands of names, each of which costs a look: they count.
func TestLinkOfManyNames(t *testing.T) {
	dir := vfstest.Build(t, []string{"d/f = x", "l -> " + strings.Repeat("d/../", 800) + "d/f"})
	_, _, run := begin(t, everything(dir))
	if got, errno := (direct{run}).Read("l", 0, 1); string(got) != "x" {
		t.Errorf("got %q %s", got, errno)
	}
	if run.Usage().Entries < 1600 {
		t.Errorf("used %+v", run.Usage())
	}
	config := everything(dir)
	config.Limits.Entries = 1000
	_, _, run = begin(t, config)
	if _, err := run.Open("l"); !errors.Is(err, vfs.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(list)
}

func TestErrorTexts(t *testing.T) {
	dir := vfstest.Build(t, []string{".env = TOKEN", "AGENTS.md -> .env"})
	_, _, run := begin(t, everything(dir))
	_, err := run.Open("AGENTS.md")
	e, ok := errors.AsType[*vfs.Error](err)
	if !ok {
		t.Fatal(err)
	}
	if got, want := e.Guest(), "open AGENTS.md: no such file or directory"; got != want {
		t.Errorf("to the guest: %q, want %q", got, want)
	}
	if got, want := e.Error(), "open AGENTS.md: no such file or directory: not visible (secret)"; got != want {
		t.Errorf("to the host: %q, want %q", got, want)
	}
	if e.ErrnoName() != "ENOENT" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("errno %s", e.ErrnoName())
	}
}

func TestHiddenNames(t *testing.T) {
	dir := vfstest.Build(t, []string{"bad\xff = x", "bad\xfe = x", "good = x"})
	_, _, run := begin(t, everything(dir))
	d, err := run.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := d.ReadDir(); len(list) != 1 || err != nil || run.HiddenNames() != 2 {
		t.Errorf("got %v, %v, hidden %d", list, err, run.HiddenNames())
	}
}

var old = func() time.Time { return time.Now().Add(time.Hour) }
