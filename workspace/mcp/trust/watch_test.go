package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waymark/workspace/mcp/trust"
)

// TestStale: whatever digests cover has them taken anew once it changes, and nothing
// else does. What has just changed is never taken for unchanged.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if d := w.digest(stdio("sh", "x")); !w.store.Watch(d).Stale() {
		t.Error("a program that has just been written may have changed since")
	}
	var err error
	w.store, err = trust.Open(trust.Options{
		Dir: t.TempDir(), Key: []byte("0123456789abcdef"), Root: func() string { return w.root }, Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"nothing":      func() {},
		"another file": func() { w.write("other.js", "new", 0o600) },
		"in place":     func() { appendTo(t, filepath.Join(w.root, "dir/server.js")) },
		"a new file":   func() { w.write("dir/server.js", "other", 0o600) },
		"gone":         func() { _ = os.Remove(filepath.Join(w.root, "dir/server.js")) },
		"another link": func() { w.link("other.js", "link.js") },
		"no link":      func() { w.write("link.js", "1", 0o600) },
		"a link above": func() {
			_ = os.Rename(filepath.Join(w.root, "dir"), filepath.Join(w.root, "was"))
			w.write("evil/server.js", "evil", 0o600)
			w.link("evil", "dir")
		},
		"a secret":         func() { w.write(".env", "KEY=longer", 0o600) },
		"the program":      func() { w.write(filepath.Join(w.bin, "node2"), "\x7fELF other", 0o755) },
		"a program's link": func() { relink(t, filepath.Join(w.bin, "sh"), filepath.Join(w.bin, "run")) },
	} {
		_ = os.RemoveAll(filepath.Join(w.root, "dir"))
		for path, text := range map[string]string{"dir/server.js": "1", "other.js": "2", ".env": "KEY=1", filepath.Join(w.bin, "node2"): "\x7fELF"} {
			w.write(path, text, 0o755)
		}
		w.link("dir/server.js", "link.js")
		relink(t, "node2", filepath.Join(w.bin, "run"))
		d := w.digest(stdio("run", "link.js", "--env-file", ".env"))
		watch := w.store.Watch(d)
		if watch.Stale() {
			t.Errorf("before %s", name)
		}
		change()
		if want := name != "nothing" && name != "another file"; watch.Stale() != want {
			t.Errorf("%s: stale %v, want %v", name, !want, want)
		}
	}
	remote := stdio("")
	remote.Transport, remote.URL = "http", "https://example.com/mcp"
	if w.store.Watch(w.digest(remote)).Stale() {
		t.Error("what is elsewhere has no files")
	}
}

// TestTold: what is done to anything that digests cover is told as it happens, also where
// all is as it was afterwards; nobody who edits a file that is held waits for it, and who
// has one open, or mapped, is found.
func TestTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop, err := w.store.Listen()
	if err != nil {
		t.Skip(err)
	}
	defer stop()
	path := func(name string) string { return filepath.Join(w.root, name) }
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	move := func(names ...string) func() {
		return func() {
			for i := range len(names) - 1 {
				must(os.Rename(path(names[i]), path(names[i+1])))
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		told   bool
	}{
		{"another file", func() { w.write("other.js", "new", 0o600) }, false},
		{"a new file beside it", func() { w.write("above/dir/other.js", "new", 0o600) }, false},
		{"written", func() { must(os.WriteFile(path("above/dir/server.js"), []byte("1"), 0o600)) }, true},
		{"by another name", func() { must(os.WriteFile(path("hard.js"), []byte("1"), 0o600)) }, true},
		{"away and back", move("above/dir/server.js", "x", "above/dir/server.js"), true},
		{"a directory", move("above/dir", "x", "above/dir"), true},
		{"a directory above", move("above", "x", "above"), true},
		{"the workspace", func() { move("", "../x")(); must(os.Rename(path("../x"), w.root)) }, true},
		{"a link", move("link.js", "x", "link.js"), true},
		{"what would be run in its place", func() {
			w.write(w.root+"/bin/first", "", 0o700)
			must(os.Remove(w.root + "/bin/first"))
		}, true},
	} {
		w.write("above/dir/server.js", "1", 0o600)
		_ = os.Remove(path("hard.js"))
		must(os.Link(path("above/dir/server.js"), path("hard.js")))
		w.link("above/dir/server.js", "link.js")
		w.write(filepath.Join(w.bin, "second"), "\x7fELF", 0o755)
		e := stdio("second", "link.js", "bin/first")
		watch := w.store.Watch(w.digest(e))
		must(watch.Hold())
		if free := watch.Free(); len(free) != 0 {
			t.Logf("%s: without a lease: %v", c.name, free)
		}
		c.change()
		if err := watch.Err(); (err != nil) != c.told || err != nil && !errors.Is(err, trust.ErrChanged) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.told {
			<-watch.Changed()
		}
		watch.Close()
	}
	for name, flags := range map[string]int{"open": os.O_WRONLY, "mapped": os.O_RDWR} {
		f, err := os.OpenFile(path("above/dir/server.js"), flags, 0)
		must(err)
		var pages []byte
		if name == "mapped" {
			pages, err = unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			must(err)
			must(f.Close())
		}
		watch := w.store.Watch(w.digest(stdio("second", "link.js")))
		if err := watch.Hold(); !errors.Is(err, trust.ErrOpen) {
			t.Errorf("%s: %v", name, err)
		}
		watch.Close()
		if name == "mapped" {
			must(unix.Munmap(pages))
		} else {
			must(f.Close())
		}
	}
}

// relink has a link lead elsewhere.
func relink(t *testing.T, target, path string) {
	t.Helper()
	_ = os.Remove(path)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("more"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
