package trust_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waymark/workspace/mcp/trust"
)

// TestStale: whatever digests cover has them taken anew once it changes, and nothing
// else does. What has just changed is never taken for unchanged.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if d := w.digest(stdio("sh", "x")); !d.Stale() {
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
		if d.Stale() {
			t.Errorf("before %s", name)
		}
		change()
		if want := name != "nothing" && name != "another file"; d.Stale() != want {
			t.Errorf("%s: stale %v, want %v", name, !want, want)
		}
	}
	remote := stdio("")
	remote.Transport, remote.URL = "http", "https://example.com/mcp"
	if w.digest(remote).Stale() {
		t.Error("what is elsewhere has no files")
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
