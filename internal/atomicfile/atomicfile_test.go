package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"waymark/internal/atomicfile"
)

// holds checks what a directory holds: one file with a text and a mode.
func holds(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != text {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("in the directory: %v, %v", entries, err)
	}
}

func TestWriteFile(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing")) // isn't used
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		text string
		mode os.FileMode
	}{{"one", 0o600}, {"", 0o644}, {"two", 0o666}} {
		if err := atomicfile.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		holds(t, path, c.text, c.mode)
	}
	if err := atomicfile.WriteFile(filepath.Join(path, "below"), nil, 0o600); err == nil {
		t.Error("there is no such directory")
	}
}

// TestReplace: it is whole or not there, and leaves nothing beside it.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "", "two"} {
		if err := atomicfile.Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text, 0o640)
	}
	if err := atomicfile.Replace(filepath.Join(path, "below"), nil, 0o600); err == nil {
		t.Error("there is no such directory")
	}
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.MkdirAll(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(filepath.Join(dir, "taken"), nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("in the directory: %v, %v", entries, err)
	}
}

// TestFailure: an error leaves everything as it was.
func TestFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 100_000)); err != nil {
			t.Error(err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	holds(t, path, "before", 0o600)
}

// TestLink: a link is replaced; what it leads to isn't touched.
func TestLink(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new", 0o600)
	holds(t, other, "other", 0o600)
}
